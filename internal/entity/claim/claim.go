// Package claim keeps claims from the moment they are submitted: the document with
// its CID, what it covers, and its status. A claim remains a twin, and this package
// learns of every step of that twin in the transaction of the step.
//
// It promises that a submitted document does not change, that nothing is claimed
// twice for a twin or for what it is part of, and that a claim which ends without
// approval frees its period.
package claim

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The statuses of a claim. Only the first three are not final.
const (
	Pending     = "pending"
	Flagged     = "flagged"
	Disputed    = "disputed"
	Approved    = "approved"
	Rejected    = "rejected"
	Invalidated = "invalidated"
	Withdrawn   = "withdrawn"
)

// draft is the status shown for a claim that was not submitted.
const draft = "draft"

// inWords turns the status of a twin's verification into the status of a claim.
func inWords(status string) string {
	switch status {
	case Approved:
		return verdict.Verified
	case Rejected:
		return verdict.Rejected
	case Invalidated:
		return verdict.Revoked
	case draft, Withdrawn:
		return "unverified"
	}
	return verdict.Pending
}

// content is what a claim says, in its properties.
type content struct {
	PeriodStart string           `json:"periodStart"`
	PeriodEnd   string           `json:"periodEnd"`
	Amount      *api.ClaimAmount `json:"amount"`
	Evidence    []string         `json:"evidence"`
	Claims      []string         `json:"claims"`
	Collection  string           `json:"collection"`
	Data        map[string]any   `json:"data"`
}

// read reads what a claim says from its properties. Other protocols may have
// other members: whatever does not fit is ignored.
func read(e *entity.Entity) (out content) {
	var parts map[string]jsontext.Value
	if e.Properties.IsZero() || json.Unmarshal(e.Properties.Value, &parts) != nil {
		return out
	}
	for name, to := range map[string]any{
		"periodStart": &out.PeriodStart, "periodEnd": &out.PeriodEnd, "amount": &out.Amount, "evidence": &out.Evidence, "claims": &out.Claims, "collection": &out.Collection, "data": &out.Data,
	} {
		if v := parts[name]; len(v) > 0 {
			_ = json.Unmarshal(v, to) // whatever does not fit is ignored
		}
	}
	if named, ok := out.Data["claims"].([]any); ok && len(out.Claims) == 0 {
		for _, v := range named {
			if id, ok := v.(string); ok {
				out.Claims = append(out.Claims, id)
			}
		}
	}
	if id, ok := out.Data["collection"].(string); ok && out.Collection == "" {
		out.Collection = id
	}
	return out
}

// data returns the document's further members; nil for none.
func (c *content) data() any {
	if len(c.Data) == 0 {
		return nil
	}
	return c.Data
}

// The bounds of a claim that states no period.
const (
	always = math.MinInt64 / 2
	never  = math.MaxInt64 / 2
)

// span is the period in ms, its end excluded.
func (c *content) span() (starts, ends int64, err error) {
	starts, ends = always, never
	var wrong fault.Checks
	if c.PeriodStart != "" {
		t := dayOf(c.PeriodStart, "/properties/periodStart", &wrong)
		starts = t.UnixMilli()
	}
	if c.PeriodEnd != "" {
		t := dayOf(c.PeriodEnd, "/properties/periodEnd", &wrong)
		ends = t.AddDate(0, 0, 1).UnixMilli()
	}
	if c.PeriodStart != "" && c.PeriodEnd != "" && ends <= starts {
		wrong.Add("/properties/periodEnd", "out_of_range", "The period ends before it begins.")
	}
	if c.Amount != nil {
		checkAmount(c.Amount.Value, "/properties/amount/value", &wrong)
	}
	return starts, ends, wrong.Err(invalidCode, invalidText)
}

// Kinds and units are words for programs. They go into signed documents that
// everybody sees: no sentences, and no invisible letters.
var (
	kindForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._:/-]{0,79}$`)
	unitForm = regexp.MustCompile(`^[\pL\d%°./*^²³⁻¹ _-]*$`) // the length is checked separately: copies of the class are large
)

const maxUnit = 24 // characters

// checkWords refuses a kind or a unit that is not a word.
func checkWords(kind string, a *api.ClaimAmount) error {
	var wrong fault.Checks
	if kind != "" && !kindForm.MatchString(kind) {
		wrong.Add("/properties/kind", "pattern", "A kind is one word of up to 80 letters, digits and . _ : / -, such as fuel-saved.")
	}
	if a != nil && (utf8.RuneCountInString(a.Unit) > maxUnit || !unitForm.MatchString(a.Unit)) {
		wrong.Add("/properties/amount/unit", "pattern", "A unit has up to 24 letters, digits and signs, such as kg or tCO2e.")
	}
	return wrong.Err(invalidCode, invalidText)
}

// The first and the last year of a claim, and the largest amount.
const (
	firstYear = 1900
	lastYear  = 2299
	maxAmount = 1e15
)

// dayOf reads a day of a period.
func dayOf(text, at string, c *fault.Checks) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		c.Add(at, "invalid", "The value must be a day such as 2026-03-01.")
	} else if t.Year() < firstYear || t.Year() > lastYear {
		c.Add(at, "out_of_range", fmt.Sprintf("The year must be from %d to %d.", firstYear, lastYear))
	}
	return t
}

func checkAmount(v float64, at string, c *fault.Checks) {
	if !(v >= 0 && v <= maxAmount) {
		c.Add(at, "out_of_range", "The amount must be from 0 to 1,000,000,000,000,000.")
	}
}

const (
	invalidCode = "CLAIM_INVALID"
	invalidText = "The claim is not valid."
)

// canonical encodes a value as RFC 8785 requires.
func canonical(v any) (jsontext.Value, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	out := jsontext.Value(raw)
	return out, out.Canonicalize()
}

// CID computes the CID of bytes: version 1, raw, SHA-256.
func CID(b []byte) string {
	sum := sha256.Sum256(b)
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append([]byte{0x01, 0x55, 0x12, 0x20}, sum[:]...)))
}

// keyOf hashes the values of a claim that its type says must be unique. names are
// members of its properties; dots lead into objects. A missing member is a fault
// CLAIM_INVALID.
func keyOf(e *entity.Entity, names []string) (string, error) {
	var c fault.Checks
	h := sha256.New()
	for _, name := range names {
		v, err := member(jsontext.Value(e.Properties.Value), strings.Split(name, "."))
		if err != nil {
			c.Add("/properties/"+strings.ReplaceAll(name, ".", "/"), "required", "The claim type requires it: no two claims may have the same value.")
			continue
		}
		fmt.Fprintf(h, "%s\n%s\n", name, v)
	}
	return hex.EncodeToString(h.Sum(nil)), c.Err(invalidCode, invalidText)
}

var errNoMember = errors.New("no such member")

// member returns a value inside an object, encoded as RFC 8785 requires.
func member(v jsontext.Value, path []string) (jsontext.Value, error) {
	for _, name := range path {
		var parts map[string]jsontext.Value
		if v.Kind() != '{' || json.Unmarshal(v, &parts) != nil || len(parts[name]) == 0 {
			return nil, errNoMember
		}
		v = parts[name]
	}
	if v.Kind() == 'n' {
		return nil, errNoMember
	}
	out := v.Clone()
	return out, out.Canonicalize()
}

// address is the path of a claim.
func address(id string) string { return "/v1/claims/" + url.PathEscape(id) }

func notFound() error {
	return fault.New(fault.NotFound, "CLAIM_NOT_FOUND", "No claim has this DID or CID.")
}
