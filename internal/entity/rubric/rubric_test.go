package rubric_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/entity/rubric"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const stoves = `{
	"facts": [
		{"id": "usage", "type": "number", "unit": "1", "source": "readings", "confidence": 0.8},
		{"id": "fuel", "type": "choice", "values": ["wood", "charcoal"]},
		{"id": "installed", "type": "date"},
		{"id": "sold", "type": "boolean"}
	],
	"rubric": [
		{"id": "amount", "stage": "admissibility", "when": "claim.amount <= 0.0", "then": {"outcome": "rejected", "reasonCode": "NO_AMOUNT"}},
		{"id": "sold", "stage": "veto", "when": {"fact": "sold", "equals": true}, "then": {"outcome": "rejected", "reasonCode": "SOLD"}},
		{"id": "no-fuel", "stage": "missing_evidence", "when": "facts.fuel == null", "then": {"outcome": "flagged", "reasonCode": "NO_FUEL"}},
		{"id": "late", "stage": "conflict", "when": "facts.installed != null && facts.installed > claim.periodStart", "then": {"outcome": "manual_review_required", "reasonCode": "LATE"}},
		{"id": "some", "stage": "partial", "when": "facts.usage < 0.8", "then": {"outcome": "partial_success", "reasonCode": "LOW_USE", "amount": "claim.amount * facts.usage"}},
		{"id": "rest", "stage": "approval", "when": "claim.days <= 366.0", "then": {"outcome": "approved", "reasonCode": "IN_USE"}, "text": "It was used."}
	]
}`

func compiled(t *testing.T, source string) *rubric.Rubric {
	t.Helper()
	var c fault.Checks
	r := rubric.Compile(jsontext.Value(source), "", &c)
	if r == nil || !c.OK() {
		t.Fatalf("compile: %v", c.Fields())
	}
	return r
}

func known(pairs ...string) map[string]rubric.Known {
	out := map[string]rubric.Known{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = rubric.Known{Value: jsontext.Value(pairs[i+1])}
	}
	return out
}

func TestDecide(t *testing.T) {
	t.Parallel()
	r := compiled(t, stoves)
	day := func(s string) time.Time {
		d, _ := time.Parse(time.DateOnly, s)
		return d
	}
	claim := rubric.Claim{Kind: "fuel-saved", Amount: 12, Unit: "t", PeriodStart: day("2026-01-01"), PeriodEnd: day("2026-12-31"), Submitted: day("2027-01-05")}
	half := 0.5
	for name, tt := range map[string]struct {
		claim  func(*rubric.Claim)
		facts  map[string]rubric.Known
		want   string // outcome, reason, rule
		amount float64
	}{
		"approved":         {facts: known("usage", "0.9", "fuel", `"wood"`), want: "approved IN_USE rest", amount: 12},
		"partial":          {facts: known("usage", "0.5", "fuel", `"wood"`), want: "partial_success LOW_USE some", amount: 6},
		"nothing claimed":  {claim: func(c *rubric.Claim) { c.Amount = 0 }, want: "rejected NO_AMOUNT amount"},
		"veto first":       {facts: known("usage", "0.9", "fuel", `"wood"`, "sold", "true"), want: "rejected SOLD sold"},
		"missing evidence": {facts: known("usage", "0.9"), want: "flagged NO_FUEL no-fuel"},
		"conflict":         {facts: known("usage", "0.9", "fuel", `"wood"`, "installed", `"2026-06-01"`), want: "manual_review_required LATE late"},
		"date before":      {facts: known("usage", "0.9", "fuel", `"wood"`, "installed", `"2025-06-01"`), want: "approved IN_USE rest", amount: 12},
		"a missing fact":   {facts: known("fuel", `"wood"`), want: "manual_review_required RULE_UNDECIDED some"},
		"an uncertain one": {facts: map[string]rubric.Known{"fuel": {Value: jsontext.Value(`"wood"`)}, "usage": {Value: jsontext.Value("0.9"), Confidence: &half}}, want: "manual_review_required RULE_UNDECIDED some"},
		"nothing left":     {facts: known("usage", "0", "fuel", `"wood"`), want: "manual_review_required AMOUNT_INVALID some"},
		"no rule":          {claim: func(c *rubric.Claim) { c.PeriodEnd = day("2028-12-31") }, facts: known("usage", "0.9", "fuel", `"wood"`), want: "manual_review_required NO_RULE "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := claim
			if tt.claim != nil {
				tt.claim(&c)
			}
			for range 2 { // the same again is the same
				d, err := r.Decide(c, tt.facts)
				if got := string(d.Outcome) + " " + d.ReasonCode + " " + d.Rule; err != nil || got != tt.want || d.Amount != tt.amount {
					t.Errorf("got %s %v %v, want %s %v", got, d.Amount, err, tt.want, tt.amount)
				}
				if len(d.Steps) == 0 || d.Rule != "" && d.Steps[len(d.Steps)-1].Rule != d.Rule {
					t.Errorf("steps %v", d.Steps)
				}
			}
		})
	}
}

// Facts that nobody declared, or of another type, are refused by name: a decision rests
// on what was meant.
func TestFacts(t *testing.T) {
	t.Parallel()
	r := compiled(t, stoves)
	two := 2.0
	_, err := r.Decide(rubric.Claim{Amount: 1}, map[string]rubric.Known{
		"usage": {Value: jsontext.Value(`"much"`)}, "fuel": {Value: jsontext.Value(`"gas"`)}, "colour": {Value: jsontext.Value(`1`)},
		"installed": {Value: jsontext.Value(`"soon"`)}, "sold": {Value: jsontext.Value("1")},
	})
	want := "/facts/colour unknown, /facts/usage/value wrong_type, /facts/fuel/value wrong_type, /facts/installed/value wrong_type, /facts/sold/value wrong_type"
	if got := fields(fault.As(err).Fields); got != want {
		t.Errorf("got %s", got)
	}
	_, err = r.Decide(rubric.Claim{Amount: 1}, map[string]rubric.Known{"usage": {Value: jsontext.Value("1"), Confidence: &two}})
	if got := fields(fault.As(err).Fields); got != "/facts/usage/confidence out_of_range" {
		t.Errorf("got %s", got)
	}
}

func fields(all []fault.Field) string {
	var out []string
	for _, f := range all {
		out = append(out, f.Pointer+" "+f.Code)
	}
	return strings.Join(out, ", ")
}

// TestCompile: what could be published and never work is refused with its place.
func TestCompile(t *testing.T) {
	t.Parallel()
	rule := func(members string) string {
		return `{"rubric":[{"id":"a","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"OK"}` + members + `}]}`
	}
	for name, tt := range map[string]struct{ source, want string }{
		"none":              {`{"facts":[]}`, ""},
		"empty":             {`{"rubric":[]}`, ""},
		"no list":           {`{"rubric":{}}`, "/rubric wrong_type"},
		"too many":          {`{"rubric":[` + strings.Repeat("{},", 100) + `{}]}`, "/rubric too_many"},
		"unknown member":    {rule(`,"else":1`), "/rubric/0 wrong_type"},
		"unknown stage":     {strings.Replace(rule(""), "approval", "luck", 1), "/rubric/0/stage not_allowed"},
		"wrong outcome":     {strings.Replace(rule(""), `"approved"`, `"rejected"`, 1), "/rubric/0/then/outcome not_allowed"},
		"no reason":         {strings.Replace(rule(""), `"OK"`, `""`, 1), "/rubric/0/then/reasonCode required"},
		"unknown name":      {strings.Replace(rule(""), `"true"`, `"price > 1.0"`, 1), "/rubric/0/when invalid_expression"},
		"unknown fact":      {strings.Replace(rule(""), `"true"`, `"facts.price > 1.0"`, 1), "/rubric/0/when invalid_expression"},
		"no condition":      {strings.Replace(rule(""), `"true"`, `"claim.amount"`, 1), "/rubric/0/when invalid_expression"},
		"no such fact":      {strings.Replace(rule(""), `"true"`, `{"fact":"x","equals":1}`, 1), "/rubric/0/when invalid"},
		"wrong value":       {`{"facts":[{"id":"x","type":"number"}],` + strings.Replace(rule(""), `"true"`, `{"fact":"x","equals":"1"}`, 1)[1:], "/rubric/0/when invalid"},
		"amount for all":    {`{"rubric":[{"id":"a","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"OK","amount":"1.0"}}]}`, "/rubric/0/then/amount not_allowed"},
		"no amount":         {`{"rubric":[{"id":"a","stage":"partial","when":"true","then":{"outcome":"partial_success","reasonCode":"OK"}}]}`, "/rubric/0/then/amount required"},
		"approval too soon": {`{"rubric":[{"id":"a","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"OK"}},{"id":"a","stage":"veto","when":"true","then":{"outcome":"rejected","reasonCode":"NO"}}]}`, "/rubric/1/id duplicate, /rubric/1/stage out_of_order"},
		"facts": {
			`{"facts":[{"id":"1","type":"number"},{"id":"a","type":"colour"},{"id":"a","type":"choice"},{"id":"b","type":"number","confidence":2}],` + rule("")[1:],
			"/facts/0/id invalid_name, /facts/1/type not_allowed, /facts/2/id duplicate, /facts/2/values required, /facts/3/confidence out_of_range",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c fault.Checks
			r := rubric.Compile(jsontext.Value(tt.source), "", &c)
			if got := fields(c.Fields()); got != tt.want || r != nil {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A hash follows what a rubric says, and not how it is written.
func TestHash(t *testing.T) {
	t.Parallel()
	a := compiled(t, `{"rubric":[{"id":"a","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"OK"}}]}`)
	b := compiled(t, `{"rubric": [{"stage":"approval","id":"a","then":{"reasonCode":"OK","outcome":"approved"},"when":"true"}], "facts": null}`)
	c := compiled(t, `{"rubric":[{"id":"a","stage":"approval","when":"true ","then":{"outcome":"approved","reasonCode":"OK"}}]}`)
	if len(a.Hash()) != 64 || a.Hash() != b.Hash() || a.Hash() == c.Hash() {
		t.Errorf("%s, %s, %s", a.Hash(), b.Hash(), c.Hash())
	}
}

// FuzzCompile: whatever a rubric is, it is refused or decides.
func FuzzCompile(f *testing.F) {
	f.Add(stoves)
	f.Add(`{"rubric":[{"id":"a","stage":"partial","when":"1.0/0.0 > 1.0","then":{"outcome":"partial_success","reasonCode":"OK","amount":"claim.amount*2.0"}}]}`)
	f.Fuzz(func(t *testing.T, source string) {
		var c fault.Checks
		r := rubric.Compile(jsontext.Value(source), "", &c)
		if r == nil {
			return
		}
		d, err := r.Decide(rubric.Claim{Amount: 5}, nil)
		if err != nil || d.Outcome == "" || !(d.Amount >= 0 && d.Amount <= 5) {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// A fact that is too uncertain never helps: what it speaks against is not approved.
func TestDoubt(t *testing.T) {
	t.Parallel()
	r := compiled(t, `{"facts":[{"id":"sold","type":"boolean","confidence":0.8},{"id":"usage","type":"number","confidence":0.8}],"rubric":[
		{"id":"sold","stage":"veto","when":{"fact":"sold","equals":true},"then":{"outcome":"rejected","reasonCode":"SOLD"}},
		{"id":"some","stage":"partial","when":"facts.usage != null && facts.usage < 0.8","then":{"outcome":"partial_success","reasonCode":"LOW","amount":"claim.amount * facts.usage"}},
		{"id":"rest","stage":"approval","when":"true","then":{"outcome":"approved","reasonCode":"OK"}}]}`)
	low := 0.1
	for name, tt := range map[string]struct {
		facts map[string]rubric.Known
		want  string
	}{
		"nothing is said":      {nil, "approved OK rest"},
		"sold, perhaps":        {map[string]rubric.Known{"sold": {Value: jsontext.Value("true"), Confidence: &low}}, "manual_review_required RULE_UNDECIDED sold"},
		"not sold, perhaps":    {map[string]rubric.Known{"sold": {Value: jsontext.Value("false"), Confidence: &low}}, "approved OK rest"},
		"little used, perhaps": {map[string]rubric.Known{"usage": {Value: jsontext.Value("0.2"), Confidence: &low}}, "manual_review_required RULE_UNDECIDED some"},
	} {
		d, err := r.Decide(rubric.Claim{Amount: 10}, tt.facts)
		if got := strings.Join([]string{string(d.Outcome), d.ReasonCode, d.Rule}, " "); err != nil || got != tt.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, tt.want)
		}
	}
}

// Who runs rules needs to know whether any of them asks for evidence, in a condition or in
// an amount, by its name or in the whole claim.
func TestAsksForEvidence(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]bool{
		`claim.amount > 1.0`: false, `facts.evidence == 1.0`: false, `claim.evidence > 1.0`: true, `claim.amount > 1.0 || claim.evidence == 0.0`: true, `[claim].size() == 1`: true,
	} {
		r := compiled(t, `{"facts":[{"id":"evidence","type":"number"}],"rubric":[{"id":"a","stage":"approval","when":"`+when+`","then":{"outcome":"approved","reasonCode":"OK"}}]}`)
		if got := r.AsksForEvidence(); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	r := compiled(t, `{"rubric":[{"id":"a","stage":"partial","when":"true","then":{"outcome":"partial_success","reasonCode":"OK","amount":"claim.amount / claim.evidence"}}]}`)
	if !r.AsksForEvidence() {
		t.Error("an amount that asks for evidence is not seen")
	}
}

// What is signed is the amount that people would compute, not what floating point has
// made of it.
func TestRoundedAmount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		amount     float64
		expression string
		want       float64
		code       string
	}{
		{0.1, "claim.amount * 0.7", 0.07, "OK"},
		{12, "claim.amount / 7.0", 1.714285714, "OK"},
		{1e15, "claim.amount * 0.5", 5e14, "OK"},
		{0.1, "claim.amount * 3.0 / 3.0", 0.1, "OK"}, // 0.10000000000000002
		{0.12345678967, "claim.amount", 0.12345678967, "OK"},
		{1, "claim.amount * 0.0000000001", 0, rubric.BadAmount},
		{1, "claim.amount * 1.00000001", 0, rubric.BadAmount},
	} {
		r := compiled(t, fmt.Sprintf(`{"rubric":[{"id":"a","stage":"partial","when":"true","then":{"outcome":"partial_success","reasonCode":"OK","amount":%q}}]}`, tt.expression))
		d, err := r.Decide(rubric.Claim{Amount: tt.amount}, nil)
		if err != nil || d.Amount != tt.want || d.ReasonCode != tt.code {
			t.Errorf("%s of %v: %v %s %v, want %v %s", tt.expression, tt.amount, d.Amount, d.ReasonCode, err, tt.want, tt.code)
		}
	}
	const as = 0.06999999999999999 // as it was stored before
	if !rubric.SameAmount(as, 0.07) || rubric.SameAmount(0.08, 0.07) || !rubric.SameAmount(0.12345678967, 0.12345678967) {
		t.Error("amounts of before are not compared as they are decided now")
	}
}
