package api

// Progress is the progress of a job, in units that the job chooses.
type Progress struct {
	Done  int64  `json:"done"`
	Total int64  `json:"total" doc:"0 when it is not known."`
	Note  string `json:"note,omitzero" doc:"A word for people."`
}

// JobError is why an attempt of a job failed.
type JobError struct {
	Code    string  `json:"code" doc:"Stable name of the error."`
	Message string  `json:"message"`
	Fields  []Field `json:"fields,omitempty" doc:"Every field of the input that is wrong."`
}
