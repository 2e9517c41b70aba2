package emission

import (
	"github.com/hearth-dmrv/hearth/api"
)

const mecdText = "Gold Standard, Methodology for Metered and Measured Energy Cooking Devices, version 2.0, method 2 (controlled cooking test)"

// The constants of MECD that formulas and checks use.
var (
	mecdMeter    = constant{"MPE_max", "0.025", "", "Error of a meter up to which nothing is added.", mecdText}
	mecdCoverage = constant{"c_min", "0.95", "", "Least share of the devices that must report.", mecdText}
	mecdDrift    = constant{"drift_max", "0.1", "", "Change of the share of a baseline fuel, of what it was, up to which the baseline stands.", mecdText}
)

// mecdFuels are the fuels of before.
var mecdFuels = []string{"wood", "charcoal", "dung", "cropResidue", "coal", "kerosene", "lpg", "naturalGas", "biogas", "electricity"}

// mecd is method 2 of the methodology for metered devices.
func mecd() module {
	return module{
		EmissionModule: api.EmissionModule{
			Module: "gs-mecd-m2", Version: "2.0", Title: "Metered cooking devices, method 2, electricity", Methodology: mecdText,
			About: "Baseline from the metered energy and the ratio of specific consumptions of a controlled cooking test; 90/10 test of the ratio, with its lower bound where it is missed; " +
				"upstream emissions of each fuel; cap for a person, downward adjustment and business as usual; grid losses and meter error; embodied and market leakage; " +
				"notes about the share of devices that report and about drift of the baseline.",
			Not: []string{
				"Methods 1 (water boiling test) and 3 (kitchen performance test), and devices that burn a fuel, are other calculations.",
				"It takes the energy as it was summed: gaps of meters are filled before, at the 25th percentile.",
				"It does not judge dates: that tests are repeated every second year is for whoever verifies.",
				"Too few devices that report, or a baseline that has drifted, are decisions in the answer; the figures are still shown.",
			},
		},
		fields:    mecdFields(),
		constants: []constant{precise, mecdMeter, mecdCoverage, mecdDrift, embodied, market},
		run:       runMECD,
	}
}

func mecdFields() []field {
	const specific = "TJ/test/person"
	return []field{
		amount("energy", "EG_p", "TJ", 1e6, "Energy metered on the devices in the period."),
		amount("specificBaseline", "SC_b", specific, 1, "Energy for a meal of a person in the baseline, from the test.").positive().sampled(optional),
		amount("specificActivity", "SC_p", specific, 1, "Energy for a meal of a person with the device, from the test.").positive().sampled(optional),
		choice("ratioPrecision", "Whether the ratio of the two is within 90/10: tested here from their samples (sampled), or as a test report declares (met, missed). Where both samples are sent they are tested whatever is declared as met.", "sampled", "met", "missed"),
		amount("ratioLow", "R_low", "", 1e6, "With ratioPrecision missed: the lower bound of the ratio.").free(),
		list("fuels", "The fuels of before. Their shares make 1.",
			choice("fuel", "Which fuel.", mecdFuels...).must(),
			share("share", "s", "Share of the energy of the baseline."),
			amount("co2", "EF_CO2", "tCO2e/TJ", 1e4, "Emission factor of CO2."),
			amount("nonCO2", "EF_nonCO2", "tCO2e/TJ", 1e4, "Emission factor of CH4 and N2O."),
			amount("upstream", "UEF", "tCO2e/TJ", 1e4, "Upstream emission factor."),
			share("nonRenewable", "fNRB", "Of biomass: the fraction that is not renewable. 1 when absent.").free(),
			share("nonRenewableBefore", "fNRB_before", "That of the period before, which it may not exceed.").free(),
		),
		amount("users", "N_users", "person", 1e9, "People who use the devices, for the cap.").free(),
		amount("consumptionCap", "P_cap", "TJ/person/yr", 1e3, "Most energy the baseline counts for a person; needs users.").free(),
		share("downwardAdjustment", "DAF", "Downward adjustment of the year and country; 0 where none applies."),
		amount("businessAsUsual", "BAU", "tCO2e", 1e12, "Emissions of the period in the national forecast, which the baseline may not exceed.").free(),
		amount("gridFactor", "EF_el", "tCO2e/MWh", 1e3, "Emission factor of the grid."),
		share("gridLosses", "TDL", "Losses of the grid, of what is delivered."),
		share("meterError", "MPE", "Greatest error of the meters; above 2.5 % it is added to the energy of the activity."),
		share("coverage", "c", "Share of the devices that report."),
		share("plannedShare", "s_plan", "Share of the main baseline fuel in the design document.").free(),
		share("surveyedShare", "s_now", "The same share in the survey of the period.").free(),
		amount("disseminated", "N_new", "device", 1e8, "Devices handed out in the period."),
		choice("marketLeakage", "2 % of the difference (default), or none because it is too small (deMinimis).", "default", "deMinimis"),
	}
}

func runMECD(s *sheet) outcome {
	s.together("users", "consumptionCap")
	s.together("plannedShare", "surveyedShare")
	if !s.c.OK() {
		return outcome{}
	}
	ef := s.mecdFactor()
	ratio := s.mecdRatio()
	if !s.c.OK() {
		return outcome{}
	}
	energy := s.get("energy")
	eg := s.step(as("EG_b", "TJ", energy.times(ratio.quantity)), "EG_p × "+ratio.symbol, energy, ratio)
	s.noted(as("BE_unadj", "tCO2e", eg.times(ef.quantity)), "EG_b × EF_b", "before any adjustment", eg, ef)
	unc := as("BE_unc", "tCO2e", quantity{})
	counted := s.mecdCap(eg)
	unc.quantity = counted.times(ef.quantity)
	s.step(unc, counted.symbol+" × EF_b", counted, ef)
	daf := s.get("downwardAdjustment")
	be := s.step(as("BE_adj", "tCO2e", unc.times(of("1", "").less(daf.quantity))), "BE_unc × (1 − DAF)", unc, daf)
	if bau := s.get("businessAsUsual"); s.inputs["businessAsUsual"].given {
		if be.above(bau.quantity) {
			s.decide("businessAsUsual", "BE", "capped", "The baseline is above business as usual, which is used.")
		}
		be = s.step(as("BE", "tCO2e", be.atMost(bau.quantity)), "min(BE_adj, BAU)", be, bau)
	} else {
		be = s.step(as("BE", "tCO2e", be.quantity), "BE_adj", be)
	}
	ae := s.mecdActivity()
	s.mecdChecks()
	d := s.difference(be, ae)
	n, em := s.get("disseminated"), embodied.line()
	made := s.noted(as("LE_embodied", "tCO2e", n.times(em.quantity)), "N_new × EM", "in the year the devices are handed out", n, em)
	le := s.leakage(made, d, s.inputs["marketLeakage"].choice != "deMinimis")
	er := s.reduced(d, as("1", "", of("1", "")), le)
	return outcome{&be, &ae, &le, &er}
}

// together notes inputs of which one was sent without the other.
func (s *sheet) together(a, b string) {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		if s.inputs[pair[0]].given && !s.inputs[pair[1]].given {
			s.c.Add(s.inputs[pair[1]].at, "required", pair[0]+" needs "+pair[1]+".")
		}
	}
}

// mecdFactor is the emissions of energy that the baseline burns.
func (s *sheet) mecdFactor() line {
	sum, all := as("EF_b", "tCO2e/TJ", of("0", "tCO2e/TJ")), of("0", "")
	var from []line
	seen := map[string]bool{}
	for _, in := range s.inputs["fuels"].items {
		name := in["fuel"].choice
		if seen[name] {
			s.c.Add(in["fuel"].at, "duplicate", "This fuel is listed twice.")
		}
		seen[name] = true
		nrb := in.named("nonRenewable", name)
		if !in["nonRenewable"].given {
			nrb.quantity = of("1", "")
		}
		if before := in.named("nonRenewableBefore", name); in["nonRenewableBefore"].given && nrb.above(before.quantity) {
			s.decide("fNRB", nrb.symbol, "capped", "fNRB of "+name+" is above that of the period before, which is used.")
			nrb = s.step(as(nrb.symbol+"_adj", "", before.quantity), "min("+nrb.symbol+", "+before.symbol+")", nrb, before)
		}
		part, co2, other, up := in.named("share", name), in.named("co2", name), in.named("nonCO2", name), in.named("upstream", name)
		one := as("EF_"+name, "tCO2e/TJ", co2.times(nrb.quantity).plus(other.quantity).plus(up.quantity))
		s.step(one, co2.symbol+" × "+nrb.symbol+" + "+other.symbol+" + "+up.symbol, co2, nrb, other, up)
		all = all.plus(part.quantity)
		sum.quantity = sum.plus(part.times(one.quantity))
		from = append(from, part, one)
	}
	// Shares that were rounded to three digits still count.
	if off := of("1", ""); all.less(off).plus(off.less(all)).above(of("0.001", "")) {
		s.c.Add("/inputs/fuels", "out_of_range", "The shares of the fuels must make 1.")
	}
	return s.step(sum, "Σ s × EF", from...)
}

// mecdRatio is how much more energy the baseline takes for the same meal.
func (s *sheet) mecdRatio() line {
	b, p := s.get("specificBaseline"), s.get("specificActivity")
	r := s.step(as("R", "", b.over(p.quantity)), "SC_b / SC_p", b, p)
	word := s.inputs["ratioPrecision"].choice
	if word == "met" && s.inputs["specificBaseline"].sample != nil && s.inputs["specificActivity"].sample != nil {
		word = "sampled" // a declaration cannot override the samples
	}
	switch word {
	case "met":
		s.decide("precision", "R", "declared_met", "A test report declares that the ratio is within 10 % at 90 % confidence: the mean is used.")
		return r
	case "missed":
		in := s.inputs["ratioLow"]
		low := s.get("ratioLow")
		if !in.given || low.above(r.quantity) {
			s.c.Add(in.at, "required", "A ratio that misses 90/10 needs its lower bound, which is below it.")
			return r
		}
		s.decide("precision", "R", "lower_bound", "A test report declares that the ratio misses 10 % at 90 % confidence: its lower bound is used.")
		return s.step(as("R_stat", "", low.quantity), "R_low", low)
	}
	return s.mecdTested(r, b, p)
}

// mecdTested tests the ratio from the samples of its parts. They are independent:
// their relative variances add up, and the smaller sample gives the degrees of
// freedom.
func (s *sheet) mecdTested(r, b, p line) line {
	sb, sp := s.inputs["specificBaseline"].sample, s.inputs["specificActivity"].sample
	for name, sample := range map[string]*sample{"specificBaseline": sb, "specificActivity": sp} {
		if sample == nil || sample.n < 2 {
			s.c.Add(s.inputs[name].at, "sample_required", "To test the ratio both consumptions need n and sd. Or ratioPrecision says what a test report declares.")
		}
	}
	if !s.c.OK() {
		return r
	}
	relative := func(l line, m *sample) line {
		n, sd := as("n_"+l.symbol, "", plain(m.n)), as("SD_"+l.symbol, l.unit, m.sd)
		v := sd.over(l.quantity)
		return s.step(as("v_"+l.symbol, "", v.times(v).over(n.quantity)), "("+sd.symbol+" / "+l.symbol+")² / "+n.symbol, sd, l, n)
	}
	vb, vp := relative(b, sb), relative(p, sp)
	se := s.step(as("se_R", "", vb.plus(vp.quantity).root()), "√("+vb.symbol+" + "+vp.symbol+")", vb, vp)
	v, note := s.student(min(sb.n, sp.n) - 1)
	t := s.noted(as("t_R", "", v), "t(min(n) − 1)", note)
	prec := s.step(as("prec_R", "", t.times(se.quantity)), "t_R × se_R", t, se)
	if !prec.above(of(tolerance, "")) {
		s.decide("precision", "R", "met", "R has a precision of "+percent(prec)+", within 10 % at 90 % confidence: the mean is used.")
		return r
	}
	s.decide("precision", "R", "lower_bound", "R has a precision of "+percent(prec)+", above 10 % at 90 % confidence: the lower bound is used.")
	return s.step(as("R_stat", "", r.times(of("1", "").less(prec.quantity))), "R × max(0, 1 − prec_R)", r, prec)
}

// mecdCap is the energy of the baseline, at most what the cap allows.
func (s *sheet) mecdCap(eg line) line {
	if !s.inputs["users"].given {
		s.decide("cap", "EG_b", "not_tested", "No cap for a person was sent.")
		return eg
	}
	users, limit, t := s.get("users"), s.get("consumptionCap"), s.span.length()
	most := s.step(as("EG_max", "TJ", users.times(limit.quantity).times(t.quantity)), "N_users × P_cap × T", users, limit, t)
	if eg.above(most.quantity) {
		s.decide("cap", "EG_b", "capped", "The baseline implies more energy for a person than the cap, which is used.")
	}
	return s.step(as("EG_adj", "TJ", eg.atMost(most.quantity)), "min(EG_b, EG_max)", eg, most)
}

// mecdActivity is AE: the electricity of the devices with the losses of the grid.
func (s *sheet) mecdActivity() line {
	energy, mpe := s.get("energy"), s.get("meterError")
	if mpe.above(mecdMeter.line().quantity) {
		s.decide("meter", "EG_p", "raised", "The error of the meters is above 2.5 %: it is added to the energy of the activity.")
		energy = s.step(as("EG_p_adj", "TJ", energy.times(of("1", "").plus(mpe.quantity))), "EG_p × (1 + MPE)", energy, mpe)
	}
	ef, tdl := s.get("gridFactor"), s.get("gridLosses")
	ae := as("AE", "tCO2e", energy.times(ef.quantity).times(of("1", "").plus(tdl.quantity)))
	return s.step(ae, energy.symbol+" × EF_el × (1 + TDL)", energy, ef, tdl)
}

// mecdChecks notes what does not change figures and still decides about them.
func (s *sheet) mecdChecks() {
	if c := s.get("coverage"); mecdCoverage.line().above(c.quantity) {
		s.decide("coverage", "c", "not_met", "Of the devices "+percent(c)+" report, and 95 % must.")
	} else {
		s.decide("coverage", "c", "met", "Of the devices "+percent(c)+" report.")
	}
	plan, now := s.get("plannedShare"), s.get("surveyedShare")
	if !s.inputs["plannedShare"].given {
		s.decide("drift", "s_plan", "not_tested", "No survey of the baseline fuels was sent for the period.")
		return
	}
	if plan.zero() {
		s.c.Add(s.inputs["plannedShare"].at, "out_of_range", "The value must be above 0.")
		return
	}
	drift := as("drift", "", plan.less(now.quantity).plus(now.less(plan.quantity)).over(plan.quantity))
	s.step(drift, "|s_now − s_plan| / s_plan", now, plan)
	if drift.above(mecdDrift.line().quantity) {
		s.decide("drift", "s_plan", "recalculate", "The share of the main fuel has changed by "+percent(drift)+": the baseline has to be calculated anew.")
		return
	}
	s.decide("drift", "s_plan", "stands", "The share of the main fuel has changed by "+percent(drift)+": the baseline stands.")
}
