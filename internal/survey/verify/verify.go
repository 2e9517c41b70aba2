// Package verify records decisions about responses: who has looked at one, what they made
// of it and why. A decision is kept for ever; the response shows the last one. A decision
// names the revision of the response it is about. Nobody decides about a response that
// they, or a group they belong to, have collected or sent, nor about one that they have
// corrected. Where a survey asks for two reviewers, the second must be another person.
package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
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

// Nouns of package api, by their names here.
type (
	Draft        = api.DecisionDraft
	Decision     = api.Decision
	State        = api.ResponseState
	Outcome      = api.BulkOutcome
	Evidence     = api.Evidence
	EvidenceFile = api.EvidenceFile
	Place        = api.EvidencePlace
)

// checkDraft names everything that is wrong with a draft alone.
func checkDraft(d *Draft, c *fault.Checks) {
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
		c.Add("/notes", "control_character", "The text must not contain the character NUL.")
	}
}

// Verdict is a decision about one response.
type Verdict struct {
	Draft
	Revision *int64 `json:"revision,omitzero" doc:"The revision you judged, as the response, its evidence and exports show it; in place of If-Match." example:"1"`
}
