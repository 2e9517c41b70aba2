package api

import "time"

// ConflictResolution decides a conflict.
type ConflictResolution struct {
	Keep       string            `json:"keep" enum:"stored,sent,merged" doc:"stored: nothing changes; one that is held is refused. sent: the stored response is corrected, or replaced by the second one of its household; one that is held is taken. merged: the answers of both together."`
	Take       map[string]string `json:"take,omitzero" doc:"For merged: pointer of a question that both answer differently → stored or sent. One that is withheld from you needs it whenever both answer."`
	Supersedes string            `json:"supersedes,omitzero" doc:"For sent, of one that is held: the response of the household that it replaces."`
	Reason     string            `json:"reason,omitzero" maxLength:"1000" doc:"Why, one line. Needed when a verified response changes, and to refuse one that is held." example:"The tablet held the newer interview."`
}

// BatchItem is the result of one response of a batch.
type BatchItem struct {
	Index              int               `json:"index"`
	ResponseID         string            `json:"responseId,omitzero"`
	Status             string            `json:"status" enum:"created,replayed,partial,conflict,held,invalid" doc:"created; replayed: it was there, or its conflict was resolved; partial: created, answers are missing; conflict: set aside; held: it came after the survey had closed or paused, and is kept until a manager decides; invalid: refused."`
	Revision           int64             `json:"revision,omitzero"`
	Missing            []string          `json:"missing,omitzero" doc:"Pointers of required answers that are missing."`
	MissingAttachments []string          `json:"missingAttachments,omitzero" doc:"Hashes of attachments to send now."`
	ConflictID         string            `json:"conflictId,omitzero"`
	Code               string            `json:"code,omitzero" doc:"Why it was not stored." example:"RESPONSE_INVALID"`
	Detail             string            `json:"detail,omitzero"`
	Errors             []Field           `json:"errors,omitzero"`
	Existing           *ExistingResponse `json:"existing,omitzero" doc:"Of DUPLICATE_HOUSEHOLD_RESPONSE: the response the household has, if this key may know it."`
	Candidates         []SurveyCandidate `json:"candidates,omitzero" doc:"For AMBIGUOUS_SURVEY: the surveys it may be for."`
	Warnings           []Warning         `json:"warnings,omitzero" doc:"What of the item was not done."`
}

// ResponseBatch is the result of a batch.
type ResponseBatch struct {
	Created  int         `json:"created"`
	Replayed int         `json:"replayed"`
	Partial  int         `json:"partial"`
	Conflict int         `json:"conflict"`
	Held     int         `json:"held"` // came after the survey had closed or paused, and wait for a manager
	Invalid  int         `json:"invalid"`
	Results  []BatchItem `json:"results" doc:"One for each item, in their order."`
}

// ConflictLinks are the addresses around a conflict.
type ConflictLinks struct {
	Self     string `json:"self"`
	Response string `json:"response,omitzero"`
	Resolve  string `json:"resolve"`
}

// Attachment describes a file that has arrived.
type Attachment struct {
	SHA256     string    `json:"sha256"`
	MediaType  string    `json:"mediaType" example:"image/jpeg"`
	Bytes      int64     `json:"bytes"`
	ReceivedAt time.Time `json:"receivedAt"`
	Links      struct {
		Self string `json:"self"`
	} `json:"links"`
}
