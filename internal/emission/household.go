package emission

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
)

const (
	ipcc = "IPCC 2006 Guidelines, volume 2, tables 1.2, 1.4 and 2.5; CH4 and N2O by the factors of AR5, 28 and 265"
	// HouseholdUse is the module for one household and the data of its devices.
	HouseholdUse = "household-use"
)

// usualFuel is a fuel whose emissions are known without being asked: net
// calorific value in TJ/t, CO2 and other gases in tCO2e/TJ, and whether it grows.
type usualFuel struct {
	name, ncv, co2, other string
	grows                 bool
}

var usualFuels = []usualFuel{
	{"wood", "0.0156", "112", "9.46", true},
	{"charcoal", "0.0295", "112", "5.865", true},
	{"kerosene", "0.0438", "71.9", "0.439", false},
	{"lpg", "0.0473", "63.1", "0.1665", false},
}

var (
	usualNRB   = constant{"fNRB", "0.3", "", "Fraction of biomass that is not renewable, where nobody says.", "CDM Tool 33, default value"}
	usualHours = constant{"h_b", "4", "h/day", "Hours of cooking a day before, where nobody says.", "Assumption of this module"}
)

// Fuel has the default values of a fuel, where nothing was measured.
type Fuel struct {
	Name     string
	NCV, CO2 float64 // TJ/t, and t CO2 for each TJ
	Grows    bool    // only the share that does not grow again counts
}

// UsualFuels lists the fuels with default values.
func UsualFuels() []Fuel {
	out := make([]Fuel, len(usualFuels))
	for i, f := range usualFuels {
		out[i] = Fuel{f.name, float(f.ncv), float(f.co2), f.grows}
	}
	return out
}

// UsualNRB is the default fraction of non-renewable biomass.
func UsualNRB() float64 { return float(usualNRB.number) }

// float is a constant of this file as others compute with it.
func float(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("emission: a constant is no number: " + text)
	}
	return v
}

// KnownFuel is the name of a fuel in the module household-use, "" for an unknown
// one.
func KnownFuel(word string) string {
	word = strings.ToLower(strings.Join(strings.FieldsFunc(word, func(r rune) bool { return r == ' ' || r == '-' || r == '_' }), ""))
	switch word {
	case "firewood", "fuelwood":
		return "wood"
	case "paraffin":
		return "kerosene"
	}
	for _, f := range usualFuels {
		if f.name == word {
			return word
		}
	}
	return ""
}

func householdUse() module {
	m := module{
		EmissionModule: api.EmissionModule{
			Module: HouseholdUse, Version: "1.0", Title: "One household, by the use of its stoves", Methodology: "None: a figure to look at, not for credits.",
			About: "The fuel of before, less what the hours on new stoves have displaced on days with readings. Where the old stove is watched too, the hours on both decide; " +
				"else the hours of cooking before, of which the new stoves take at most all.",
			Not: []string{
				"It does not count what the new stoves burn or draw.",
				"Days without readings save nothing.",
				"It does not count the making of charcoal.",
				"It has no sample and no interval: confidence is the part of the period that readings cover.",
			},
		},
		constants: []constant{usualNRB, usualHours},
		run:       runHousehold,
	}
	var fuels []string
	for _, f := range usualFuels {
		fuels = append(fuels, f.name)
		m.constants = append(m.constants,
			constant{"NCV_" + f.name, f.ncv, "TJ/t", "Net calorific value.", ipcc},
			constant{"EF_CO2_" + f.name, f.co2, "tCO2e/TJ", "Emission factor of CO2.", ipcc},
			constant{"EF_nonCO2_" + f.name, f.other, "tCO2e/TJ", "Emission factor of CH4 and N2O.", ipcc})
	}
	m.fields = []field{
		choice("fuel", "The fuel of before.", fuels...).must(),
		amount("consumption", "P_b", "kg/month", 1e5, "What the household burnt of it."),
		share("nonRenewable", "fNRB", "Of biomass: the fraction that is not renewable; "+usualNRB.number+" when absent.").free(),
		amount("hours", "h_b", "h/day", 24, "Hours of cooking a day before; 4 when absent.").positive().free(),
		amount("observed", "D_obs", "day", 1e4, "Days with readings."),
		list("stoves", "What each stove was used on these days.",
			amount("use", "h", "h", 1e6, "Hours of cooking."),
			choice("kind", "Whether it is a stove of before (traditional) or a new one (clean).", "clean", "traditional"),
		),
	}
	return m
}

func runHousehold(s *sheet) outcome {
	fuel := s.inputs["fuel"].choice
	f := usualFuels[slices.IndexFunc(usualFuels, func(f usualFuel) bool { return f.name == fuel })]
	nrb := s.get("nonRenewable")
	switch {
	case !f.grows:
		nrb.quantity = of("1", "")
	case !s.inputs["nonRenewable"].given:
		nrb = usualNRB.line()
		s.decide("assumption", "fNRB", "default", "The fraction of non-renewable biomass is not known: "+usualNRB.number+".")
	}
	ncv, co2, other := as("NCV", "TJ/t", of(f.ncv, "TJ/t")), as("EF_CO2", "tCO2e/TJ", of(f.co2, "tCO2e/TJ")), as("EF_nonCO2", "tCO2e/TJ", of(f.other, "tCO2e/TJ"))
	ef := s.noted(as("EF", "tCO2e/t", ncv.times(co2.times(nrb.quantity).plus(other.quantity))), "NCV × (EF_CO2 × fNRB + EF_nonCO2)", fuel, ncv, co2, nrb, other)
	p, t := s.get("consumption"), s.calendar()
	burnt := s.step(as("M_b", "kg", p.times(t.quantity)), "P_b × T", p, t)
	be := s.step(as("BE", "kgCO2e", burnt.times(ef.quantity)), "M_b × EF", burnt, ef)
	seen := s.get("observed")
	if seen.above(t.quantity) {
		s.c.Add(s.inputs["observed"].at, "out_of_range", "There are more days with readings than the period has.")
		return outcome{}
	}
	part := s.displaced(seen)
	saved := s.step(as("M_saved", "kg", burnt.times(seen.over(t.quantity)).times(part.quantity)), "M_b × D_obs / T × s", burnt, seen, t, part)
	er := s.step(as("ER", "kgCO2e", saved.times(ef.quantity)), "M_saved × EF", saved, ef)
	ae := s.step(as("AE", "kgCO2e", be.less(er.quantity)), "BE − ER", be, er)
	return outcome{&be, &ae, nil, &er}
}

// calendar is the period in days, of which a year has 365.
func (s *sheet) calendar() line {
	return as("T", "day", of("1", "day").times(plain(float64(daysOf(s.span.from, s.span.to)+1))))
}

// displaced is the share of the cooking of before that new stoves do on the days
// with readings.
func (s *sheet) displaced(seen line) line {
	clean, old := as("h_clean", "h", of("0", "h")), as("h_old", "h", of("0", "h"))
	watched := false
	for _, in := range s.inputs["stoves"].items {
		use := in.get("use")
		if in["kind"].choice == "traditional" {
			old.quantity, watched = old.plus(use.quantity), true
		} else {
			clean.quantity = clean.plus(use.quantity)
		}
	}
	out := as("s", "", of("0", ""))
	if watched {
		if all := clean.plus(old.quantity); !clean.zero() {
			out.quantity = clean.over(all)
		}
		return s.noted(out, "h_clean / (h_clean + h_old)", "the old stove is watched too", clean, old)
	}
	before := s.get("hours")
	if !s.inputs["hours"].given {
		before = usualHours.line()
		s.decide("assumption", "h_b", "default", "Nobody says how long the household cooked before, and no old stove is watched: 4 hours a day.")
	}
	if !seen.zero() {
		out.quantity = clean.over(before.times(seen.quantity)).atMost(of("1", ""))
	}
	return s.step(out, "min(1, h_clean / (h_b × D_obs))", clean, before, seen)
}
