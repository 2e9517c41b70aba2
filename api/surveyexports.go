package api

// SurveyExportCounts is the progress of an export of responses.
type SurveyExportCounts struct {
	Total     int64 `json:"total" doc:"Responses the survey had when it began."`
	Looked    int64 `json:"looked" doc:"Responses looked at so far."`
	Responses int64 `json:"responses" doc:"Responses in the file so far."`
	Rows      int64 `json:"rows" doc:"Rows or lines of the file so far, without the heads of columns."`
	Bytes     int64 `json:"bytes" doc:"Size of the file so far."`
	Media     int64 `json:"media,omitzero" doc:"Attachments in the archive so far."`
	// MissingMedia have never arrived, or were erased.
	MissingMedia int64 `json:"missingMedia,omitzero" doc:"Attachments that responses name and that have not arrived."`
}

// SurveyExportLinks are the addresses of an export of responses.
type SurveyExportLinks struct {
	Self     string `json:"self"`
	File     string `json:"file,omitzero" doc:"While there is a file that this key may read."`
	Codebook string `json:"codebook"`
	Survey   string `json:"survey"`
	Job      string `json:"job"`
}

// CodebookCode replaces a value; "" is an empty cell.
type CodebookCode struct {
	Code    string `json:"code" doc:"\"\" is an empty cell."`
	Meaning string `json:"meaning"`
}

// CodebookDesign says how to recompute figures from the files of a survey.
type CodebookDesign struct {
	Weighted  bool     `json:"weighted" doc:"The files carry weights."`
	NoWeights string   `json:"noWeights,omitzero" doc:"Why they do not."`
	R         []string `json:"r,omitzero" doc:"Lines for R with its package survey, in the folder of an unpacked CSV export with design=true." example:"[\"library(survey)\"]"`
	Stata     []string `json:"stata,omitzero" doc:"Lines for Stata 14 and newer, in the folder of an unpacked dta export with design=true."`
}
