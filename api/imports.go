package api

// ReportLinks are the addresses of a job with a report about rows.
type ReportLinks struct {
	Self string `json:"self"`
	Rows string `json:"rows"`
	Job  string `json:"job"`
}

// ResponseImportRow is the result of one row of an import of responses.
type ResponseImportRow struct {
	Line       int64  `json:"line" doc:"Line of the file; in XLSX the row, in JSON the number of the submission."`
	OK         bool   `json:"ok"`
	Action     string `json:"action" enum:"created,partial,unchanged,refused" doc:"What was done; in a dry run, what would be. partial: stored with required answers missing."`
	ResponseID string `json:"responseId,omitzero"`
	// Warnings are about details that are in the row and not in the response.
	Warnings           []Field       `json:"warnings,omitempty" doc:"What the row has and the response does not: a decision or a sender that was not carried over, a file missing from the archive. For files of other programs, also that the consent question has no answer."`
	MissingAttachments []string      `json:"missingAttachments,omitempty" doc:"Hashes of attachments that have not arrived: PUT each to /v1/attachments. Shown to the caller who asked for the import and to keys with the scope responses:pii."`
	Error              *BatchProblem `json:"error,omitzero" doc:"Why it was refused: the column and what is wrong with it."`
}

// TransferCounts is the progress of an import or a migration.
type TransferCounts struct {
	Total     int64 `json:"total" doc:"Rows there are; 0 until they are counted."`
	Done      int64 `json:"done" doc:"Rows that have been looked at."`
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged" doc:"Twins that already were what the row says."`
	Migrated  int64 `json:"migrated,omitzero"`
	Skipped   int64 `json:"skipped,omitzero" doc:"Twins that are newer than the target, or deactivated."`
	Blank     int64 `json:"blank,omitzero" doc:"Empty rows of a table, which are skipped and not counted above."`
	Refused   int64 `json:"refused" doc:"Rows with an error. Nothing of them is stored; see the report."`
	// Incomplete rows are counted above as well.
	Incomplete int64 `json:"incomplete,omitzero" doc:"Rows whose twin is stored, but whose status or relationship to a later row was refused."`
	Warnings   int64 `json:"warnings,omitzero" doc:"Warnings in the report, such as that a verification was not carried over."`
}

// TransferRow is the result of one row of an import, or of one twin of a
// migration.
type TransferRow struct {
	Line   int64  `json:"line" doc:"Line of the file, in XLSX the row; for a migration a running number."`
	OK     bool   `json:"ok" doc:"Whether everything in the row is stored. If not, action still says what is."`
	Action string `json:"action" enum:"created,updated,unchanged,migrated,skipped,refused" doc:"What was done; in a dry run, what would be."`
	DID    string `json:"did,omitzero"`
	// Warnings are about details that are in the row and not in the twin.
	Warnings []Field       `json:"warnings,omitempty" doc:"Differences between the row and the twin: values that are not taken from a file, and controllers of the twin that the row does not name."`
	Error    *BatchProblem `json:"error,omitzero" doc:"Why it was refused."`
	Cells    []Cell        `json:"cells,omitempty" doc:"Of a table, for a day: the row as the file has it. Rows that were refused or have warnings have them, in a dry run the others too, as long as all of them have 8 and 2 MiB. Shown to the caller who began the import and to callers with entities:pii."`
}

// Cell is a cell of a row of a file.
type Cell struct {
	Column string `json:"column" doc:"As the file has it." example:"People"`
	Value  string `json:"value" doc:"As the file has it." example:"many"`
	Wrong  string `json:"wrong,omitzero" doc:"What is wrong with it."`
}

// ImportNote is a remark about a file.
type ImportNote struct {
	Code    string   `json:"code" enum:"blank_rows,unknown_columns,missing_columns,system_columns,unnamed_columns,more_columns" doc:"blank_rows are passed over; unknown_columns and system_columns are left out; missing_columns are properties every twin needs and no column has; more_columns: not all columns, or not all cells of a row, are shown."`
	Detail  string   `json:"detail" doc:"For people."`
	Columns []string `json:"columns,omitempty" doc:"Those it is about, the first when there are many; paths, for missing ones."`
	Count   int      `json:"count,omitzero" doc:"Of blank rows at the beginning of the file; of all columns it is about, when not all are named."`
}

// ImportColumn is a column of a file.
type ImportColumn struct {
	Name string `json:"name" example:"Serial no."`
	Path string `json:"path,omitzero" doc:"Where its cells go; absent when the column is left out." example:"properties.serial"`
	Is   string `json:"is" enum:"known,guessed,unknown,system,unnamed" doc:"known: a path of a record, by its name or by mapping; guessed: a path that suits its name; unknown: it is not recognised; system: the server decides it, or another program has added it; unnamed: it has no name."`
}

// ImportRow is a row of a file.
type ImportRow struct {
	Line  int64  `json:"line"`
	Cells []Cell `json:"cells"`
}

// ResponseImportCounts is the progress of an import.
type ResponseImportCounts struct {
	Total     int64 `json:"total" doc:"Rows there are; 0 until they are counted."`
	Done      int64 `json:"done" doc:"Rows that have been looked at."`
	Created   int64 `json:"created" doc:"Responses that were stored, partial ones too."`
	Partial   int64 `json:"partial,omitzero" doc:"Those of them with required answers missing."`
	Unchanged int64 `json:"unchanged" doc:"Rows whose response was stored before, unchanged."`
	Refused   int64 `json:"refused" doc:"Rows with an error. Nothing of them is stored; see the report."`
	Media     int64 `json:"media,omitzero" doc:"Attachments that were stored from the archive."`
	Warnings  int64 `json:"warnings,omitzero" doc:"Warnings in the report, such as that a decision was not carried over."`
}
