package emission

import (
	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// sheet is a calculation under way: what came in, and the steps so far.
type sheet struct {
	inputs
	span      span
	options   api.EmissionOptions
	c         *fault.Checks // what only the formulas find wrong
	steps     []api.EmissionStep
	decisions []api.EmissionDecision
}

// line is a quantity with its name and the unit it is shown in.
type line struct {
	symbol, unit string
	quantity
}

// as names a quantity.
func as(symbol, unit string, q quantity) line { return line{symbol, unit, q} }

// get is an input as it stands in formulas. One that was not given is 0.
func (in inputs) get(name string) line {
	i := in[name]
	if !i.given {
		return as(i.symbol, i.unit, quantity{of("0", i.unit).r, mustUnit(i.unit).dim})
	}
	return as(i.symbol, i.unit, i.quantity)
}

// named is get with a part added to the symbol: NCV becomes NCV_wood.
func (in inputs) named(name, part string) line {
	l := in.get(name)
	l.symbol += "_" + part
	return l
}

func (l line) term() api.EmissionTerm {
	return api.EmissionTerm{Symbol: l.symbol, Value: l.in(l.unit), Unit: l.unit}
}

// step notes a step that makes l of from, and gives l back.
func (s *sheet) step(l line, formula string, from ...line) line {
	return s.noted(l, formula, "", from...)
}

// noted is step with a note for people.
func (s *sheet) noted(l line, formula, note string, from ...line) line {
	st := api.EmissionStep{Symbol: l.symbol, Formula: formula, Inputs: []api.EmissionTerm{}, Value: l.in(l.unit), Unit: l.unit, Note: note}
	for _, f := range from {
		st.Inputs = append(st.Inputs, f.term())
	}
	s.steps = append(s.steps, st)
	return l
}

// decide notes what a rule came to.
func (s *sheet) decide(rule, symbol, outcome, words string) {
	s.decisions = append(s.decisions, api.EmissionDecision{Rule: rule, Symbol: symbol, Outcome: outcome, Words: words})
}

// outcome is what a module comes to. What it does not know is nil.
type outcome struct{ baseline, activity, leakage, reductions *line }
