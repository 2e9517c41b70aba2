package answer

import (
	"math"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/rql"
	forms "github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Plan says which questions of a form become rows, and how. Make it once for
// each form.
type Plan struct{ root *place }

// NewPlan reads a form.
func NewPlan(f *forms.Form) *Plan {
	p := &Plan{root: &place{kids: map[string]*place{}}}
	for _, c := range f.Columns() {
		as := formOf(c.Kind)
		if c.PII.Private() || c.Serial || as == 0 {
			continue
		}
		p.at(c.Path).form = as
		for _, path := range c.Repeats {
			p.at(path).form = nothing
		}
		if c.Kind.NoAnswer {
			path := c.Path
			if c.Kind.Rows {
				path = path[:len(path)-1]
			}
			p.at(append(path[:len(path):len(path)], NoAnswer)).form = option
		}
	}
	return p
}

// formOf is how answers of a kind become rows; 0 when they do not.
func formOf(k *forms.Kind) form {
	switch {
	case k.Calculated:
		return number | boolean
	case k.CEL == cel.Boolean:
		return boolean
	case k.CEL == cel.Number:
		return number
	case k.CEL == cel.Instant && k.Day:
		return day
	case k.CEL == cel.Instant:
		return moment
	case k.Clock:
		return clock
	case k.Units:
		return amount
	case k.Ordered:
		return rank
	case k.Several:
		return several
	case k.Options:
		return option
	}
	return 0
}

// at is the place of a path, made if need be.
func (p *Plan) at(path []string) *place {
	at := p.root
	for _, name := range path {
		k := at.kids[name]
		if k == nil {
			k = at.below(name)
			at.kids[name] = k
		}
		at = k
	}
	return at
}

// Rows makes the rows of a response's public answers.
func (p *Plan) Rows(survey int64, answers []byte) ([]Row, error) {
	return p.root.read(survey, answers)
}

// Span is a range of rows that match a term of a filter.
type Span struct {
	QID       int64
	Code      string
	Low, High float64
}

// One reports whether all rows of the span have the same value, so that they are
// in the order of responses.
func (s Span) One() bool { return s.Low == s.High }

// Spans returns the ranges with the rows of all responses that match a term of a
// filter, and of some that do not. It returns false when rows cannot answer the
// term.
func (p *Plan) Spans(survey int64, e *rql.Expr) ([]Span, bool) {
	if len(e.Field) < 2 || e.Field[0] != "responses" {
		return nil, false
	}
	at := p.root
	for _, name := range e.Field[1:] {
		if at = at.kids[name]; at == nil {
			return nil, false
		}
	}
	out := Span{QID: at.id ^ survey, Low: -math.MaxFloat64, High: math.MaxFloat64}
	switch e.Op {
	case rql.Eq, rql.In:
		return at.equal(out, e.Values)
	case rql.Lt, rql.Le:
		num, ok := at.ordered(e.Values[0].V)
		out.High = num
		return []Span{out}, ok
	case rql.Gt, rql.Ge:
		num, ok := at.ordered(e.Values[0].V)
		out.Low = num
		return []Span{out}, ok
	}
	return nil, false
}

// equal are the spans of values, based on s. Values of another kind than the
// answers fit nothing.
func (p *place) equal(s Span, values []rql.Value) (out []Span, ok bool) {
	if p.form == 0 || p.form&(rank|nothing) != 0 {
		return nil, false
	}
	for _, v := range values {
		s.Code, s.Low = "", 0
		switch v := v.V.(type) {
		case float64:
			s.Low, ok = v, p.form&number != 0
		case bool:
			s.Code, s.Low = flag(v)
			ok = p.form&boolean != 0
		case string:
			if p.form&number != 0 && p.form&boolean != 0 {
				return nil, false // texts that are calculated are not kept
			}
			s.Code, ok = v, p.form&(option|several) != 0
			for _, as := range times {
				if num, is := p.form.time(as, v); is {
					s.Code, s.Low, ok = "", num, true
				}
			}
		default: // null fits what has no answer
			return nil, false
		}
		if s.High = s.Low; ok {
			out = append(out, s)
		}
	}
	return out, true
}

// ordered converts a bound of a filter to the form of rows. Days compare as
// texts, whose order is right; moments in different zones do not.
func (p *place) ordered(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, p.form == number
	case string:
		return p.form.time(day, v)
	}
	return 0, false
}
