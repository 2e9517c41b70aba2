package form

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/check"
)

func (d *differ) questions(at string, a, b []Question) {
	compare(d, at, a, b, comparison[Question]{
		what: "question", id: func(q *Question) string { return q.ID }, ordered: true, both: d.question,
		gone: func(q *Question) bool { return !KindOf(q.Type).Shown }, fresh: func(q *Question) bool { return demands([]Question{*q}) },
	})
}

func (d *differ) question(at string, a, b *Question) {
	if a.Type != b.Type {
		wider := KindOf(b.Type).Takes == a.Type
		d.changed(at+"/type", true, !wider, fmt.Sprintf("The type went from %s to %s.", a.Type, b.Type))
	}
	d.changed(at+"/name", a.Name != b.Name, false, "The name that other programs use for it changed.")
	d.changed(at+"/label", !maps.Equal(a.Label, b.Label), false, "The label changed.")
	d.changed(at+"/hint", !maps.Equal(a.Hint, b.Hint), false, "The hint changed.")
	d.changed(at+"/constraintMessage", !maps.Equal(a.ConstraintMessage, b.ConstraintMessage), false, "The message of the constraint changed.")
	d.changed(at+"/required", a.Required != b.Required, !b.Required.IsZero() && !a.Required.Always, "The condition for a required answer changed.")
	d.relevant(at, a.Relevant, b.Relevant, demands([]Question{*b}))
	d.changed(at+"/constraint", a.Constraint != b.Constraint, b.Constraint != "", "The constraint changed.")
	d.changed(at+"/choiceFilter", a.ChoiceFilter != b.ChoiceFilter, b.ChoiceFilter != "", "The rule for the options that are offered changed.")
	d.changed(at+"/optionsFrom", !alike(a.OptionsFrom, b.OptionsFrom), true, "The file of the options changed.")
	d.changed(at+"/calculate", a.Calculate != b.Calculate, true, "The calculation changed.")
	d.changed(at+"/once", a.Once != b.Once, true, "The rule whether a correction keeps the value changed.")
	d.changed(at+"/unit", a.Unit != b.Unit, true, fmt.Sprintf("The unit went from %q to %q.", a.Unit, b.Unit))
	d.set(at+"/units", a.Units, b.Units, setRule{removed: true})
	d.changed(at+"/pii", a.PII.Private() != b.PII.Private(), true, "The mark of personal answers changed: exports without personal data differ.")
	d.changed(at+"/pii", a.PII.Private() == b.PII.Private() && cmp.Or(a.PII, PIINone) != cmp.Or(b.PII, PIINone), false, "The kind of personal data changed.")
	d.set(at+"/indicators", a.Indicators, b.Indicators, setRule{})
	d.changed(at+"/backCheckClass", a.BackCheckClass != b.BackCheckClass, false, "The class of the back-check changed.")
	d.changed(at+"/default", !check.SameJSON(a.Default.Value, b.Default.Value), false, "The default changed.")
	d.changed(at+"/readOnly", a.ReadOnly != b.ReadOnly, false, "The read-only mark changed.")
	d.changed(at+"/list", a.List != b.List, false, "The entity list it is answered from changed.")
	d.changed(at+"/saveTo", a.SaveTo != b.SaveTo, false, "The property that the answer becomes changed.")
	d.allowed(at, a, b)
	d.options(at+"/options", a.Options, b.Options, KindOf(b.Type).Ordered) // an order has all of them
	d.options(at+"/rows", a.Rows, b.Rows, !b.Required.IsZero())
	d.validation(at+"/validation", a.Validation, b.Validation)
	d.repeats(at, a, b)
	d.questions(at+"/questions", a.Questions, b.Questions)
}

// allowed compares what may be given besides an answer.
func (d *differ) allowed(at string, a, b *Question) {
	d.changed(at+"/other", a.Other != b.Other, a.Other, "The rule for answers outside the options changed.")
	d.changed(at+"/dontKnow", a.DontKnow != b.DontKnow, a.DontKnow, "The rule for not knowing as an answer changed.")
	d.changed(at+"/refuse", a.Refuse != b.Refuse, a.Refuse, "The rule for refusing to answer changed.")
}

func (d *differ) repeats(at string, a, b *Question) {
	d.changed(at+"/minRepeats", a.MinRepeats != b.MinRepeats, b.MinRepeats > a.MinRepeats, "The least number of elements changed.")
	most := func(q *Question) int {
		if q.MaxRepeats == 0 {
			return MaxRepeats
		}
		return q.MaxRepeats
	}
	d.changed(at+"/maxRepeats", most(a) != most(b), most(b) < most(a), "The largest number of elements changed.")
}

// options compares options or rows. needed says that an answer has all.
func (d *differ) options(at string, a, b []Option, needed bool) {
	compare(d, at, a, b, comparison[Option]{
		what: "value", id: func(o *Option) string { return o.Value }, ordered: true,
		gone: func(*Option) bool { return true }, fresh: func(*Option) bool { return needed },
		both: func(at string, was, o *Option) {
			d.changed(at+"/label", !maps.Equal(was.Label, o.Label), false, "The label changed.")
			d.changed(at+"/exclusive", was.Exclusive != o.Exclusive, o.Exclusive, "The rule for choosing it only alone changed.")
			d.changed(at+"/data", !slices.EqualFunc(was.Data, o.Data, maps.Equal), true, "The condition for offering it changed.")
			d.changed(at+"/score", !alike(was.Score, o.Score), true, "The score changed.")
		},
	})
}

func (d *differ) validation(at string, a, b Validation) {
	d.changed(at+"/min", !alike(a.Min, b.Min), b.Min != nil && (a.Min == nil || *b.Min > *a.Min), "The lower bound changed.")
	d.changed(at+"/max", !alike(a.Max, b.Max), b.Max != nil && (a.Max == nil || *b.Max < *a.Max), "The upper bound changed.")
	d.changed(at+"/step", !alike(a.Step, b.Step), b.Step != nil, "The step changed.")
	d.changed(at+"/regex", a.Regex != b.Regex, b.Regex != "", "The pattern of the text changed.")
	d.limit(at+"/maxLength", a.MaxLength, b.MaxLength)
	d.changed(at+"/minSelections", a.MinSelections != b.MinSelections, b.MinSelections > a.MinSelections, "The least number of choices changed.")
	d.limit(at+"/maxSelections", a.MaxSelections, b.MaxSelections)
}

// limit compares upper limits; 0 is none.
func (d *differ) limit(at string, a, b int) {
	d.changed(at, a != b, b != 0 && (a == 0 || b < a), "The upper limit changed.")
}
