// Package emission calculates emissions and reductions by modules, each the rules
// of one methodology in one version. A calculation shows every step with the
// values it used, and every rule that was applied. The package is mathematics: it
// stores nothing and calls nobody, and the same inputs always give the same
// steps, to the last digit. A module that would have to change gets a new
// version. A calculation is identified by the hashes of its inputs and its
// results.
//
// Every input has a unit. A unit of the wrong dimension is refused, any other is
// converted exactly. No result is negative or not a number.
package emission

import (
	"math/big"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// module is a way to calculate, in one version.
type module struct {
	api.EmissionModule
	fields    []field
	constants []constant
	run       func(s *sheet) outcome
}

// constant is a number that a module brings along.
type constant struct {
	symbol, number, unit, about, source string
}

func (c constant) line() line { return as(c.symbol, c.unit, of(c.number, c.unit)) }

// modules lists all modules; of one id the newest version comes last.
func modules() []module { return []module{smec(), mecd(), factor(), householdUse()} }

// Modules describes all modules.
func Modules() []api.EmissionModule {
	var out []api.EmissionModule
	for _, m := range modules() {
		d := m.EmissionModule
		d.Units = Units()
		for _, f := range m.fields {
			d.Inputs = append(d.Inputs, f.shown())
		}
		for _, c := range m.constants {
			d.Constants = append(d.Constants, api.EmissionConstant{Symbol: c.symbol, Value: c.line().in(c.unit), Unit: c.unit, About: c.about, Source: c.source})
		}
		out = append(out, d)
	}
	return out
}

// find is a module by its id and version; the newest where version is "".
func find(id, version string) (module, error) {
	var ids, versions []string
	var found *module
	for _, m := range modules() {
		if !slices.Contains(ids, m.Module) {
			ids = append(ids, m.Module)
		}
		if m.Module == id {
			versions = append(versions, m.Version)
			if version == "" || m.Version == version {
				found = &m
			}
		}
	}
	if found != nil {
		return *found, nil
	}
	var c fault.Checks
	if len(versions) > 0 {
		c.Add("/version", "not_found", "The module has the versions "+strings.Join(versions, ", ")+".")
	} else {
		c.Add("/module", "not_found", "The modules are "+strings.Join(ids, ", ")+".")
	}
	return module{}, c.Err("EMISSION_MODULE_UNKNOWN", "There is no such module.")
}

// maxEstimates is how many estimates a request has.
const maxEstimates = 100

// calculate makes a calculation, without hashes.
func calculate(d api.EmissionDraft) (*api.EmissionCalculation, error) {
	m, err := find(d.Module, d.Version)
	if err != nil {
		return nil, err
	}
	d.Version = m.Version
	var c fault.Checks
	s := &sheet{span: spanOf(&c, d.Period), options: options(&c, d.Options), c: &c}
	carried := brought(&c, d.Carried)
	if len(d.Estimates) > maxEstimates {
		c.Add("/estimates", "too_many", "There are at most 100 estimates.")
	}
	s.inputs = reader{&c, d.Estimates}.read("/inputs", m.fields, d.Inputs)
	if err := invalid(c); err != nil {
		return nil, err
	}
	o := m.run(s)
	if err := invalid(c); err != nil {
		return nil, err
	}
	out := &api.EmissionCalculation{Module: m.Module, Version: m.Version, Asked: d, Steps: s.steps, Decisions: s.decisions}
	if out.Decisions == nil {
		out.Decisions = []api.EmissionDecision{}
	}
	out.Result = api.EmissionResult{
		Unit: "tCO2e", Baseline: o.baseline.shown(), Activity: o.activity.shown(), Leakage: o.leakage.shown(), Reductions: *o.reductions.shown(),
	}
	issue(s.span, o.reductions.quantity, carried, &out.Result)
	return out, nil
}

func invalid(c fault.Checks) error {
	return c.Err("EMISSION_INPUT_INVALID", "The inputs of the calculation are not valid.")
}

// shown is the number in tCO2e, nil for none.
func (l *line) shown() *float64 {
	if l == nil {
		return nil
	}
	v := l.in("tCO2e")
	return &v
}

func options(c *fault.Checks, o *api.EmissionOptions) api.EmissionOptions {
	if o == nil {
		return api.EmissionOptions{}
	}
	if !slices.Contains([]string{"", "4decimals", "full"}, o.T) {
		c.Add("/options/t", "invalid", "The value is 4decimals or full.")
	}
	if !slices.Contains([]string{"", "two", "one"}, o.Tail) {
		c.Add("/options/tail", "invalid", "The value is two or one.")
	}
	return *o
}

// brought is what the calculation before has carried on, in tonnes.
func brought(c *fault.Checks, a *api.EmissionAmount) *big.Rat {
	if a == nil {
		return new(big.Rat)
	}
	f := amount("carried", "", "tCO2e", 1, "")
	r := reader{c: c}
	u, ok := r.unit("/carried", f, api.EmissionMember{Unit: a.Unit})
	if !ok {
		return new(big.Rat)
	}
	q, ok := r.number("/carried/value", f, a.Value, u)
	if ok && !of("1", "tCO2e").above(q) {
		c.Add("/carried/value", "out_of_range", "What is carried on is less than one tonne.")
	}
	return q.r
}
