package response

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Limits of a response.
const (
	maxMetadata    = 16 << 10 // bytes
	maxAttachments = 50
	maxWord        = 200 // characters
	firstYear      = 1970
	lastYear       = 2199
)

// Draft is a response as a collector sends it.
type Draft struct {
	ResponseID   string          `json:"responseId,omitzero" minLength:"1" doc:"Your id for the response; sending it twice stores it once. When absent, the server makes one, and a retry needs an Idempotency-Key." example:"resp_789"`
	SurveyID     string          `json:"surveyId,omitzero" doc:"The survey, or a template that exactly one active survey uses." example:"baseline-v1"`
	HouseholdID  string          `json:"householdId" doc:"DID of the household." example:"did:ixo:household/123"`
	Timestamp    time.Time       `json:"timestamp" doc:"When the answers were given."`
	Responses    form.Object     `json:"responses" doc:"Section to question to answer."`
	Verification *Verification   `json:"verification,omitzero" doc:"A decision made elsewhere: needs the scopes responses:verify and imports:write, and is marked as imported. It is not part of the content: when the response is already stored, the decision is not made, and a warning says so."`
	Round        int             `json:"round,omitzero" doc:"The open round by default."`
	Collector    string          `json:"collector,omitzero" minLength:"1" doc:"DID of the collector; you by default. Naming somebody else needs the scope surveys:write."`
	Mode         string          `json:"mode,omitzero" enum:"visit,phone,browser,collect,ussd,web,chat,import" doc:"By default the first mode of the survey. Only the server sets browser and collect, and ussd and chat are flagged unless a system of the operator asks in them."`
	DeviceID     string          `json:"deviceId,omitzero"`
	StartedAt    time.Time       `json:"startedAt,omitzero"`
	DurationSec  float64         `json:"durationSec,omitzero" doc:"By default the time from startedAt to timestamp."`
	Language     string          `json:"language,omitzero" example:"sw"`
	Location     *Location       `json:"location,omitzero"`
	Attachments  []Attachment    `json:"attachments,omitzero"`
	Supersedes   string          `json:"supersedes,omitzero" doc:"The response of the household in this round that this one replaces."`
	Metadata     form.Object     `json:"metadata,omitzero" doc:"Anything else; do not name people in it."`
	Entity       *api.EntityMark `json:"entity,omitzero" doc:"What the device reports about the twin that the answers make or change, if the template has an entity."`
	Partial      bool            `json:"partial,omitzero" doc:"Accept the response although required answers are missing."`

	patched bool // made by patching what is stored: what it lacks was removed
}

var (
	idForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$`)
	hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
	modes    = survey.Modes()
)

// check names everything that is wrong with a draft but its answers.
func (d *Draft) check(c *fault.Checks) {
	if d.ResponseID != "" && !idForm.MatchString(d.ResponseID) {
		c.Add("/responseId", "invalid", "An id has letters, digits and . _ : -, begins with a letter or digit, and has 100 characters or fewer.")
	}
	c.Require(d.HouseholdID != "", "/householdId")
	wantDID(c, "/householdId", d.HouseholdID)
	wantDID(c, "/collector", d.Collector)
	c.Require(!d.Timestamp.IsZero(), "/timestamp")
	check.Years(c, "/timestamp", d.Timestamp, firstYear, lastYear)
	check.Years(c, "/startedAt", d.StartedAt, firstYear, lastYear)
	if !d.StartedAt.IsZero() && d.StartedAt.After(d.Timestamp) {
		c.Add("/startedAt", "after_end", "An interview cannot begin after it ended.")
	}
	if d.DurationSec < 0 || d.DurationSec > 7*24*3600 {
		c.Add("/durationSec", "out_of_range", "The value must be 0 to 604800.")
	}
	if d.Round < 0 {
		c.Add("/round", "out_of_range", "Rounds are counted from 1.")
	}
	if d.Mode != "" && !slices.Contains(modes, d.Mode) {
		c.Add("/mode", "unknown", "The value must be one of "+strings.Join(modes, ", ")+".")
	}
	check.Short(c, "/deviceId", d.DeviceID, maxWord)
	check.Short(c, "/language", d.Language, maxWord)
	check.Short(c, "/supersedes", d.Supersedes, maxWord)
	d.checkParts(c)
}

func (d *Draft) checkParts(c *fault.Checks) {
	if l := d.Location; l != nil {
		if l.Lat < -90 || l.Lat > 90 {
			c.Add("/location/lat", "out_of_range", "The value must be -90 to 90.")
		}
		if l.Lon < -180 || l.Lon > 180 {
			c.Add("/location/lon", "out_of_range", "The value must be -180 to 180.")
		}
		if l.Accuracy != nil && *l.Accuracy < 0 {
			c.Add("/location/accuracy", "out_of_range", "The value must be 0 or more.")
		}
	}
	if len(d.Attachments) > maxAttachments {
		c.Add("/attachments", "too_many", fmt.Sprintf("There may be %d attachments at most.", maxAttachments))
	}
	for i, a := range d.Attachments[:min(len(d.Attachments), maxAttachments)] {
		at := fmt.Sprintf("/attachments/%d", i)
		if !hashForm.MatchString(a.SHA256) {
			c.Add(at+"/sha256", "invalid", "The value must be 64 hex digits in lower case.")
		}
		check.Short(c, at+"/mediaType", a.MediaType, maxWord)
		check.Short(c, at+"/name", a.Name, maxWord)
	}
	c.Require(!d.Responses.IsZero() && d.Responses.Kind() != 'n', "/responses") // how large they may be is for the form to say
	if !d.Metadata.IsZero() && d.Metadata.Kind() != '{' {
		c.Add("/metadata", "wrong_type", "The value must be an object.")
	}
	if len(d.Metadata.Value) > maxMetadata {
		c.Add("/metadata", "too_large", "The value may have 16 KiB at most.")
	}
	if d.Verification != nil {
		checkVerification(d.Verification, c)
	}
	if e := d.Entity; e != nil {
		check.Short(c, "/entity/id", e.ID, maxWord)
		check.Short(c, "/entity/branchId", e.BranchID, maxWord)
		if e.BaseVersion < 0 || e.TrunkVersion < 0 {
			c.Add("/entity/baseVersion", "out_of_range", "Revisions are counted from 1.")
		}
	}
}

// wantDID notes a text that is not a DID; an empty one passes.
func wantDID(c *fault.Checks, at, text string) {
	if text != "" && !did.Valid(text) {
		c.Add(at, "not_a_did", "The value must be a DID.")
	}
}

// decided are the states a posted verification may have.
var decided = []string{Verified, Rejected, NeedsCorrection, Flagged, Disputed, Invalidated}

func checkVerification(v *Verification, c *fault.Checks) {
	if !slices.Contains(decided, v.Status) {
		c.Add("/verification/status", "unknown", "The value must be one of "+strings.Join(decided, ", ")+".")
	}
	c.Require(v.Verifier != "", "/verification/verifier")
	wantDID(c, "/verification/verifier", v.Verifier)
	c.Require(!v.Timestamp.IsZero(), "/verification/timestamp")
	check.Years(c, "/verification/timestamp", v.Timestamp, firstYear, lastYear)
	check.Reason(c, "/verification/reason", v.Reason, NeedsReason(v.Status))
}

// content is what makes two drafts the same: everything but the decision, the
// survey, which may be named in two ways, and whether gaps are allowed.
func (d *Draft) content() ([]byte, error) {
	c := *d
	c.Verification, c.Partial, c.SurveyID = nil, false, ""
	c.Timestamp, c.StartedAt = c.Timestamp.UTC().Truncate(time.Millisecond), c.StartedAt.UTC().Truncate(time.Millisecond)
	if d.StartedAt.IsZero() {
		c.StartedAt = time.Time{}
	}
	b, err := json.Marshal(&c)
	if err != nil {
		return nil, fmt.Errorf("encode content: %w", err)
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("encode content: %w", err)
	}
	return v, nil
}

// checkReason looks at the parameter that says why a response changes. The
// fault is INVALID_PARAMETER.
func checkReason(reason string, needed bool) error {
	var c fault.Checks
	check.Reason(&c, "query/reason", reason, needed)
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}
