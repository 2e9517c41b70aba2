package emission

import (
	"math"

	"github.com/hearth-dmrv/hearth/api"
)

const (
	smecText = "Gold Standard PAA M400-07, Simplified Methodology for Clean and Efficient Cookstoves, version 4.0"
	smecTest = smecText + ", as in its public test data (hashgraph/guardian, Methodology Library)"
)

// The constants of SMEC that formulas use.
var (
	smecCaps = map[string]constant{
		"wood":     {"P_cap_wood", "1.25", "t/person/yr", "Most wood a baseline counts for a person.", smecText},
		"charcoal": {"P_cap_charcoal", "0.40", "t/person/yr", "Most charcoal a baseline counts for a person.", smecText},
	}
	smecStudies = map[string]constant{
		"wood":     {"P_study_wood", "0.75", "t/person/yr", "Above it a study of a third party has to support the baseline.", smecText},
		"charcoal": {"P_study_charcoal", "0.20", "t/person/yr", "Above it a study of a third party has to support the baseline.", smecText},
	}
	smecLevels = map[string]constant{
		"wood":     {"P_msl_wood", "0.50", "t/person/yr", "Wood of the minimum service level.", smecText},
		"charcoal": {"P_msl_charcoal", "0.13", "t/person/yr", "Charcoal of the minimum service level.", smecText},
	}
	smecDiscount = constant{"d_msl", "0.05", "", "Taken off the minimum service level.", smecText}
	smecScale    = constant{"ER_scale", "10000", "tCO2e/yr", "Most a micro-scale activity reduces in a year.", smecText}
	embodied     = constant{"EM", "0.017", "tCO2e/device", "Emissions of making and bringing a device.", smecText + "; Gold Standard MECD 2.0"}
	market       = constant{"f_market", "0.02", "", "Leakage by markets and habits, of the difference.", smecText + "; Gold Standard MECD 2.0"}
	smecLife     = constant{"L", "5", "yr", "Years over which the emissions of a durable device are spread.", smecText}
	precise      = constant{"prec_max", tolerance, "", "Relative precision asked of a sample, at 90 % confidence.", smecTest}
)

// smec is the simplified methodology for cookstoves.
func smec() module {
	return module{
		EmissionModule: api.EmissionModule{
			Module: "gs-smec", Version: "4.0", Title: "Clean and efficient cookstoves, simplified", Methodology: smecText,
			About: "Baseline from a kitchen performance test, or from the minimum service level; 90/10 test of the samples, with the lower bound for the baseline and the upper one " +
				"for the activity where it is missed; caps for a person; downward adjustment; Hawthorne index; embodied and market leakage.",
			Not: []string{
				"It does not judge whether the methodology applies: traditional stoves, 90 % wood or charcoal, efficiency of the new stoves, displacement of the old.",
				"It takes fNRB, emission factors, calorific values and the downward adjustment as they are sent.",
				"It does not read the dates of tests: that a project test is repeated every second year is for whoever verifies.",
				"One kind of activity stove and one activity fuel in a calculation; cohorts are calculated one by one.",
			},
		},
		fields: smecFields(),
		constants: []constant{
			smecCaps["wood"], smecCaps["charcoal"], smecStudies["wood"], smecStudies["charcoal"], smecLevels["wood"], smecLevels["charcoal"],
			smecDiscount, smecScale, precise, embodied, market, smecLife,
		},
		run: runSMEC,
	}
}

func smecFields() []field {
	const households, most = "household", 1e8
	return []field{
		choice("approach", "How the baseline is known: by a kitchen performance test (kpt), or as the minimum service level (serviceLevel).", "kpt", "serviceLevel").must(),
		amount("baselineHouseholds", "N_b", households, most, "Households with a stove of before."),
		share("baselineUsage", "U_b", "Share of them that use it.").sampled(optional),
		amount("householdSize", "HN_b", "person/household", 100, "People in a household of the baseline.").positive(),
		amount("baselineSampled", "n_b", households, most, "Households of the baseline test. Where a fuel says no n, it is this times the share of the fuel, rounded down.").free(),
		share("downwardAdjustment", "DAF", "Downward adjustment of the year and country."),
		list("fuels", "The fuels of before, and that of the activity.",
			choice("fuel", "Which fuel.", "wood", "charcoal").must(),
			share("share", "s", "Share of the baseline households that use it; 0 when absent.").free(),
			amount("consumption", "P", "t/household/yr", 1e3, "What a household that uses it burns, from the baseline test.").positive().sampled(required).free(),
			amount("co2", "EF_CO2", "tCO2e/TJ", 1e4, "Emission factor of CO2."),
			amount("nonCO2", "EF_nonCO2", "tCO2e/TJ", 1e4, "Emission factor of CH4 and N2O."),
			amount("ncv", "NCV", "TJ/t", 1, "Net calorific value.").positive(),
			share("nonRenewable", "fNRB", "Fraction of non-renewable biomass."),
		),
		amount("activityHouseholds", "N_p", households, most, "Households with a stove of the activity."),
		share("activityUsage", "U_p", "Share of them that use it.").sampled(optional),
		choice("activityFuel", "The fuel of the activity, one of fuels.", "wood", "charcoal").must(),
		amount("activityConsumption", "P_p", "t/household/yr", 1e3, "What a household burns in the activity, from the project test.").positive().sampled(required),
		amount("disseminated", "N_new", "device", most, "Devices handed out in the period."),
		choice("lifetime", "Whether a device lasts less than five years (short) or not (durable).", "short", "durable").must(),
		choice("monitoring", "How use is watched: by continuous metering (dmrv), by stove-use monitors (sums), or by visits (manual).", "dmrv", "sums", "manual").must(),
		share("hawthorne", "HE", "With monitoring manual: the Hawthorne index.").free(),
		amount("eventsUnobserved", "PTC_m", "event/day", 1e4, "With monitoring sums: cooking events a day while nobody watches.").free(),
		amount("eventsObserved", "PTC_KPT", "event/day", 1e4, "With monitoring sums: cooking events a day during the test.").positive().free(),
	}
}

func runSMEC(s *sheet) outcome {
	fuels := s.fuels()
	he := s.hawthorne()
	activity, ok := fuels[s.inputs["activityFuel"].choice]
	if !ok {
		s.c.Add("/inputs/activityFuel", "not_found", "The fuel of the activity is none of fuels.")
	}
	if !s.c.OK() {
		return outcome{}
	}
	be := s.smecBaseline(fuels)
	ae := s.smecActivity(activity)
	d := s.difference(be, ae)
	em := embodied.line()
	n := s.get("disseminated")
	le := as("LE_embodied", "tCO2e", n.times(em.quantity))
	if s.inputs["lifetime"].choice == "durable" {
		life, t := smecLife.line(), s.span.length()
		le.quantity = le.times(t.over(life.quantity))
		le = s.noted(le, "N_new × EM × T / L", "durable devices: the charge is spread over five years", n, em, t, life)
	} else {
		le = s.noted(le, "N_new × EM", "short-lived devices: the whole charge", n, em)
	}
	total := s.leakage(le, d, true)
	er := s.reduced(d, he, total)
	year := er.over(s.span.length().quantity)
	if scale := smecScale.line(); year.above(scale.quantity) {
		s.decide("scale", "ER", "exceeded", "The reductions are above 10,000 tCO2e a year: the simplified methodology does not apply.")
	}
	return outcome{&be, &ae, &total, &er}
}

// burnt is a fuel with its factor for a tonne.
type burnt struct {
	inputs
	name   string
	number int
	factor line // tCO2e/t
}

// fuels computes the emissions of a tonne of each fuel, in their order.
func (s *sheet) fuels() map[string]burnt {
	out := map[string]burnt{}
	for i, in := range s.inputs["fuels"].items {
		name := in["fuel"].choice
		if _, twice := out[name]; twice {
			s.c.Add(in["fuel"].at, "duplicate", "This fuel is listed twice.")
		}
		ncv, co2, other, nrb := in.named("ncv", name), in.named("co2", name), in.named("nonCO2", name), in.named("nonRenewable", name)
		ef := as("EF_"+name, "tCO2e/t", ncv.times(co2.times(nrb.quantity).plus(other.quantity)))
		formula := ncv.symbol + " × (" + co2.symbol + " × " + nrb.symbol + " + " + other.symbol + ")"
		out[name] = burnt{in, name, i, s.noted(ef, formula, "emissions of a tonne", ncv, co2, nrb, other)}
	}
	return out
}

// ordered lists fuels as they were sent.
func ordered(fuels map[string]burnt) []burnt {
	out := make([]burnt, len(fuels))
	for _, f := range fuels {
		out[f.number] = f
	}
	return out
}

// smecBaseline is BE: the emissions without the activity, adjusted downward.
func (s *sheet) smecBaseline(fuels map[string]burnt) line {
	households, usage, t := s.get("baselineHouseholds"), s.get("baselineUsage"), s.span.length()
	used := s.judged(s.inputs["baselineUsage"], usage, lower, 0)
	zero := of("0", "tCO2e/yr")
	raw, adj, all := as("BE_unadj", "tCO2e", zero), as("BE_unc", "tCO2e", zero), of("0", "")
	rawFrom, adjFrom := []line{usage}, []line{used}
	for _, f := range ordered(fuels) {
		part := f.named("share", f.name)
		if part.zero() {
			continue
		}
		all = all.plus(part.quantity)
		n := s.step(as("N_"+f.name, "household", households.times(part.quantity)), "N_b × "+part.symbol, households, part)
		mean, counted := s.smecFuel(f)
		raw.quantity = raw.plus(n.times(mean.quantity).times(f.factor.quantity))
		adj.quantity = adj.plus(n.times(counted.quantity).times(f.factor.quantity))
		rawFrom, adjFrom = append(rawFrom, n, mean, f.factor), append(adjFrom, n, counted, f.factor)
	}
	if all.above(of("1", "")) {
		s.c.Add("/inputs/fuels", "out_of_range", "The shares of the fuels are more than 1 together.")
	}
	raw.quantity = raw.times(usage.quantity).times(t.quantity)
	adj.quantity = adj.times(used.quantity).times(t.quantity)
	s.noted(raw, "U_b × Σ (N × P × EF) × T", "before any adjustment", append(rawFrom, t)...)
	s.step(adj, used.symbol+" × Σ (N × P_adj × EF) × T", append(adjFrom, t)...)
	daf := s.get("downwardAdjustment")
	down := as("BE_adj", "tCO2e", adj.times(of("1", "").less(daf.quantity)))
	s.step(down, "BE_unc × (1 − DAF)", adj, daf)
	be := s.step(as("BE", "tCO2e", down.atMost(adj.quantity)), "min(BE_adj, BAU)", down, as("BAU", "tCO2e", adj.quantity))
	s.noted(as("ΔBE", "tCO2e", adj.less(be.quantity)), "BAU − BE", "left out of the baseline by the downward adjustment", as("BAU", "tCO2e", adj.quantity), be)
	return be
}

// smecFuel is what a household burns of a fuel: as measured, and as it counts.
func (s *sheet) smecFuel(f burnt) (mean, counted line) {
	size := s.get("householdSize")
	if s.inputs["approach"].choice == "serviceLevel" {
		level, d := smecLevels[f.name].line(), smecDiscount.line()
		mean = s.step(as("P_"+f.name, "t/household/yr", level.times(size.quantity)), level.symbol+" × HN_b", level, size)
		counted = as("P_"+f.name+"_adj", "t/household/yr", mean.times(of("1", "").less(d.quantity)))
		return mean, s.noted(counted, mean.symbol+" × (1 − d_msl)", "minimum service level, less 5 %", mean, d)
	}
	in := f.inputs["consumption"]
	if !in.given {
		s.c.Add(in.at, "required", "The baseline test says what a household burns of each fuel that has a share.")
		return f.named("consumption", f.name), f.named("consumption", f.name)
	}
	mean = f.named("consumption", f.name)
	stat := s.judged(in, mean, lower, s.sampledBy(f))
	s.study(f.name, mean, size)
	limit := smecCaps[f.name].line()
	most := s.step(as("P_"+f.name+"_max", "t/household/yr", limit.times(size.quantity)), limit.symbol+" × HN_b", limit, size)
	counted = s.step(as("P_"+f.name+"_adj", "t/household/yr", stat.atMost(most.quantity)), "min("+stat.symbol+", "+most.symbol+")", stat, most)
	if stat.above(most.quantity) {
		s.decide("cap", mean.symbol, "capped", "The baseline counts no more "+f.name+" for a person than the methodology allows.")
	}
	return mean, counted
}

// sampledBy is how many households of the baseline test use a fuel.
func (s *sheet) sampledBy(f burnt) float64 {
	all, part := s.get("baselineSampled"), f.named("share", f.name)
	sample := f.inputs["consumption"].sample
	if all.zero() || sample == nil || sample.n > 0 || sample.low != nil {
		return 0
	}
	n := math.Floor(all.times(part.quantity).in("household"))
	s.noted(as("n_P_"+f.name, "household", of("1", "household").times(plain(n))), "⌊n_b × "+part.symbol+"⌋", "households of the test that use the fuel", all, part)
	return n
}

// study notes that a baseline needs the support of a third party.
func (s *sheet) study(fuel string, mean, size line) {
	limit := smecStudies[fuel].line()
	if mean.above(limit.times(size.quantity)) {
		s.decide("study", mean.symbol, "required", "A baseline of more than "+smecStudies[fuel].number+" t of "+fuel+" a person and year needs a study of a third party.")
	}
}

// smecActivity is AE: the emissions of the activity.
func (s *sheet) smecActivity(f burnt) line {
	n, t := s.get("activityHouseholds"), s.span.length()
	usage := s.judged(s.inputs["activityUsage"], s.get("activityUsage"), upper, 0)
	if one := of("1", ""); usage.above(one) {
		usage = s.step(as("U_p_max", "", one), "min("+usage.symbol+", 1)", usage)
	}
	fuel := s.judged(s.inputs["activityConsumption"], s.get("activityConsumption"), upper, 0)
	ae := as("AE", "tCO2e", n.times(usage.quantity).times(fuel.quantity).times(f.factor.quantity).times(t.quantity))
	return s.step(ae, "N_p × "+usage.symbol+" × "+fuel.symbol+" × "+f.factor.symbol+" × T", n, usage, fuel, f.factor, t)
}

// hawthorne is the index for the change of behaviour under observation.
func (s *sheet) hawthorne() line {
	one := as("HE", "", of("1", ""))
	switch s.inputs["monitoring"].choice {
	case "manual":
		in := s.inputs["hawthorne"]
		if !in.given {
			s.c.Add(in.at, "required", "Monitoring by visits needs the Hawthorne index.")
		}
		return s.get("hawthorne")
	case "sums":
		alone, watched := s.inputs["eventsUnobserved"], s.inputs["eventsObserved"]
		for _, in := range []input{alone, watched} {
			if !in.given {
				s.c.Add(in.at, "required", "Monitoring by stove-use monitors needs the events with and without an observer.")
			}
		}
		if !alone.given || !watched.given {
			return one
		}
		a, w := s.get("eventsUnobserved"), s.get("eventsObserved")
		one.quantity = a.over(w.quantity).atMost(one.quantity)
		return s.step(one, "min(1, PTC_m / PTC_KPT)", a, w)
	}
	return s.noted(one, "1", "continuous metering: nobody watches")
}
