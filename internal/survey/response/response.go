// Package response takes what households answered: it checks every answer
// against the version of the template that its survey has pinned, stores a
// response once however often it is sent, and says exactly what clashes when
// different answers arrive under the same id.
//
// Answers that identify a person are sealed with the key of the household
// (package vault) and are not part of the record that others read.
package response

import (
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Status says how complete a response is.
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

// Nouns of package api, by their names here.
type (
	Verification = api.ResponseVerdict
	Location     = api.Spot
	Attachment   = api.ResponseFile
	Warning      = api.Warning
	Links        = api.ResponseLinks
	Content      = api.ResponseContent
)

// Head is a response without its answers and without others' statements about
// it: the part that is stored as it is sent.
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
	ReceivedAt      time.Time    `json:"receivedAt" doc:"When it first arrived here."`
	DurationSec     float64      `json:"durationSec,omitzero"`
	Collector       string       `json:"collector" doc:"DID of the collector."`
	SubmittedBy     string       `json:"submittedBy" doc:"DID of the sender."`
	Mode            string       `json:"mode" enum:"visit,phone,browser,collect,ussd,web,chat,import" doc:"How the household was interviewed: as the server knows from the way it arrived, otherwise as the sender reports."`
	DeviceID        string       `json:"deviceId,omitzero"`
	Language        string       `json:"language,omitzero"`
	Consent         *bool        `json:"consent,omitzero" doc:"The answer to the consent question; absent when it was not asked."`
	Eligible        *bool        `json:"eligible,omitzero" doc:"Result of the survey's eligibility rule; absent when there is none."`
	Attachments     []Attachment `json:"attachments,omitzero"`
	Supersedes      string       `json:"supersedes,omitzero"`
	SupersededBy    string       `json:"supersededBy,omitzero"`
	Metadata        form.Object  `json:"metadata,omitzero"`
	Completeness    float64      `json:"completeness" doc:"Share of the questions asked that are answered."`
	Missing         []string     `json:"missing,omitzero" doc:"Pointers of missing required answers, including the answer to the consent question; only in partial responses."`
	Dropped         []string     `json:"dropped,omitzero" doc:"Pointers of answers to questions that do not apply; these answers were not kept."`
	ContentID       string       `json:"contentId" doc:"CID of household, collector, times and all answers; content says how to check it."`
	Content         *Content     `json:"content,omitzero"`
	Status          Status       `json:"status" enum:"complete,partial,refused,redacted"`
	Erased          bool         `json:"erased,omitzero" doc:"The household was erased: answers about a person, metadata, device and reasons are gone."`
	Links           Links        `json:"links"`
}

// Record is a response as it is sent.
type Record struct {
	Head
	RecordID      string       `json:"recordId" doc:"The same in every read and export, and never chosen by a client. Reads and decisions accept it in place of the id." example:"rec~7310428377145344"`
	Responses     form.Object  `json:"responses" doc:"Section to question to answer."`
	Location      *Location    `json:"location,omitzero" doc:"Where the interview took place; personal."`
	PersonalSalt  string       `json:"personalSalt,omitzero" doc:"Salt of content.personal, for keys with the scope responses:pii. Erasing the household removes it."`
	Masked        []string     `json:"masked,omitzero" doc:"Pointers of personal members that this key may not read."`
	Pseudonymised bool         `json:"pseudonymised,omitzero" doc:"Household, collector, sender and device are replaced by names because the key lacks responses:pii. The names are those of the pseudonymised exports of the project."`
	Waiting       []string     `json:"missingAttachments,omitzero" doc:"Hashes of attachments that have not arrived yet: PUT each to /v1/attachments."`
	Revision      int64        `json:"revision"`
	Updated       time.Time    `json:"updated"`
	Verification  Verification `json:"verification"`
	Flags         []flag.Flag  `json:"flags" doc:"What checks found, for people to look at. A key that may change lists or responses sees the limit instead of the distance between places, unless it has responses:pii."`
	Warnings      []Warning    `json:"warnings,omitzero" doc:"Parts of the request that were not carried out, in the answer to a response that was already stored."`
}

// Path is the address of a response.
func Path(id string) string { return "/v1/responses/" + url.PathEscape(id) }
