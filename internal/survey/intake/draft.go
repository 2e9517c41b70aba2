package intake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// invalid is the fault of a row that no response can be made of.
const invalid = "ROW_INVALID"

// row is a row of a file: a draft, or the reason why there is none.
type row struct {
	line  int64
	id    string
	draft *response.Draft
	notes []fault.Field // warnings
	err   *fault.Error
}

// refuse makes the row one that was refused.
func (r *row) refuse(err error) {
	if f := exchange.Refusal(err); f != nil {
		r.draft, r.err = nil, f
	}
}

// head is what an export says about a response besides its answers, by column.
type head map[string]string

// draft makes a draft of what a file says about a response. Faults:
// ROW_INVALID.
func (in *input) draft(h head, answers jsontext.Value, notes *[]fault.Field) (*response.Draft, error) {
	var c fault.Checks
	d := &response.Draft{
		ResponseID: h["responseId"], HouseholdID: h["householdId"], Collector: h["collector"], Mode: h["mode"], DeviceID: h["deviceId"],
		Language: h["language"], Supersedes: h["supersedes"], Responses: form.Object{Value: answers},
		Partial: in.p.Partial || h["status"] == string(response.Partial),
	}
	c.Require(d.ResponseID != "", "responseId")
	if h["erased"] == "true" {
		c.Add("erased", "erased", "The household was erased: its answers are gone.")
	}
	d.Timestamp, d.StartedAt = h.moment(&c, "timestamp"), h.moment(&c, "startedAt")
	d.DurationSec, d.Round = h.number(&c, "durationSec"), int(h.number(&c, "round"))
	if h["location/lat"] != "" {
		d.Location = &response.Location{Lat: h.number(&c, "location/lat"), Lon: h.number(&c, "location/lon")}
		if h["location/accuracy"] != "" {
			metres := h.number(&c, "location/accuracy")
			d.Location.Accuracy = &metres
		}
	}
	if text := h["metadata"]; text != "" {
		v := jsontext.Value(text)
		if v.Kind() != '{' || !v.IsValid() {
			c.Add("metadata", "wrong_type", "The cell must hold a JSON object.")
		}
		d.Metadata = form.Object{Value: v}
	}
	in.verdict(h, d, &c, notes)
	if sender := h["submittedBy"]; sender != "" && sender != in.caller.DID {
		*notes = append(*notes, notCarried("submittedBy", "The sender of an imported response is the importer. The file names somebody else."))
	}
	if err := c.Err(invalid, "The row cannot be read."); err != nil {
		return nil, err
	}
	return d, nil
}

func notCarried(column, detail string) fault.Field {
	return fault.Field{Pointer: column, Code: "not_carried_over", Detail: detail}
}

// noConsent notes that a submission of another program does not say whether the
// household has agreed.
func noConsent() fault.Field {
	return fault.Field{Pointer: "consent", Code: "consent_missing", Detail: "The question for consent has no answer. The response is flagged."}
}

// foreignVerdict notes a decision in a file of another program.
func foreignVerdict(column string) fault.Field {
	return notCarried(column, "Decisions of another program are not imported: nobody here made them.")
}

// verdicts are the columns of an export about a decision.
var verdicts = []string{"verificationStatus", "verifier", "verifiedAt"}

// carried are the states of a verification that a file can bring: a decision.
var carried = []string{response.Verified, response.Rejected, response.NeedsCorrection, response.Flagged, response.Disputed, response.Invalidated}

// verdict adopts a decision that was made elsewhere, if the importer could send
// it with a response. Otherwise the response is pending, and the report says so.
func (in *input) verdict(h head, d *response.Draft, c *fault.Checks, notes *[]fault.Field) {
	state := h["verificationStatus"]
	if !slices.Contains(carried, state) {
		return
	}
	v := &response.Verification{Status: state, Verifier: h["verifier"], Timestamp: h.moment(c, "verifiedAt")}
	switch {
	case in.p.Source != Hearth:
		*notes = append(*notes, foreignVerdict("verificationStatus"))
	case !in.caller.May("responses:verify"):
		*notes = append(*notes, notCarried("verificationStatus", "The response is pending: importing a decision needs the scope responses:verify."))
	case response.MayJudge(v.Verifier, d.Collector, in.caller.DID) != nil || d.Collector == "":
		*notes = append(*notes, notCarried("verificationStatus", "The response is pending: its collector, or you as its importer, made the decision."))
	default:
		if response.NeedsReason(state) {
			v.Reason = in.from
		}
		d.Verification = v
	}
}

// moment reads a time.
func (h head) moment(c *fault.Checks, column string) time.Time {
	text := strings.TrimSpace(h[column])
	if text == "" {
		return time.Time{}
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999", time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC()
		}
	}
	c.Add(column, "wrong_type", "The cell must be a time such as 2026-01-31T14:05:00Z.")
	return time.Time{}
}

func (h head) number(c *fault.Checks, column string) float64 {
	text := strings.TrimSpace(h[column])
	if text == "" {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !jsontext.Value(text).IsValid() || column == "round" && f != float64(int(f)) {
		c.Add(column, "wrong_type", "The cell must be a number, with a point before its decimals.")
	}
	return f
}

// ofRecord reads a line of NDJSON as exports write it.
func (in *input) ofRecord(r *row, text jsontext.Value) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	h := head{}
	var c fault.Checks
	for name, v := range members {
		switch {
		case name == "responses" || name == "location":
		case !slices.Contains(in.heads, name):
			c.Add(name, "unknown_column", "An export has no such member.")
		case v.Kind() == '"':
			var s string
			if err := json.Unmarshal(v, &s); err != nil {
				return fmt.Errorf("read record: %w", err)
			}
			h[name] = s
		default:
			h[name] = string(v)
		}
	}
	if v := members["location"]; v != nil {
		var l response.Location
		if json.Unmarshal(v, &l) != nil {
			c.Add("location", "wrong_type", "The value must be an object with lat and lon.")
		}
		h["location/lat"], h["location/lon"] = strconv.FormatFloat(l.Lat, 'f', -1, 64), strconv.FormatFloat(l.Lon, 'f', -1, 64)
		if l.Accuracy != nil {
			h["location/accuracy"] = strconv.FormatFloat(*l.Accuracy, 'f', -1, 64)
		}
	}
	r.id = h["responseId"]
	if err := c.Err(invalid, "The row cannot be read."); err != nil {
		r.refuse(err)
		return nil
	}
	d, err := in.draft(h, members["responses"].Clone(), &r.notes)
	r.draft = d
	r.refuse(err)
	return nil
}

// ofCells makes a draft of the cells of a table.
func (in *input) ofCells(r *row, cells *form.Cells) {
	h := head{}
	for _, name := range in.heads {
		if v := cells.Values[name]; v != "" {
			h[name] = v
		}
	}
	r.id = h["responseId"]
	answers, wrong := in.layout.Answers(cells)
	d, err := in.draft(h, answers, &r.notes)
	if len(wrong) > 0 {
		f := fault.As(err)
		if f == nil {
			f = fault.New(fault.Invalid, invalid, "The row cannot be read.")
		}
		for _, w := range wrong {
			f = f.With(fault.Field{Pointer: in.columnOf(w.Column), Code: "wrong_type", Detail: w.Detail})
		}
		err = f
	}
	r.draft = d
	r.refuse(err)
}
