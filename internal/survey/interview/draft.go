package interview

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// DraftLife is how long a draft is kept after it was last saved.
const DraftLife = 30 * 24 * time.Hour

// Limits of drafts.
const (
	maxAnswers = 256 << 10 // of the answers of one
	maxOwn     = 100       // that one collector has in a workspace
	maxPassed  = 1000      // questions
	maxPointer = 500       // bytes of a pointer
	maxWord    = 100       // characters of a language or the name of a section
)

const invalidDraft = "DRAFT_INVALID"

// idForm matches the ids of responses.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$`)

// DraftSummary is a draft without its answers.
type DraftSummary = api.DraftSummary

// Content is what a collector saves.
type Content struct {
	HouseholdID string      `json:"householdId" doc:"DID of the household that is interviewed." example:"did:ixo:household/123"`
	Language    string      `json:"language,omitzero" doc:"Language of the interview." example:"sw"`
	StartedAt   time.Time   `json:"startedAt,omitzero" doc:"When it began."`
	Timestamp   time.Time   `json:"timestamp,omitzero" doc:"When it ended, if it was sent and perhaps not received: sent again, it is the same response."`
	Section     string      `json:"section,omitzero" doc:"The place in the questions at which it was left." example:"eligibility"`
	Location    *api.Spot   `json:"location,omitzero" doc:"Where the interview takes place."`
	Passed      []string    `json:"passed,omitzero" doc:"Pointers of skipped questions, in interviews over USSD and in the chat; at most 1,000."`
	Responses   form.Object `json:"responses" doc:"Answers as in a response, checked when it is sent; at most 256 KiB."`
}

// SchemaName is the name that clients know it by.
func (Content) SchemaName() string { return "DraftContent" }

// Draft is a saved draft.
type Draft struct {
	api.DraftState
	Content
}

// SchemaName is the name that clients know it by.
func (Draft) SchemaName() string { return "Draft" }

// check names everything that is wrong with a content alone.
func (c *Content) check(id string) error {
	var w fault.Checks
	if !idForm.MatchString(id) {
		w.Add("path/responseId", "invalid", "An id has letters, digits and . _ : -, begins with a letter or digit, and has 100 characters or fewer.")
	}
	w.Require(c.HouseholdID != "", "/householdId")
	if c.HouseholdID != "" && !did.Valid(c.HouseholdID) {
		w.Add("/householdId", "not_a_did", "The value must be a DID.")
	}
	check.Short(&w, "/language", c.Language, maxWord)
	check.Short(&w, "/section", c.Section, maxWord)
	check.Years(&w, "/startedAt", c.StartedAt, 2000, 2100)
	check.Years(&w, "/timestamp", c.Timestamp, 2000, 2100)
	if l := c.Location; l != nil && (l.Lat < -90 || l.Lat > 90 || l.Lon < -180 || l.Lon > 180) {
		w.Add("/location", "out_of_range", "lat must be -90 to 90, lon -180 to 180.")
	}
	if len(c.Passed) > maxPassed || slices.ContainsFunc(c.Passed, func(p string) bool { return len(p) > maxPointer }) {
		w.Add("/passed", "too_many", "There may be at most 1,000 pointers of 500 characters.")
	}
	switch {
	case c.Responses.IsZero():
		w.Require(false, "/responses")
	case c.Responses.Kind() != '{':
		w.Add("/responses", "wrong_type", "The value must be an object of sections.")
	case len(c.Responses.Value) > maxAnswers:
		w.Add("/responses", "too_large", fmt.Sprintf("The answers may have %d KiB at most.", maxAnswers>>10))
	}
	return w.Err(invalidDraft, "The draft is not valid.")
}

func noDraft() error {
	return fault.New(fault.NotFound, "DRAFT_NOT_FOUND", "You have no draft with this id in this survey.")
}
