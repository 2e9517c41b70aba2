// Package response takes what households answered: it checks every answer
// against the version of the template its survey has pinned, stores a response
// once however often it is sent, and says exactly what clashes when something
// else comes under the same name.
//
// Answers that tell who somebody is are sealed with the key of the household
// (package vault) and are no part of the record that others read.
package response

import (
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/rule"
)

// Status says how much of a response there is.
type Status string

// The statuses. Only a complete response can be verified.
const (
	Complete Status = "complete"
	Partial  Status = "partial"
	Refused  Status = "refused" // the consent question was answered with no
	Redacted Status = "redacted"
)

// The states of verification.
const (
	Pending         = "pending"
	InReview        = "in_review"
	NeedsCorrection = "needs_correction"
	Flagged         = "flagged"
	Verified        = "verified"
	Rejected        = "rejected"
	Disputed        = "disputed"
	Invalidated     = "invalidated"
	Superseded      = "superseded"
)

// Verification is what was decided about a response.
type Verification struct {
	Status     string    `json:"status" enum:"pending,in_review,needs_correction,flagged,verified,rejected,disputed,invalidated,superseded" example:"verified"`
	Verifier   string    `json:"verifier,omitzero" doc:"DID of who decided last." example:"did:ixo:agent/456"`
	Timestamp  time.Time `json:"timestamp,omitzero" doc:"When."`
	Outcome    string    `json:"outcome,omitzero" enum:"approved,rejected" doc:"The decision in the words other resources use; absent while there is none."`
	Reviews    int       `json:"reviews,omitzero" doc:"How many have approved it so far, where the survey asks for two."`
	Imported   bool      `json:"imported,omitzero" doc:"It was made elsewhere and came with the response; whoever sends one need not say so."`
	ImportedBy string    `json:"importedBy,omitzero" doc:"DID of who sent it."`
	Reason     string    `json:"reason,omitzero" doc:"Why, in a decision that is sent: needed unless that is verified or flagged. The list of decisions shows it." example:"Nobody lives there."`
}

// Location is where an interview took place.
type Location struct {
	Lat      float64  `json:"lat" minimum:"-90" maximum:"90" example:"-1.2921"`
	Lon      float64  `json:"lon" minimum:"-180" maximum:"180" example:"36.8219"`
	Accuracy *float64 `json:"accuracy,omitzero" doc:"Metres."`
}

// Attachment names a file that belongs to a response. Its bytes are sent to
// /v1/attachments.
type Attachment struct {
	SHA256    string `json:"sha256" doc:"Hash of the bytes, 64 hex digits; answers name it as sha256:…" example:"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"`
	MediaType string `json:"mediaType,omitzero" example:"image/jpeg"`
	Name      string `json:"name,omitzero" doc:"Not kept for an answer about a person." example:"stove.jpg"`
}

// Head is a response without its answers and what others have to say about it:
// the part that is stored as it is sent.
type Head struct {
	ResponseID      string       `json:"responseId" example:"rsp_7310428377145344"`
	SurveyID        string       `json:"surveyId"`
	TemplateID      string       `json:"templateId"`
	TemplateVersion int          `json:"templateVersion"`
	ProjectID       string       `json:"projectId"`
	HouseholdID     string       `json:"householdId"`
	Round           int          `json:"round"`
	RoundID         string       `json:"roundId"`
	Stratum         string       `json:"stratum,omitzero"`
	Group           string       `json:"group,omitzero" enum:"adopter,comparison"`
	Timestamp       time.Time    `json:"timestamp" doc:"When it was given."`
	StartedAt       time.Time    `json:"startedAt,omitzero"`
	ReceivedAt      time.Time    `json:"receivedAt" doc:"When it arrived here first."`
	DurationSec     float64      `json:"durationSec,omitzero"`
	Collector       string       `json:"collector" doc:"DID of who asked."`
	SubmittedBy     string       `json:"submittedBy" doc:"DID of who sent it."`
	Mode            string       `json:"mode" enum:"visit,phone,ussd,web,chat,import"`
	DeviceID        string       `json:"deviceId,omitzero"`
	Language        string       `json:"language,omitzero"`
	Consent         *bool        `json:"consent,omitzero" doc:"The answer of the consent question; absent when it was not asked."`
	Eligible        *bool        `json:"eligible,omitzero" doc:"What the eligibility rule of the survey says; absent when there is none."`
	Attachments     []Attachment `json:"attachments,omitzero"`
	Supersedes      string       `json:"supersedes,omitzero"`
	SupersededBy    string       `json:"supersededBy,omitzero"`
	Metadata        form.Object  `json:"metadata,omitzero"`
	Completeness    float64      `json:"completeness" doc:"Share of the questions asked that are answered."`
	Missing         []string     `json:"missing,omitzero" doc:"Pointers of required answers that are missing; of partial responses."`
	Dropped         []string     `json:"dropped,omitzero" doc:"Pointers of answers to questions that were not to be asked; they were not kept."`
	ContentID       string       `json:"contentId" doc:"CID of the answers that anybody may read."`
	Status          Status       `json:"status" enum:"complete,partial,refused,redacted"`
	Erased          bool         `json:"erased,omitzero" doc:"The household was erased: answers about a person, metadata, device and reasons are gone."`
	Links           Links        `json:"links"`
}

// Record is a response as it is sent.
type Record struct {
	Head
	RecordID      string       `json:"recordId" doc:"The same in every read and export, and nothing of it was chosen by a client. Reads and decisions take it in place of the id." example:"rec~7310428377145344"`
	Responses     form.Object  `json:"responses" doc:"Section to question to answer."`
	Location      *Location    `json:"location,omitzero" doc:"Where it was given; personal."`
	Masked        []string     `json:"masked,omitzero" doc:"Pointers of what is about a person, which this key may not read."`
	Pseudonymised bool         `json:"pseudonymised,omitzero" doc:"Names stand in place of household, collector, sender and device: the key has not responses:pii. They are those of the pseudonymised exports of the project."`
	Waiting       []string     `json:"missingAttachments,omitzero" doc:"Hashes of attachments that have not arrived yet: PUT each to /v1/attachments."`
	Revision      int64        `json:"revision"`
	Updated       time.Time    `json:"updated"`
	Verification  Verification `json:"verification"`
	Flags         []rule.Flag  `json:"flags" doc:"What checks have found; for people to look at. How far places are apart is told as the limit only to a key that may change lists or responses, unless it has responses:pii."`
	Warnings      []Warning    `json:"warnings,omitzero" doc:"What of the request was not done, in the answer to a response that was stored before."`
}

// Warning is a part of a request that was not done.
type Warning struct {
	Pointer string `json:"pointer" example:"/verification"`
	Code    string `json:"code" example:"verification_ignored"`
	Detail  string `json:"detail"`
}

// Links are the addresses around a response.
type Links struct {
	Self         string `json:"self"`
	Survey       string `json:"survey"`
	Verification string `json:"verification"`
	Evidence     string `json:"evidence" doc:"For who verifies it."`
	History      string `json:"history"`
}

// Path is the address of a response.
func Path(id string) string { return "/v1/responses/" + url.PathEscape(id) }
