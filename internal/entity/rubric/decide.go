package rubric

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Claim is the part of a claim that rules see.
type Claim struct {
	Kind, Subject, Claimant string
	Amount                  float64
	Unit                    string
	PeriodStart, PeriodEnd  time.Time // zero: none
	Evidence                int
	Submitted               time.Time
}

// Known is a fact and how it was found.
type Known struct {
	Value      jsontext.Value `json:"value"`
	Confidence *float64       `json:"confidence,omitzero"` // nil: certain
}

// Step is a rule that was evaluated.
type Step struct {
	Rule  string `json:"rule"`
	Stage string `json:"stage"`
	Held  bool   `json:"held"`
	Why   string `json:"why,omitzero"` // it could not be decided
}

// Decision is the result of a rubric for a claim.
type Decision struct {
	Outcome    Outcome
	ReasonCode string
	Rule       string  // the one that decided; "" for none
	Amount     float64 // that is approved
	Missing    []string
	Steps      []Step
}

// Decide evaluates the rules one after the other; the first that holds decides. A rule
// that cannot be evaluated, an invalid amount and a claim to which no rule applies are
// left to people: nothing is approved by accident. Facts that do not fit their
// declaration are a fault CLAIM_FACTS_INVALID.
//
// A fact that is less certain than required counts as missing. That never helps the
// claimant: if the claim would come to less with the fact, nothing is approved without
// it.
func (r *Rubric) Decide(claim Claim, given map[string]Known) (Decision, error) {
	known, doubted, err := r.values(given)
	if err != nil {
		return Decision{}, err
	}
	d := r.ask(claim, known)
	if doubted == nil || d.Outcome != Approved && d.Outcome != Partial {
		return d, nil
	}
	if with := r.ask(claim, *doubted); with.Outcome != d.Outcome || with.Amount < d.Amount {
		d.Outcome, d.ReasonCode, d.Rule, d.Amount = Manual, Undecided, with.Rule, 0
	}
	return d, nil
}

// findings are the values of facts in their order, null for those that are missing.
type findings struct {
	values  []cel.Value
	missing []string
}

// ask asks the rules one after the other.
func (r *Rubric) ask(claim Claim, k findings) Decision {
	values, missing := k.values, k.missing
	vars := scope{claim: &cel.Record{Shape: r.claim, Members: claim.members()}, facts: &cel.Record{Shape: r.known, Members: members(values)}}
	d := Decision{Outcome: Manual, ReasonCode: NoRule, Missing: missing, Steps: make([]Step, 0, len(r.rules))}
	for i := range r.rules {
		each := &r.rules[i]
		held, _, err := each.when.Holds(vars)
		step := Step{Rule: each.ID, Stage: each.Stage, Held: held}
		if err != nil {
			step.Why = why(each, missing)
			d.Steps = append(d.Steps, step)
			d.Rule, d.ReasonCode = each.ID, Undecided
			return d
		}
		d.Steps = append(d.Steps, step)
		if held {
			d.Rule, d.Outcome, d.ReasonCode = each.ID, each.Then.Outcome, each.Then.ReasonCode
			d.settle(each, claim, vars)
			return d
		}
	}
	return d
}

// settle finds the amount of a decision.
func (d *Decision) settle(r *rule, claim Claim, vars scope) {
	switch d.Outcome {
	case Approved:
		d.Amount = claim.Amount
	case Partial:
		v, _, err := r.amount.Eval(vars)
		exact, ok := number(v)
		n := Round(exact)
		if exact <= claim.Amount {
			n = min(n, claim.Amount)
		}
		if err != nil || !ok || math.IsNaN(n) || n <= 0 || n > claim.Amount {
			d.Outcome, d.ReasonCode = Manual, BadAmount
			return
		}
		d.Amount = n
	}
}

// decimals is how many decimal places a computed amount has. Further ones are
// artefacts of floating point: 0.1 × 0.7 is 0.07.
const decimals = 9

// Round rounds an amount for a decision, half to even.
func Round(amount float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(amount, 'f', decimals, 64), 64)
	if err != nil {
		return amount
	}
	return out
}

// SameAmount reports whether a stored amount equals the one decided now. Older
// amounts may have been stored unrounded.
func SameAmount(stored, decided float64) bool { return stored == decided || Round(stored) == decided }

func number(v cel.Value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	switch n := v.Value().(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	}
	return 0, false
}

// why says which facts a rule lacks.
func why(r *rule, missing []string) string {
	for _, name := range r.asks {
		if slices.Contains(missing, name) {
			return "The fact " + name + " is missing."
		}
	}
	return "It cannot be evaluated with these facts."
}

// values checks the given facts against the declarations. Facts that are missing, or less
// certain than required, are null; doubted contains the uncertain values too. doubted is
// nil when all are certain.
func (r *Rubric) values(given map[string]Known) (sure findings, doubted *findings, err error) {
	var c fault.Checks
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(r.facts, func(f Fact) bool { return f.ID == name }) {
			c.Add("/facts/"+check.Escape(name), "unknown", "The rubric knows no such fact.")
		}
	}
	sure.values = make([]cel.Value, len(r.facts))
	said := findings{values: make([]cel.Value, len(r.facts))}
	for i := range r.facts {
		f := &r.facts[i]
		k, ok := given[f.ID]
		sure.values[i], said.values[i] = cel.Null, cel.Null
		at := "/facts/" + check.Escape(f.ID)
		if k.Confidence != nil && !(*k.Confidence >= 0 && *k.Confidence <= 1) {
			c.Add(at+"/confidence", "out_of_range", "The value must be a number from 0 to 1.")
		}
		certain := k.Confidence == nil || *k.Confidence >= f.Confidence
		empty := !ok || len(k.Value) == 0 || k.Value.Kind() == 'n'
		if empty || !certain {
			sure.missing = append(sure.missing, f.ID)
		}
		if empty {
			said.missing = append(said.missing, f.ID)
			continue
		}
		v, err := factTypes[f.Type].value(f, k.Value)
		if err != nil {
			c.Add(at+"/value", "wrong_type", sentence(err))
			continue
		}
		if said.values[i] = v; certain {
			sure.values[i] = v
		}
	}
	if len(said.missing) < len(sure.missing) {
		doubted = &said
	}
	return sure, doubted, c.Err("CLAIM_FACTS_INVALID", "The facts do not fit the rubric.")
}

// members are the values of a record by their places.
type members []cel.Value

// Member is the value at a place.
func (m members) Member(i int) cel.Value { return m[i] }

// Answered reports whether there is any.
func (m members) Answered() bool { return len(m) > 0 }

// members returns the values of claimFields.
func (c Claim) members() members {
	days := cel.Null
	if !c.PeriodStart.IsZero() && !c.PeriodEnd.IsZero() {
		days = cel.NumberValue(math.Floor(c.PeriodEnd.Sub(c.PeriodStart).Hours()/24) + 1)
	}
	return members{
		cel.TextValue(c.Kind), cel.TextValue(c.Subject), cel.TextValue(c.Claimant), cel.NumberValue(c.Amount), cel.TextValue(c.Unit),
		instant(c.PeriodStart), instant(c.PeriodEnd), days, cel.NumberValue(float64(c.Evidence)), instant(c.Submitted),
	}
}

func instant(t time.Time) cel.Value {
	if t.IsZero() {
		return cel.Null
	}
	return cel.InstantValue(t)
}

// scope gives the two records to a rule.
type scope struct{ claim, facts *cel.Record }

// Parent returns nil: there is none.
func (s scope) Parent() cel.Vars { return nil }

// ResolveName gives a record.
func (s scope) ResolveName(name string) (any, bool) {
	switch name {
	case claimName:
		return s.claim, true
	case factsName:
		return s.facts, true
	}
	return nil, false
}
