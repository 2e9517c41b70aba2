package api

// BatchResults is the answer to a batch of operations.
type BatchResults struct {
	Results   []BatchResult `json:"results" doc:"One for each operation, in their order."`
	Succeeded int           `json:"succeeded"`
	Failed    int           `json:"failed"`
}

// BatchResult is the result of one operation.
type BatchResult struct {
	Index        int           `json:"index"`
	Status       int           `json:"status" doc:"HTTP status the single route would answer with."`
	DID          string        `json:"did,omitzero"`
	ETag         string        `json:"etag,omitzero"`
	Relationship string        `json:"relationship,omitzero" doc:"Id of the relationship that was added."`
	Error        *BatchProblem `json:"error,omitzero"`
}

// BatchProblem is why one of many operations, rows or twins was refused.
type BatchProblem struct {
	Code    string  `json:"code" doc:"Stable name of the error."`
	Message string  `json:"message"`
	Status  int     `json:"status" doc:"HTTP status the single route would answer with."`
	Errors  []Field `json:"errors,omitempty" doc:"Every field that is wrong. A pointer points into the twin, or names the column of a table."`
}
