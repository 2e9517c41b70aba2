package emission

import (
	"math"
	"math/big"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/quantile"
)

// side is which bound stands in for an estimate that is not precise enough: the
// one that makes the reductions smaller.
type side int

const (
	lower side = iota
	upper
)

// The precision that the methodologies ask of a sample: 10 % at a confidence of
// 90 %.
const (
	confidence = 0.9
	tolerance  = "0.1"
)

// student is the quantile of Student's t for the bounds, as the options say.
func (s *sheet) student(df float64) (t quantity, note string) {
	p := (1 + confidence) / 2
	if s.options.Tail == "one" {
		p = confidence
	}
	v := quantile.T(p, df)
	note = "quantile " + strconv.FormatFloat(p, 'f', -1, 64) + " of Student's t"
	if s.options.T == "full" {
		return quantity{r: new(big.Rat).SetFloat64(v)}, note
	}
	return of(strconv.FormatFloat(v, 'f', 4, 64), ""), note + ", rounded to four decimals"
}

// judged is an estimate, or the bound that stands in for it where it misses 90/10.
// n is the size of the sample where the estimate does not say it, 0 for none.
func (s *sheet) judged(in input, l line, b side, n float64) line {
	if in.sample == nil {
		s.decide("precision", l.symbol, "not_tested", l.symbol+" is taken as given: no sample was sent with it.")
		return l
	}
	by := s.margin(in, l, n)
	reason := "has no relative precision, as it is 0"
	if !l.zero() {
		prec := s.step(as("prec_"+l.symbol, "", by.over(l.quantity)), by.symbol+" / "+l.symbol, by, l)
		if !prec.above(of(tolerance, "")) {
			s.decide("precision", l.symbol, "met", l.symbol+" has a precision of "+percent(prec)+", within 10 % at 90 % confidence: the mean is used.")
			return l
		}
		reason = "has a precision of " + percent(prec) + ", above 10 % at 90 % confidence"
	}
	word := map[side]string{lower: "lower", upper: "upper"}[b]
	s.decide("precision", l.symbol, word+"_bound", l.symbol+" "+reason+": the "+word+" bound is used.")
	return s.bound(in, l, by, b)
}

// bound is what stands in for an estimate.
func (s *sheet) bound(in input, l, by line, b side) line {
	out := as(l.symbol+"_stat", l.unit, l.less(by.quantity))
	formula := "max(0, " + l.symbol + " − " + by.symbol + ")"
	switch {
	case in.sample.low != nil:
		edge := as(l.symbol+"_low", l.unit, *in.sample.low)
		if b == upper {
			edge = as(l.symbol+"_high", l.unit, *in.sample.high)
		}
		out.quantity = edge.quantity
		return s.step(out, edge.symbol, edge)
	case b == upper:
		out.quantity, formula = l.plus(by.quantity), l.symbol+" + "+by.symbol
	}
	return s.step(out, formula, l, by)
}

// margin is half of the interval around the estimate.
func (s *sheet) margin(in input, l line, n float64) line {
	by := as("MOE_"+l.symbol, l.unit, quantity{})
	if in.sample.low != nil {
		low, high := as(l.symbol+"_low", l.unit, *in.sample.low), as(l.symbol+"_high", l.unit, *in.sample.high)
		by.quantity = high.less(low.quantity).over(plain(2))
		return s.noted(by, "("+high.symbol+" − "+low.symbol+") / 2", "of the interval that was sent", high, low)
	}
	if in.sample.n > 0 {
		n = in.sample.n
	}
	if !(n >= 2) {
		s.c.Add(in.at+"/n", "required", "The size of the sample is missing, or below 2.")
		n = 2
	}
	size, sd := as("n_"+l.symbol, "", plain(n)), as("SD_"+l.symbol, l.unit, in.sample.sd)
	se := s.step(as("SE_"+l.symbol, l.unit, sd.over(size.root())), sd.symbol+" / √"+size.symbol, sd, size)
	v, note := s.student(n - 1)
	t := s.noted(as("t_"+l.symbol, "", v), "t("+size.symbol+" − 1)", note, size)
	by.quantity = t.times(se.quantity)
	return s.step(by, t.symbol+" × "+se.symbol, t, se)
}

// percent writes a fraction for people.
func percent(l line) string {
	return strconv.FormatFloat(math.Round(l.in("")*1e4)/100, 'f', -1, 64) + " %"
}
