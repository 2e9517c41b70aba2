package api

import "time"

// BulkOutcome is the result of a bulk decision.
type BulkOutcome struct {
	Items     []BulkItem `json:"items"`
	Changed   int        `json:"changed"`
	Unchanged int        `json:"unchanged"`
	Refused   int        `json:"refused"`
	Skipped   int        `json:"skipped" doc:"How many have changed since they were read. Read them again."`
	Next      string     `json:"next,omitzero" doc:"There may be more: send it as filter.after."`
}

// BulkItem is the result for one response.
type BulkItem struct {
	ResponseID string `json:"responseId"`
	Result     string `json:"result" enum:"changed,unchanged,refused,skipped" doc:"unchanged: it was what was asked for already. skipped: it has changed since it was read."`
	Status     string `json:"status,omitzero" doc:"State it is in now."`
	Revision   int64  `json:"revision,omitzero"`
	Code       string `json:"code,omitzero" doc:"Why it was refused or skipped." example:"STATE_TRANSITION_INVALID"`
	Detail     string `json:"detail,omitzero"`
}

// DecisionDraft is a decision to make.
type DecisionDraft struct {
	Status string `json:"status" enum:"pending,in_review,needs_correction,flagged,verified,rejected,disputed,invalidated" example:"verified"` // pending, in_review, needs_correction, flagged, verified, rejected, disputed or invalidated
	Reason string `json:"reason,omitzero" doc:"Why, one line of 1,000 characters or fewer; needed to reject, dispute, invalidate, send back, or open again." example:"Photo and receipt agree."`
	Notes  string `json:"notes,omitzero" doc:"Anything else for the record, 5,000 characters or fewer. Name nobody in it."`
}

// Decision is one step of a verification.
type Decision struct {
	DecisionID string    `json:"decisionId" example:"dec_7310428377145344"`
	From       string    `json:"from" example:"pending"`
	To         string    `json:"to" example:"verified"`
	Verifier   string    `json:"verifier" doc:"DID of whoever decided." example:"did:ixo:agent/456"`
	Timestamp  time.Time `json:"timestamp"`
	Reason     string    `json:"reason,omitzero"`
	Notes      string    `json:"notes,omitzero"`
	Reviews    int64     `json:"reviews,omitzero" doc:"How many had approved the response with this decision."`
	Imported   bool      `json:"imported,omitzero" doc:"It was made elsewhere and came with the response."`
	Revision   int64     `json:"revision" doc:"Revision of the response that shows it."`
	Judged     int64     `json:"judged,omitzero" doc:"Revision of the response that was judged."`
}

// ResponseState is the verification state of a response.
type ResponseState struct {
	ResponseID    string            `json:"responseId" example:"resp_789"`
	RecordID      string            `json:"recordId" doc:"The same in every read and export." example:"rec~7310428377145344"`
	SurveyID      string            `json:"surveyId"`
	Revision      int64             `json:"revision" doc:"Of the response; its ETag."`
	Verification  ResponseVerdict   `json:"verification"`
	Allowed       []string          `json:"allowed" doc:"States a decision may take it to from here."`
	MinReviewers  int               `json:"minReviewers" doc:"How many must approve it."`
	Decisions     []Decision        `json:"decisions" doc:"All that was decided, newest first; the newest 50."`
	MoreDecisions bool              `json:"moreDecisions,omitzero" doc:"There are earlier ones: see links.history."`
	Links         VerificationLinks `json:"links"`
}

// VerificationLinks are the addresses around a verification.
type VerificationLinks struct {
	Response string `json:"response"`
	History  string `json:"history"`
	Evidence string `json:"evidence" doc:"Pictures, sounds and places, for whoever has the scope responses:verify."`
}

// DeskTurn asks for the next response to decide about.
type DeskTurn struct {
	SurveyID string `json:"surveyId,omitzero" doc:"Only of this survey; of all by default."`
	After    string `json:"after,omitzero" doc:"responseId to go on behind: one that is left to others."`
}

// DeskTaken is a response that is reserved for one verifier for a while.
type DeskTaken struct {
	Next  *ResponseState `json:"next,omitzero" doc:"How it stands; absent when nothing waits for you."`
	Until time.Time      `json:"until,omitzero" doc:"Nobody else is given it before."`
	After string         `json:"after,omitzero" doc:"None of those that were looked at is for you, and there may be more: ask again with it."`
}
