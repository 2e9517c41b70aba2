package api

import "time"

// Spot is where an interview took place.
type Spot struct {
	Lat      float64  `json:"lat" required:"true" minimum:"-90" maximum:"90" example:"-1.2921"`
	Lon      float64  `json:"lon" required:"true" minimum:"-180" maximum:"180" example:"36.8219"`
	Accuracy *float64 `json:"accuracy,omitzero" doc:"Metres."`
}

// ResponseFile names a file of a response. Send its bytes with Attachments.Put.
type ResponseFile struct {
	SHA256    string `json:"sha256" doc:"Hash of the bytes, 64 hex digits; answers name it as sha256:…" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	MediaType string `json:"mediaType,omitzero" example:"image/jpeg"`
	Name      string `json:"name,omitzero" doc:"Not kept for an answer about a person." example:"stove.jpg"`
}

// ResponseVerdict is the decision about a response.
type ResponseVerdict struct {
	Status     string    `json:"status" enum:"pending,in_review,needs_correction,flagged,verified,rejected,disputed,invalidated,superseded" example:"verified"` // pending, in_review, needs_correction, flagged, verified, rejected, disputed, invalidated or superseded
	Verifier   string    `json:"verifier,omitzero" doc:"DID of whoever decided last." example:"did:ixo:agent/456"`
	Timestamp  time.Time `json:"timestamp,omitzero" doc:"When."`
	Outcome    string    `json:"outcome,omitzero" enum:"approved,rejected" doc:"The decision in the words other resources use; absent while there is none."`
	Reviews    int       `json:"reviews,omitzero" doc:"How many have approved it so far, where the survey asks for two."`
	Imported   bool      `json:"imported,omitzero" doc:"It was made elsewhere and came with the response; whoever sends one need not say so."`
	ImportedBy string    `json:"importedBy,omitzero" doc:"DID of the sender."`
	Reason     string    `json:"reason,omitzero" doc:"Why, in a decision that is sent: needed unless that is verified or flagged. The list of decisions shows it." example:"Nobody lives there."`
}

// Warning is a part of a request that was not carried out.
type Warning struct {
	Pointer string `json:"pointer" example:"/verification"`
	Code    string `json:"code" example:"verification_ignored"` // verification_ignored
	Detail  string `json:"detail"`
}

// ResponseFlag is the finding of a check.
type ResponseFlag struct {
	Rule     string  `json:"rule" example:"duration_short"`
	Question string  `json:"question,omitzero" doc:"Pointer of the answer it is about." example:"/responses/installation/photo"`
	Detail   string  `json:"detail" doc:"A sentence for people." example:"The interview took 41 s, at least 180 s are expected for 60 answers."`
	Value    float64 `json:"value,omitzero" doc:"What was measured."`
	Limit    float64 `json:"limit,omitzero" doc:"What was expected."`

	Settled *FlagSettlement `json:"settled,omitzero" doc:"What somebody has found out about it; absent while it is open."`
}

// ResponseContent is the content that the contentId of a response is computed
// from.
type ResponseContent struct {
	Version  int    `json:"version" doc:"How contentId was made. Responses without content have the first version: contentId is the CID of the answers that anybody may read."`
	Open     string `json:"open" doc:"SHA-256 of the answers that anybody may read, without those that name households."`
	Named    string `json:"named,omitzero" doc:"HMAC with whoSalt of the answers that anybody may read, where some of them name households."`
	Who      string `json:"who" doc:"HMAC with whoSalt of household and collector."`
	Personal string `json:"personal,omitzero" doc:"HMAC with personalSalt of all answers and the place, where some of them are about a person."`
	WhoSalt  string `json:"whoSalt,omitzero" doc:"Not shown where names stand in place of household and collector."`
}

// ResponseLinks are the addresses around a response.
type ResponseLinks struct {
	Self         string `json:"self"`
	Survey       string `json:"survey"`
	Verification string `json:"verification"`
	Evidence     string `json:"evidence" doc:"For who verifies it."`
	History      string `json:"history"`
}
