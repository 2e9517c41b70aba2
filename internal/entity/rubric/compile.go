package rubric

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// factType is the type of a fact: how rules see it, and which values are valid.
type factType struct {
	cel   cel.Type
	value func(f *Fact, v jsontext.Value) (cel.Value, error)
}

var factTypes = map[string]factType{
	"number":  {cel.Number, numberFact},
	"text":    {cel.Text, textFact},
	"boolean": {cel.Boolean, booleanFact},
	"date":    {cel.Any, dateFact}, // a point in time, or null
	"choice":  {cel.Text, choiceFact},
}

func numberFact(_ *Fact, v jsontext.Value) (cel.Value, error) {
	var n float64
	if v.Kind() != '0' || json.Unmarshal(v, &n) != nil || math.IsInf(n, 0) {
		return nil, errors.New("the value must be a number")
	}
	return cel.NumberValue(n), nil
}

func textFact(_ *Fact, v jsontext.Value) (cel.Value, error) {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return nil, errors.New("the value must be a text")
	}
	return cel.TextValue(s), nil
}

func booleanFact(_ *Fact, v jsontext.Value) (cel.Value, error) {
	if k := v.Kind(); k != 't' && k != 'f' {
		return nil, errors.New("the value must be true or false")
	}
	return cel.BooleanValue(v.Kind() == 't'), nil
}

func dateFact(_ *Fact, v jsontext.Value) (cel.Value, error) {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
		for _, layout := range []string{time.DateOnly, time.RFC3339} {
			if t, err := time.Parse(layout, s); err == nil {
				return cel.InstantValue(t), nil
			}
		}
	}
	return nil, errors.New("the value must be a date such as 2026-03-01, or a time")
}

func choiceFact(f *Fact, v jsontext.Value) (cel.Value, error) {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil || !slices.Contains(f.Values, s) {
		return nil, errors.New("the value must be one of " + strings.Join(f.Values, ", "))
	}
	return cel.TextValue(s), nil
}

// claimFields are what rules may ask about a claim, in the order of claimValues.
var claimFields = []cel.Field{
	{Name: "kind", Type: cel.Text},
	{Name: "subject", Type: cel.Text},
	{Name: "claimant", Type: cel.Text},
	{Name: "amount", Type: cel.Number},
	{Name: "unit", Type: cel.Text},
	{Name: "periodStart", Type: cel.Any},
	{Name: "periodEnd", Type: cel.Any},
	{Name: "days", Type: cel.Number},
	{Name: "evidence", Type: cel.Number},
	{Name: "submitted", Type: cel.Any},
}

// names of the two records that rules see.
const (
	claimName = "claim"
	factsName = "facts"
)

// compile makes programs of the rules.
func (r *Rubric) compile(rules []Rule, at string, c *fault.Checks) {
	claim, facts := cel.NewShape(claimName), cel.NewShape(factsName)
	for _, f := range claimFields {
		claim.Add(f.Name, f.Type)
	}
	for _, f := range r.facts {
		facts.Add(f.ID, factTypes[f.Type].cel)
	}
	r.claim, r.known = claim, facts
	env, err := cel.NewEnv([]*cel.Shape{claim, facts}, []cel.Variable{{Name: claimName, Type: cel.RecordOf(claim)}, {Name: factsName, Type: cel.RecordOf(facts)}})
	if err != nil {
		c.Add(at, "invalid", "The rules cannot be read: "+err.Error())
		return
	}
	for i, each := range rules {
		here := fmt.Sprintf("%s/%d", at, i)
		out := rule{Rule: each}
		source, err := r.condition(each.When)
		if err != nil {
			c.Add(here+"/when", "invalid", sentence(err))
			continue
		}
		if out.when, err = env.Compile(source, known, cel.Condition); err != nil {
			c.Add(here+"/when", "invalid_expression", sentence(err))
			continue
		}
		if each.Then.Amount != "" {
			if out.amount, err = env.Compile(each.Then.Amount, known, cel.Result); err != nil {
				c.Add(here+"/then/amount", "invalid_expression", sentence(err))
				continue
			}
		}
		out.asks = r.asked(facts, out.when, out.amount)
		r.rules = append(r.rules, out)
	}
}

// condition is the expression of a rule: its own, or that a fact has a value.
func (r *Rubric) condition(v jsontext.Value) (string, error) {
	var source string
	if v.Kind() == '"' && json.Unmarshal(v, &source) == nil && strings.TrimSpace(source) != "" {
		return source, nil
	}
	var f struct {
		Fact   string         `json:"fact"`
		Equals jsontext.Value `json:"equals"`
	}
	if v.Kind() != '{' || json.Unmarshal(v, &f, json.RejectUnknownMembers(true)) != nil {
		return "", errors.New("give an expression, or an object {fact, equals}")
	}
	i := slices.IndexFunc(r.facts, func(o Fact) bool { return o.ID == f.Fact })
	if i < 0 {
		return "", fmt.Errorf("there is no fact %q", f.Fact)
	}
	fact := &r.facts[i]
	if _, err := factTypes[fact.Type].value(fact, f.Equals); err != nil {
		return "", fmt.Errorf("equals does not fit the fact %s: %w", fact.ID, err)
	}
	name := factsName + "." + fact.ID
	if fact.Type == "date" {
		return fmt.Sprintf("%s != null && %s == moment(%s)", name, name, quoted(f.Equals)), nil
	}
	return name + " == " + quoted(f.Equals), nil
}

// quoted writes a JSON value as CEL.
func quoted(v jsontext.Value) string {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
		return strconv.Quote(s)
	}
	return string(v)
}

// known looks a name up.
func known(name string) (cel.Ref, error) {
	if name == claimName || name == factsName {
		return cel.Ref{Var: name}, nil
	}
	return cel.Ref{}, fmt.Errorf("%s is not known; there are %s and %s, such as %s.amount", name, claimName, factsName, claimName)
}

// asked are the facts that programs read.
func (r *Rubric) asked(facts *cel.Shape, programs ...*cel.Program) []string {
	var out []string
	for _, p := range programs {
		if p == nil {
			continue
		}
		for _, u := range p.Uses() {
			if u.Shape == facts && u.Field >= 0 && !slices.Contains(out, r.facts[u.Field].ID) {
				out = append(out, r.facts[u.Field].ID)
			}
		}
	}
	return out
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// hashOf identifies a rubric by its content, independent of the order of members and
// of white space.
func hashOf(d Document) string {
	raw, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	v := jsontext.Value(raw)
	if v.Canonicalize() != nil {
		return ""
	}
	sum := sha256.Sum256(v)
	return hex.EncodeToString(sum[:])
}
