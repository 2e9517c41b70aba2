package emission

import "strconv"

// number writes an amount for people.
func number(l line) string { return strconv.FormatFloat(l.in(l.unit), 'f', 8, 64) }

// difference is what the activity avoids before leakage, and 0 where it emits
// more than the baseline.
func (s *sheet) difference(be, ae line) line {
	d := as("D", "tCO2e", be.less(ae.quantity))
	if ae.above(be.quantity) {
		over := as("", "tCO2e", ae.less(be.quantity))
		s.decide("difference", "D", "none", "The activity emits more than the baseline, by "+number(over)+" tCO2e: nothing is reduced.")
	}
	return s.step(d, "max(0, BE − AE)", be, ae)
}

// leakage is LE: what devices cost to make and bring, and what markets and habits
// take back.
func (s *sheet) leakage(made, d line, markets bool) line {
	f := market.line()
	taken := as("LE_market", "tCO2e", d.times(f.quantity))
	if markets {
		s.step(taken, "f_market × D", f, d)
	} else {
		taken.quantity = of("0", "tCO2e")
		s.noted(taken, "0", "de minimis, as declared")
		s.decide("leakage", "LE_market", "de_minimis", "Leakage by markets is declared to be too small to count. That needs a justification.")
	}
	return s.step(as("LE", "tCO2e", made.plus(taken.quantity)), "LE_embodied + LE_market", made, taken)
}

// reduced is ER, and 0 where leakage takes all.
func (s *sheet) reduced(d, he, le line) line {
	gain := as("", "tCO2e", d.times(he.quantity))
	er := as("ER", "tCO2e", gain.less(le.quantity))
	if le.above(gain.quantity) {
		s.decide("reductions", "ER", "none", "Leakage is more than what the activity avoids, by "+number(as("", "tCO2e", le.less(gain.quantity)))+" tCO2e: nothing is reduced.")
	}
	return s.step(er, "max(0, D × "+he.symbol+" − LE)", d, he, le)
}
