// Package verify decides about responses: who has looked at one, what they
// made of it and why. A decision is kept for ever; the response shows the last
// one. A decision names the revision of the response it is about. Nobody decides about what they, or a group they belong to, have collected
// or sent, nor about what they have corrected; where a survey asks for two reviewers the second is somebody else.
package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Limits of a decision.
const (
	maxNotes = 5_000 // characters
	maxShown = 50    // decisions in the answer to one request
)

const invalidCode = "VERIFICATION_INVALID"

// Draft is a decision to be.
type Draft struct {
	Status string `json:"status" enum:"pending,in_review,needs_correction,flagged,verified,rejected,disputed,invalidated" example:"verified"`
	Reason string `json:"reason,omitzero" doc:"Why, one line of 1,000 characters or fewer; needed to reject, dispute, invalidate, send back, or open again." example:"Photo and receipt agree."`
	Notes  string `json:"notes,omitzero" doc:"Anything else for the record, 5,000 characters or fewer. Name nobody in it."`
}

// check names everything that is wrong with a draft by itself.
func (d *Draft) check(c *fault.Checks) {
	if !slices.Contains(States(), d.Status) || d.Status == response.Superseded {
		known := slices.DeleteFunc(States(), func(s string) bool { return s == response.Superseded })
		c.Add("/status", "not_allowed", "The value must be one of "+strings.Join(known, ", ")+".")
	}
	if strings.TrimSpace(d.Reason) == "" && needsReason("", d.Status) {
		c.Add("/reason", "required", fmt.Sprintf("The state %s needs a reason.", d.Status))
	} else {
		check.Reason(c, "/reason", d.Reason, false)
	}
	check.Short(c, "/notes", d.Notes, maxNotes)
	if strings.ContainsRune(d.Notes, 0) {
		c.Add("/notes", "control_character", "The text must not have the character NUL.")
	}
}

// Verdict is a decision about one response.
type Verdict struct {
	Draft
	Revision *int64 `json:"revision,omitzero" doc:"The revision you have judged, as the response, its evidence and exports show it; in place of If-Match." example:"1"`
}

// Decision is one step of a verification.
type Decision struct {
	DecisionID string    `json:"decisionId" example:"dec_7310428377145344"`
	From       string    `json:"from" example:"pending"`
	To         string    `json:"to" example:"verified"`
	Verifier   string    `json:"verifier" doc:"DID of who decided." example:"did:ixo:agent/456"`
	Timestamp  time.Time `json:"timestamp"`
	Reason     string    `json:"reason,omitzero"`
	Notes      string    `json:"notes,omitzero"`
	Reviews    int64     `json:"reviews,omitzero" doc:"How many had approved the response with this decision."`
	Imported   bool      `json:"imported,omitzero" doc:"It was made elsewhere and came with the response."`
	Revision   int64     `json:"revision" doc:"Revision of the response that shows it."`
	Judged     int64     `json:"judged,omitzero" doc:"Revision of the response that was judged."`

	nid int64
}

// State is how a response stands.
type State struct {
	ResponseID   string                `json:"responseId" example:"resp_789"`
	RecordID     string                `json:"recordId" doc:"The same in every read and export." example:"rec~7310428377145344"`
	SurveyID     string                `json:"surveyId"`
	Revision     int64                 `json:"revision" doc:"Of the response; its ETag."`
	Verification response.Verification `json:"verification"`
	Allowed      []string              `json:"allowed" doc:"States a decision may take it to from here."`
	MinReviewers int                   `json:"minReviewers" doc:"How many must approve it."`
	Decisions    []Decision            `json:"decisions" doc:"All that was decided, newest first; the newest 50."`
	More         bool                  `json:"moreDecisions,omitzero" doc:"There are earlier ones: see links.history."`
	Links        Links                 `json:"links"`
}

// Links are the addresses around a verification.
type Links struct {
	Response string `json:"response"`
	History  string `json:"history"`
	Evidence string `json:"evidence" doc:"Pictures, sounds and places, for who has the scope responses:verify."`
}
