package emission

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The kinds of inputs.
const (
	asQuantity = "quantity"
	asEstimate = "estimate"
	asChoice   = "choice"
	asList     = "list"
)

const (
	required = "required"
	optional = "optional"
	maxItems = 20
)

// field is an input of a module.
type field struct {
	api.EmissionField
	items []field
}

// share is a field for a fraction of 0 to 1.
func share(name, symbol, about string) field {
	return field{EmissionField: api.EmissionField{Name: name, Symbol: symbol, Kind: asQuantity, Most: 1, About: about}}
}

// amount is a field for a quantity of 0 to most.
func amount(name, symbol, unit string, most float64, about string) field {
	return field{EmissionField: api.EmissionField{Name: name, Symbol: symbol, Kind: asQuantity, Unit: unit, Most: most, About: about}}
}

// choice is a field for one of some words, the first of which is usual.
func choice(name, about string, words ...string) field {
	return field{EmissionField: api.EmissionField{Name: name, Kind: asChoice, Choices: words, Usual: words[0], Optional: true, About: about}}
}

// list is a field for items.
func list(name, about string, items ...field) field {
	return field{api.EmissionField{Name: name, Kind: asList, About: about}, items}
}

func (f field) positive() field { f.Positive = true; return f }
func (f field) free() field     { f.Optional = true; return f }

// sampled makes an estimate of a quantity; must says whether its sample has to be
// there.
func (f field) sampled(must string) field {
	f.Kind, f.Sampled = asEstimate, must
	return f
}

// must makes a choice required.
func (f field) must() field {
	f.Usual, f.Optional = "", false
	return f
}

// shown is the field as the API describes it.
func (f field) shown() api.EmissionField {
	out := f.EmissionField
	for _, i := range f.items {
		e := i.EmissionField
		out.Items = append(out.Items, api.EmissionPlain{
			Name: e.Name, Symbol: e.Symbol, Kind: e.Kind, Unit: e.Unit, Least: e.Least, Most: e.Most, Positive: e.Positive, Optional: e.Optional,
			Sampled: e.Sampled, Choices: e.Choices, Usual: e.Usual, About: e.About,
		})
	}
	return out
}

// input is the value given for a field.
type input struct {
	given  bool
	at     string // pointer
	symbol string
	unit   string
	quantity
	sample *sample
	choice string
	items  []inputs
}

// inputs holds the inputs of a module, or of one item, by name.
type inputs map[string]input

// sample is how an estimate came about: n and sd, or an interval.
type sample struct {
	n         float64 // 0 when unknown
	sd        quantity
	low, high *quantity
}

// reader reads inputs and notes everything that is wrong with them.
type reader struct {
	c         *fault.Checks
	estimates map[string]api.EmissionEstimate
}

// read reads the values given for fields. at is the pointer of the object.
func (r reader) read(at string, fields []field, given map[string]api.EmissionInput) inputs {
	out := inputs{}
	for _, f := range fields {
		in, ok := given[f.Name]
		here := at + "/" + f.Name
		switch {
		case !ok && !f.Optional:
			r.c.Add(here, "required", "The module needs "+f.Name+": "+f.About)
		case !ok:
			out[f.Name] = input{at: here, symbol: f.Symbol, unit: f.Unit, choice: f.Usual}
		case f.Kind == asList:
			out[f.Name] = r.list(here, f, in)
		case in.Items != nil:
			r.c.Add(here+"/items", "unexpected", "This input is no list.")
		default:
			out[f.Name] = r.one(here, f, in.EmissionMember)
		}
	}
	for name := range given {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.Name == name }) {
			r.c.Add(at+"/"+escape(name), "unknown", "The module has no such input. GET /v1/emissions/modules lists those it has.")
		}
	}
	return out
}

// escape makes a name part of a pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (r reader) list(at string, f field, in api.EmissionInput) input {
	out := input{given: true, at: at}
	if in.EmissionMember != (api.EmissionMember{}) {
		r.c.Add(at, "unexpected", "This input is a list: it has items and nothing else.")
	}
	if n := len(in.Items); n == 0 || n > maxItems {
		r.c.Add(at+"/items", "out_of_range", fmt.Sprintf("The list has 1 to %d items.", maxItems))
		return out
	}
	for i, item := range in.Items {
		members := map[string]api.EmissionInput{}
		for name, m := range item {
			members[name] = api.EmissionInput{EmissionMember: m}
		}
		out.items = append(out.items, r.read(at+"/items/"+strconv.Itoa(i), f.items, members))
	}
	return out
}

// one reads a quantity, an estimate or a choice.
func (r reader) one(at string, f field, m api.EmissionMember) input {
	out := input{given: true, at: at, symbol: f.Symbol, unit: f.Unit}
	if f.Kind == asChoice {
		if out.choice = m.Choice; !slices.Contains(f.Choices, m.Choice) {
			r.c.Add(at+"/choice", "invalid", "The choice is one of "+strings.Join(f.Choices, ", ")+".")
		}
		if m.Choice = ""; m != (api.EmissionMember{}) {
			r.c.Add(at, "unexpected", "This input is a choice and nothing else.")
		}
		return out
	}
	if m.Choice != "" {
		r.c.Add(at+"/choice", "unexpected", "This input is a number with a unit, not a choice.")
	}
	ok := true
	if m.Estimate != "" {
		at, m, ok = r.named(at, m)
	}
	if !ok {
		return out
	}
	u, ok := r.unit(at, f, m)
	if !ok {
		return out
	}
	if out.quantity, ok = r.number(at+"/value", f, m.Value, u); !ok {
		return out
	}
	r.sample(at, f, m, u, &out)
	return out
}

// named is the estimate that an input names, and where it stands.
func (r reader) named(at string, m api.EmissionMember) (string, api.EmissionMember, bool) {
	e, ok := r.estimates[m.Estimate]
	name := m.Estimate
	switch m.Estimate = ""; {
	case m != (api.EmissionMember{}):
		r.c.Add(at+"/estimate", "unexpected", "An input is a value or the name of an estimate, not both.")
		return at, m, false
	case !ok:
		r.c.Add(at+"/estimate", "not_found", "The request has no estimate of this name.")
		return at, m, false
	}
	return "/estimates/" + escape(name), api.EmissionMember{Value: e.Value, Unit: e.Unit, N: e.N, SD: e.SD, Interval: e.Interval}, true
}

// unit reads the unit of an input, which must have the dimension that the module
// requires.
func (r reader) unit(at string, f field, m api.EmissionMember) (unit, bool) {
	u, err := parseUnit(m.Unit)
	want := mustUnit(f.Unit)
	name := f.Unit
	if name == "" {
		name = "a number without a unit, or in %"
	}
	switch {
	case err != nil:
		r.c.Add(at+"/unit", "unknown_unit", fault.Echo(sentence(err))+" Wanted is "+name+", or another unit of that dimension.")
	case u.dim != want.dim:
		r.c.Add(at+"/unit", "wrong_dimension", "The unit "+fault.Echo(strconv.Quote(m.Unit))+" is of another dimension. Wanted is "+name+".")
	default:
		return u, true
	}
	return u, false
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// number reads a number that is not negative and within the bounds of its field.
func (r reader) number(at string, f field, v *float64, u unit) (quantity, bool) {
	q := quantity{r: new(big.Rat), dim: u.dim}
	if v == nil {
		r.c.Add(at, "required", "The value is missing.")
		return q, false
	}
	if !(*v >= 0 && *v <= 1e15) || *v != 0 && *v < 1e-15 {
		r.c.Add(at, "out_of_range", "The value must be 0, or 1e-15 to 1e15.")
		return q, false
	}
	q.r.Mul(exactly(*v), u.size)
	switch {
	case f.Positive && q.zero():
		r.c.Add(at, "out_of_range", "The value must be above 0.")
	case f.Most > 0 && q.r.Cmp(new(big.Rat).Mul(exactly(f.Most), mustUnit(f.Unit).size)) > 0:
		r.c.Add(at, "out_of_range", "The value must be at most "+strings.TrimSpace(strconv.FormatFloat(f.Most, 'f', -1, 64)+" "+f.Unit)+".")
	default:
		return q, true
	}
	return q, false
}

// sample reads how an estimate came about.
func (r reader) sample(at string, f field, m api.EmissionMember, u unit, out *input) {
	spread := field{EmissionField: api.EmissionField{Unit: f.Unit, Most: f.Most * 1e3}}
	switch has := m.N != nil || m.SD != nil; {
	case f.Kind != asEstimate && (has || m.Interval != nil):
		r.c.Add(at, "unexpected", "The module takes this input as a number: it has no n, sd or interval.")
	case has && m.Interval != nil:
		r.c.Add(at+"/interval", "unexpected", "An estimate has n and sd, or an interval, not both.")
	case m.Interval != nil:
		out.sample = r.interval(at+"/interval", spread, *m.Interval, u, out.quantity)
	case m.SD != nil:
		sd, ok := r.number(at+"/sd", spread, m.SD, u)
		s := &sample{sd: sd}
		if m.N != nil {
			s.n = *m.N
			if ok = *m.N >= 2 && *m.N <= 1e9 && *m.N == float64(int64(*m.N)); !ok {
				r.c.Add(at+"/n", "out_of_range", "The size of a sample is a whole number, at least 2.")
			}
		}
		if ok {
			out.sample = s
		}
	case m.N != nil:
		r.c.Add(at+"/sd", "required", "An estimate with n has sd too.")
	case f.Sampled == required:
		r.c.Add(at, "sample_required", "The module tests the precision of this estimate: it needs n and sd, or an interval.")
	}
}

// interval reads the interval of an estimate, which must contain it.
func (r reader) interval(at string, f field, in api.EmissionInterval, u unit, v quantity) *sample {
	if in.Confidence == nil || *in.Confidence != 0.9 {
		r.c.Add(at+"/confidence", "out_of_range", "The interval must have a confidence of 0.9.")
	}
	low, lowOK := r.number(at+"/low", f, in.Low, u)
	high, highOK := r.number(at+"/high", f, in.High, u)
	if lowOK && highOK && (low.above(v) || v.above(high)) {
		r.c.Add(at, "out_of_range", "The value must lie in its interval.")
	}
	return &sample{low: &low, high: &high}
}
