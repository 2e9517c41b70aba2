package api

// ExistingResponse is the response a household has in a round.
type ExistingResponse struct {
	ResponseID string `json:"responseId" doc:"Name it in supersedes to replace it."`
	Href       string `json:"href"`
}

// SurveyCandidate is a survey a response may be for.
type SurveyCandidate struct {
	SurveyID string `json:"surveyId" doc:"Name it in surveyId."`
	Href     string `json:"href"`
}

// Field is one thing that is wrong with a request.
type Field struct {
	Pointer string `json:"pointer"` // JSON pointer into the body, or query/name, header/name, path/name
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// Current is the stored revision, when a change expected another one.
type Current struct {
	ETag     string `json:"etag" doc:"For If-Match, if you have read the stored revision and still want the change." example:"\"7\""`
	Revision int64  `json:"revision,omitzero"`
	Href     string `json:"href,omitzero" doc:"Where it is read."`
}
