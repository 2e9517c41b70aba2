// Package rubric decides about claims by rules that a protocol has published: facts go
// in, an outcome with its reason comes out, and anybody who has both can repeat the
// decision.
//
// It promises that the same rubric and the same facts give the same decision, that what
// cannot be decided goes to people instead of being approved, and that no rule gives
// more than was claimed. It knows nothing of storage or HTTP.
package rubric

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The limits.
const (
	maxFacts  = 100
	maxRules  = 100
	maxValues = 100 // that a fact of the type choice may have
)

// Outcome is the result of a rubric.
type Outcome string

// The outcomes.
const (
	Approved Outcome = "approved"
	Partial  Outcome = "partial_success" // approved, with a smaller amount
	Rejected Outcome = "rejected"
	Flagged  Outcome = "flagged"                // a person should look; nothing is decided
	Manual   Outcome = "manual_review_required" // people decide
)

// stage is a part of a rubric. Its rules may come to these outcomes.
type stage struct {
	name     string
	outcomes []Outcome
}

// stages are the parts of a rubric in their order: what speaks against a claim is asked
// before what speaks for it.
var stages = []stage{
	{"admissibility", []Outcome{Rejected, Flagged, Manual}},
	{"veto", []Outcome{Rejected}},
	{"missing_evidence", []Outcome{Rejected, Flagged, Manual}},
	{"conflict", []Outcome{Rejected, Flagged, Manual}},
	{"manual_review", []Outcome{Manual}},
	{"partial", []Outcome{Partial}},
	{"approval", []Outcome{Approved}},
}

// Why a rubric hands a claim to people without a rule that says so.
const (
	NoRule    = "NO_RULE"        // none of them holds
	Undecided = "RULE_UNDECIDED" // one cannot be evaluated, mostly for a missing fact
	BadAmount = "AMOUNT_INVALID" // its amount is invalid, or more than was claimed
)

// Fact declares a fact that rules may use.
type Fact struct {
	ID          string   `json:"id"`
	Type        string   `json:"type"`
	Unit        string   `json:"unit,omitzero"`
	Values      []string `json:"values,omitzero"` // of a choice
	Source      string   `json:"source,omitzero"`
	Confidence  float64  `json:"confidence,omitzero"` // least one: below it the fact is missing
	Description string   `json:"description,omitzero"`
}

// Rule is one step of a rubric: when its condition holds, the rest is not
// evaluated.
type Rule struct {
	ID    string         `json:"id"`
	Stage string         `json:"stage"`
	When  jsontext.Value `json:"when"` // CEL, or {fact, equals}
	Then  Then           `json:"then"`
	Text  string         `json:"text,omitzero"` // in words, for people
}

// Then is the consequence of a rule.
type Then struct {
	Outcome    Outcome `json:"outcome"`
	ReasonCode string  `json:"reasonCode"`
	Amount     string  `json:"amount,omitzero"` // CEL; of a partial outcome
}

// Document is a rubric as a protocol carries it.
type Document struct {
	Facts  []Fact `json:"facts"`
	Rubric []Rule `json:"rubric"`
}

// Rubric is a compiled rubric. It is safe for concurrent use.
type Rubric struct {
	facts []Fact
	rules []rule
	hash  string

	claim, known *cel.Shape // what rules see
}

// rule is one that is ready to be asked.
type rule struct {
	Rule
	when   *cel.Program
	amount *cel.Program
	asks   []string // facts
}

// Facts returns the facts that the rules may use.
func (r *Rubric) Facts() []Fact { return r.facts }

// AsksForEvidence reports whether a rule uses the number of pieces of evidence.
// Otherwise they need not be counted.
func (r *Rubric) AsksForEvidence() bool {
	return slices.ContainsFunc(r.rules, func(each rule) bool {
		return r.evidenceIn(each.when) || each.amount != nil && r.evidenceIn(each.amount)
	})
}

func (r *Rubric) evidenceIn(p *cel.Program) bool {
	return slices.ContainsFunc(p.Uses(), func(u cel.Use) bool {
		return u.Shape == r.claim && (u.Field < 0 || claimFields[u.Field].Name == "evidence")
	})
}

// Weight estimates the bytes of the rubric.
func (r *Rubric) Weight() int {
	weight := baseWeight + factWeight*len(r.facts)
	for i := range r.rules {
		weight += r.rules[i].when.Weight()
		if amount := r.rules[i].amount; amount != nil {
			weight += amount.Weight()
		}
	}
	return weight
}

// The weight of a rubric besides its programs, in bytes, mostly its environment; and of
// each fact.
const (
	baseWeight = 124 << 10
	factWeight = 1 << 10
)

// Hash identifies the rubric's content: SHA-256 over its canonical form.
func (r *Rubric) Hash() string { return r.hash }

var (
	factName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	reasonCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// Compile makes a rubric from the members facts and rubric of a claim type, and notes
// everything that is wrong with them in c; at is the pointer of their parent. It returns
// nil when something is wrong or there are no rules.
func Compile(v jsontext.Value, at string, c *fault.Checks) *Rubric {
	var raw struct {
		Facts  jsontext.Value `json:"facts"`
		Rubric jsontext.Value `json:"rubric"`
	}
	if json.Unmarshal(v, &raw) != nil || len(raw.Rubric) == 0 || raw.Rubric.Kind() == 'n' {
		return nil
	}
	var own fault.Checks
	doc := Document{Facts: read[Fact](raw.Facts, at+"/facts", maxFacts, &own), Rubric: read[Rule](raw.Rubric, at+"/rubric", maxRules, &own)}
	if len(doc.Rubric) == 0 && own.OK() {
		return nil
	}
	checkFacts(doc.Facts, at+"/facts", &own)
	checkRules(doc.Rubric, at+"/rubric", &own)
	out := &Rubric{facts: doc.Facts}
	if own.OK() {
		out.compile(doc.Rubric, at+"/rubric", &own)
	}
	for _, f := range own.Fields() {
		c.Add(f.Pointer, f.Code, f.Detail)
	}
	if !own.OK() {
		return nil
	}
	out.hash = hashOf(doc)
	return out
}

// read reads a list of at most so many objects without unknown members.
func read[T any](v jsontext.Value, at string, most int, c *fault.Checks) []T {
	var raw []jsontext.Value
	if len(v) == 0 || v.Kind() == 'n' {
		return nil
	}
	if json.Unmarshal(v, &raw) != nil {
		c.Add(at, "wrong_type", "The value must be an array of objects.")
		return nil
	}
	if len(raw) > most {
		c.Add(at, "too_many", fmt.Sprintf("There may be at most %d.", most))
		return nil
	}
	out := make([]T, len(raw))
	for i, e := range raw {
		if err := json.Unmarshal(e, &out[i], json.RejectUnknownMembers(true)); err != nil {
			c.Add(fmt.Sprintf("%s/%d", at, i), "wrong_type", "The value is not of the form that is documented: a member is unknown or of the wrong type.")
		}
	}
	return out
}

func checkFacts(facts []Fact, at string, c *fault.Checks) {
	seen := map[string]bool{}
	for i, f := range facts {
		here := fmt.Sprintf("%s/%d", at, i)
		if !factName.MatchString(f.ID) {
			c.Add(here+"/id", "invalid_name", "A fact is a word of at most 64 letters, digits and _ that begins with a letter or _.")
		} else if seen[f.ID] {
			c.Add(here+"/id", "duplicate", "Another fact has this id.")
		}
		seen[f.ID] = true
		if _, ok := factTypes[f.Type]; !ok {
			c.Add(here+"/type", "not_allowed", "The value must be number, text, boolean, date or choice.")
		}
		if f.Type == "choice" && len(f.Values) == 0 || len(f.Values) > maxValues {
			c.Add(here+"/values", "required", fmt.Sprintf("Name 1 to %d values of the choice.", maxValues))
		}
		if !(f.Confidence >= 0 && f.Confidence <= 1) {
			c.Add(here+"/confidence", "out_of_range", "The value must be a number from 0 to 1.")
		}
		check.Optional(c, here+"/unit", f.Unit, 50)
		check.Optional(c, here+"/source", f.Source, 200)
		check.Optional(c, here+"/description", f.Description, check.MaxReason)
	}
}

func checkRules(rules []Rule, at string, c *fault.Checks) {
	seen, before := map[string]bool{}, 0
	for i, r := range rules {
		here := fmt.Sprintf("%s/%d", at, i)
		if !reasonCode.MatchString(r.ID) {
			c.Add(here+"/id", "invalid_name", "The value must be 1 to 64 letters, digits, -, _ and dots.")
		} else if seen[r.ID] {
			c.Add(here+"/id", "duplicate", "Another rule has this id.")
		}
		seen[r.ID] = true
		n := slices.IndexFunc(stages, func(s stage) bool { return s.name == r.Stage })
		switch {
		case n < 0:
			c.Add(here+"/stage", "not_allowed", "The value must be one of "+stageNames()+".")
		case n < before:
			c.Add(here+"/stage", "out_of_order", "This stage comes before that of an earlier rule. Their order is "+stageNames()+".")
		default:
			before = n
			checkThen(r.Then, stages[n], here+"/then", c)
		}
		check.Optional(c, here+"/text", r.Text, check.MaxReason)
	}
}

func checkThen(t Then, s stage, at string, c *fault.Checks) {
	if !slices.Contains(s.outcomes, t.Outcome) {
		c.Add(at+"/outcome", "not_allowed", "A rule of the stage "+s.name+" comes to "+words(s.outcomes)+".")
	}
	if !reasonCode.MatchString(t.ReasonCode) {
		c.Add(at+"/reasonCode", "required", "Give a code of 1 to 64 letters, digits, -, _ and dots.")
	}
	if partial := t.Outcome == Partial; partial && t.Amount == "" {
		c.Add(at+"/amount", "required", "Say how much is approved, as an expression such as claim.amount * 0.5.")
	} else if !partial && t.Amount != "" {
		c.Add(at+"/amount", "not_allowed", "Only a partial outcome has an amount of its own.")
	}
}

func stageNames() string {
	names := make([]string, len(stages))
	for i, s := range stages {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

func words(all []Outcome) string {
	out := make([]string, len(all))
	for i, o := range all {
		out[i] = string(o)
	}
	return strings.Join(out, " or ")
}

// Rule finds a rule by its id; false when there is none.
func (r *Rubric) Rule(id string) (Rule, bool) {
	for i := range r.rules {
		if r.rules[i].ID == id {
			return r.rules[i].Rule, true
		}
	}
	return Rule{}, false
}
