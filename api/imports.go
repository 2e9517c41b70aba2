package api

// ReportLinks are the addresses of a job with a report about rows.
type ReportLinks struct {
	Self string `json:"self"`
	Rows string `json:"rows"`
	Job  string `json:"job"`
}

// ResponseImportRow is what became of one row of an import of responses.
type ResponseImportRow struct {
	Line       int64  `json:"line" doc:"Line of the file; in XLSX the row, in JSON the number of the submission."`
	OK         bool   `json:"ok"`
	Action     string `json:"action" enum:"created,partial,unchanged,refused" doc:"What was done; in a dry run, what would be. partial: stored with required answers missing."`
	ResponseID string `json:"responseId,omitzero"`
	// Warnings are about what the row says and the response does not.
	Warnings           []Field       `json:"warnings,omitempty" doc:"What the row says and the response does not: a decision or a sender that was not carried over, a file the archive does not have."`
	MissingAttachments []string      `json:"missingAttachments,omitempty" doc:"Hashes of attachments that have not arrived: PUT each to /v1/attachments. For whoever asked for the import and for keys with the scope responses:pii."`
	Error              *BatchProblem `json:"error,omitzero" doc:"Why it was refused: the column and what is wrong with it."`
}
