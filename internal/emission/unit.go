package emission

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// dimension is what a quantity is of: the power of each base unit.
type dimension [8]int8

// The base units. Carbon is not mass: a tonne of wood is not a tonne of CO2e.
const (
	mass      = iota // t
	energy           // TJ
	carbon           // tCO2e
	person           // person
	household        // household
	device           // device
	year             // yr
	event            // event
)

// term is one unit: its dimension, and its amount of the base unit.
type term struct {
	base int
	size string // a fraction, so that conversions are exact
}

// terms are the units there are. A year has 12 months or 365 days, which is how
// the methodologies count.
var terms = map[string]term{
	"t": {mass, "1"}, "kg": {mass, "1/1000"}, "g": {mass, "1/1000000"},
	"TJ": {energy, "1"}, "GJ": {energy, "1/1000"}, "MJ": {energy, "1/1000000"},
	"GWh": {energy, "36/10"}, "MWh": {energy, "36/10000"}, "kWh": {energy, "36/10000000"},
	"tCO2e": {carbon, "1"}, "kgCO2e": {carbon, "1/1000"}, "gCO2e": {carbon, "1/1000000"},
	"tCO2": {carbon, "1"}, "kgCO2": {carbon, "1/1000"},
	"person": {person, "1"}, "capita": {person, "1"},
	"household": {household, "1"},
	"device":    {device, "1"}, "stove": {device, "1"},
	"yr": {year, "1"}, "month": {year, "1/12"}, "day": {year, "1/365"}, "h": {year, "1/8760"},
	"event": {event, "1"}, "test": {event, "1"},
}

// Units lists the units by name.
func Units() []string { return slices.Sorted(maps.Keys(terms)) }

// unit is a product of terms and their inverses.
type unit struct {
	size *big.Rat
	dim  dimension
}

// parseUnit reads kg/household/day: the first term, over the others. Nothing,
// and 1, are no unit; % is a hundredth.
func parseUnit(text string) (unit, error) {
	out := unit{size: big.NewRat(1, 1)}
	if len(text) > 40 {
		return out, fmt.Errorf("a unit has at most 40 characters")
	}
	switch text {
	case "":
		return out, nil
	case "%":
		out.size.SetFrac64(1, 100)
		return out, nil
	}
	for i, name := range strings.Split(text, "/") {
		if i == 0 && name == "1" {
			continue
		}
		t, ok := terms[name]
		if !ok {
			return out, fmt.Errorf("there is no unit %q", name)
		}
		size, _ := new(big.Rat).SetString(t.size)
		if i == 0 {
			out.size.Mul(out.size, size)
			out.dim[t.base]++
			continue
		}
		out.size.Quo(out.size, size)
		out.dim[t.base]--
	}
	return out, nil
}

// mustUnit is parseUnit for the units of our own tables, which tests read.
func mustUnit(text string) unit {
	u, err := parseUnit(text)
	if err != nil {
		panic("emission: " + err.Error())
	}
	return u
}
