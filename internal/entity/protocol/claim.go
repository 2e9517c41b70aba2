package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	maxQuorum  = 100 // oracles that must agree
	maxReasons = 100
)

// ClaimRule is how claims of a type are verified, from the member verification of a claim
// type. A controller of an oracle gives the verdict, where the rubric leaves it to
// people; ClaimForm describes what the server does automatically, FindPrecision the
// precision.
type ClaimRule struct {
	Oracles []string // DIDs of the allowed oracles; nil: any
	Quorum  int      // how many of them must agree; 0: an oracle is not required
	Reasons []string // what a verdict may give as its reason; nil: anything
}

// verification is the member of that name. Its members are read one by one, because
// protocols published before they were checked must work as far as possible.
type verification struct {
	Mode    jsontext.Value `json:"mode"`
	Rubric  jsontext.Value `json:"rubric"`
	Quorum  jsontext.Value `json:"quorum"`
	Oracles jsontext.Value `json:"oracles"`
	Reasons jsontext.Value `json:"reasonCodes"`

	Precision jsontext.Value `json:"precision"`
}

// FindClaimRule reads the rule of a type of claims from the member claimTypes. names
// are all types; without any, the protocol does not decide about claims.
func FindClaimRule(claimTypes jsontext.Value, name string) (r ClaimRule, known bool, names []string) {
	var types map[string]jsontext.Value
	if !given(claimTypes) || json.Unmarshal(claimTypes, &types) != nil {
		return r, false, nil
	}
	names = slices.Sorted(maps.Keys(types))
	var t struct {
		Verification jsontext.Value `json:"verification"`
	}
	var f verification
	v, known := types[SpellClaimType(claimTypes, name)]
	if !known || v.Kind() != '{' || json.Unmarshal(v, &t) != nil || t.Verification.Kind() != '{' || json.Unmarshal(t.Verification, &f) != nil {
		return r, known, names
	}
	if list, ok := texts(f.Oracles); ok && len(list) > 0 {
		r.Oracles, r.Quorum = list, 1
	}
	if list, ok := texts(f.Reasons); ok && len(list) > 0 {
		r.Reasons = list
	}
	var n int
	if f.Quorum.Kind() == '0' && json.Unmarshal(f.Quorum, &n) == nil && n > 0 {
		r.Quorum = n
	}
	return r, true, names
}

// SpellClaimType is the name of a type of claims in the protocol's spelling, so that
// nobody claims the same again in capitals. An unknown name does not change.
func SpellClaimType(claimTypes jsontext.Value, name string) string {
	var types map[string]jsontext.Value
	if !given(claimTypes) || json.Unmarshal(claimTypes, &types) != nil || types[name] != nil {
		return name
	}
	for _, known := range slices.Sorted(maps.Keys(types)) {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return name
}

// And combines both rules.
func (r ClaimRule) And(o ClaimRule) ClaimRule {
	return ClaimRule{Oracles: inBoth(r.Oracles, o.Oracles), Quorum: max(r.Quorum, o.Quorum), Reasons: inBoth(r.Reasons, o.Reasons)}
}

func inBoth(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	out := []string{} // none is not any
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// texts reads an array of texts.
func texts(v jsontext.Value) (list []string, ok bool) {
	return list, v.Kind() == '[' && json.Unmarshal(v, &list) == nil
}

// senseVerification notes what could be published in a member verification and never work,
// or would not be obeyed. at is its pointer.
func senseVerification(v jsontext.Value, at string, c *fault.Checks) {
	var f verification
	if v.Kind() != '{' || json.Unmarshal(v, &f) != nil {
		c.Add(at, "wrong_type", "The value must be an object.")
		return
	}
	var mode string
	if given(f.Mode) && (f.Mode.Kind() != '"' || json.Unmarshal(f.Mode, &mode) != nil || !slices.Contains([]string{ModeManual, ModeAuto, ModeHybrid}, mode)) {
		c.Add(at+"/mode", "not_allowed", "The value must be manual, auto or hybrid.")
	}
	if (mode == ModeAuto || mode == ModeHybrid) && !given(f.Rubric) {
		c.Add(at+"/rubric", "required", "Nothing can be decided automatically without a rubric: write one, or set the mode to manual.")
	}
	if (mode == ModeAuto || mode == ModeHybrid) && !given(f.Oracles) {
		c.Add(at+"/oracles", "required", "Name the oracles for which the server decides, because anybody may make an oracle.")
	}
	n := 0
	if given(f.Quorum) && (f.Quorum.Kind() != '0' || json.Unmarshal(f.Quorum, &n) != nil || n < 1 || n > maxQuorum) {
		c.Add(at+"/quorum", "out_of_range", fmt.Sprintf("The value must be a whole number from 1 to %d.", maxQuorum))
	}
	senseOracles(f.Oracles, n, at, c)
	senseReasons(f.Reasons, at+"/reasonCodes", c)
	rubric.Compile(v, at, c)
	sensePrecision(f.Precision, at+"/precision", c)
}

func senseOracles(v jsontext.Value, quorum int, at string, c *fault.Checks) {
	if !given(v) {
		return
	}
	var list []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &list) != nil {
		c.Add(at+"/oracles", "wrong_type", "The value must be an array of DIDs.")
		return
	}
	seen := map[string]bool{}
	for i, v := range list {
		var id string
		here := fmt.Sprintf("%s/oracles/%d", at, i)
		if v.Kind() == '"' {
			_ = json.Unmarshal(v, &id) // anything but a text is not a DID
		}
		if !did.Valid(id) {
			c.Add(here, "invalid", "The value must be a DID.")
		} else if seen[id] {
			c.Add(here, "duplicate", "This oracle is named twice.")
		}
		seen[id] = true
	}
	switch {
	case len(list) == 0:
		c.Add(at+"/oracles", "empty", "Name an oracle, or leave the list out: nobody could verify such a claim.")
	case quorum > len(list) && quorum <= maxQuorum:
		c.Add(at+"/quorum", "out_of_range", "More oracles must agree than are named.")
	}
}

func senseReasons(v jsontext.Value, at string, c *fault.Checks) {
	if !given(v) {
		return
	}
	list, ok := texts(v)
	if !ok || len(list) == 0 || len(list) > maxReasons {
		c.Add(at, "wrong_type", fmt.Sprintf("The value must be an array of 1 to %d texts.", maxReasons))
		return
	}
	for i, s := range list {
		check.Line(c, fmt.Sprintf("%s/%d", at, i), strings.TrimSpace(s), check.MaxReason)
	}
}

// ClaimForm is what a protocol says about claims of a type besides their
// verification.
type ClaimForm struct {
	Unique     []string // members of a claim's properties of which no two claims have the same
	Aggregates bool     // one may sum other claims of the type
	Issues     bool     // an approval issues the credential
	Mode       string   // who evaluates; "" is ModeManual
}

// Who evaluates claims of a type.
const (
	ModeManual = "manual" // people; the default
	ModeAuto   = "auto"   // the server, by the rubric, as far as that does not leave it to people
	ModeHybrid = "hybrid" // the server, but nothing is approved without people
)

// When credentials are issued, as the member issue of a claim type says it.
const (
	onApproval = "approval"
	onRequest  = "request" // the default
)

// maxUnique is how many members a dedupeKey names.
const maxUnique = 10

// FindClaimForm reads the form of a type of claims from the member claimTypes.
func FindClaimForm(claimTypes jsontext.Value, name string) (out ClaimForm) {
	var types map[string]jsontext.Value
	var f claimForm
	if !given(claimTypes) || json.Unmarshal(claimTypes, &types) != nil || types[name].Kind() != '{' || json.Unmarshal(types[name], &f) != nil {
		return out
	}
	out.Unique, _ = uniqueOf(f.DedupeKey)
	out.Aggregates, out.Issues = f.Aggregates.Kind() == 't', textOf(f.Issue) == onApproval
	var v verification
	if f.Verification.Kind() == '{' && json.Unmarshal(f.Verification, &v) == nil && given(v.Rubric) {
		out.Mode = textOf(v.Mode)
	}
	return out
}

// uniqueOf reads a dedupeKey: a name, or several.
func uniqueOf(v jsontext.Value) ([]string, bool) {
	if !given(v) {
		return nil, true
	}
	list, ok := texts(v)
	if one := textOf(v); one != "" {
		list, ok = []string{one}, true
	}
	if !ok || len(list) == 0 || len(list) > maxUnique || slices.Contains(list, "") {
		return nil, false
	}
	return list, true
}

// senseForm notes what is wrong with the form of a claim type.
func senseForm(f claimForm, at string, c *fault.Checks) {
	if _, ok := uniqueOf(f.DedupeKey); !ok {
		c.Add(at+"/dedupeKey", "wrong_type", fmt.Sprintf("The value must be the name of a member of the claim's properties, such as data.redemptionId, or an array of 1 to %d of them.", maxUnique))
	}
	if k := f.Aggregates.Kind(); given(f.Aggregates) && k != 't' && k != 'f' {
		c.Add(at+"/aggregates", "wrong_type", "The value must be true or false.")
	}
	if when := textOf(f.Issue); given(f.Issue) && when != onApproval && when != onRequest {
		c.Add(at+"/issue", "not_allowed", "The value must be approval or request.")
	}
}
