package estimate

import (
	"math"

	"github.com/hearth-dmrv/hearth/internal/quantile"
)

// Level is the confidence of an interval.
type Level struct {
	Confidence float64 // above 0.5 and below 1
	OneTail    bool    // each bound alone has the confidence
}

func (l Level) p() float64 {
	if l.OneTail {
		return l.Confidence
	}
	return (1 + l.Confidence) / 2
}

func (l Level) z() float64 { return quantile.Normal(l.p()) }

// t is the quantile of Student's t, NaN without a degree of freedom.
func (l Level) t(df float64) float64 {
	if !(df >= 1) {
		return math.NaN()
	}
	return quantile.T(l.p(), df)
}

// The kinds of intervals. All but the first two are for proportions.
const (
	StudentT     = "t"
	Woodruff     = "woodruff"
	Wilson       = "wilson"
	KornGraubard = "kornGraubard"
	Logit        = "logit"
	Wald         = "wald"
	Exact        = "exact" // of a whole population that was asked
)

// Interval is a confidence interval for the population.
type Interval struct {
	Low, High float64
	Method    string
}

// Interval is the interval of a figure. kind is for proportions, Wilson when it
// is empty. ok is false where the sample is too small for any.
func (f *Figure) Interval(kind string, l Level) (_ Interval, ok bool) {
	switch {
	case f.exact:
		return Interval{f.Value, f.Value, Exact}, true
	case f.woodruff != nil:
		return Interval{f.woodruff[0], f.woodruff[1], Woodruff}, true
	case f.DF < 1 || math.IsNaN(f.SE):
		return Interval{}, false
	case !f.proportion:
		return f.around(StudentT, l), true
	}
	edge := f.Value <= 0 || f.Value >= 1 || f.still()
	switch {
	case kind == Wald:
		return f.around(Wald, l), true
	case kind == Logit && !edge:
		return f.logit(l), true
	case kind == KornGraubard, kind == Logit:
		// A logit has no interval where all say the same.
		return f.kornGraubard(l), true
	}
	return f.wilson(l), true
}

func (f *Figure) around(method string, l Level) Interval {
	by := l.t(f.DF) * f.SE
	return Interval{f.Value - by, f.Value + by, method}
}

// still reports whether the sample shows no variance: all answers are the same,
// or all of each stratum. That does not prove that the population has none.
func (f *Figure) still() bool { return f.SE*f.SE <= 1e-20*f.Value*(1-f.Value) }

// effective is the size of a simple random sample in which a proportion varies
// as much as here, less what few degrees of freedom cost.
func (f *Figure) effective(l Level) float64 {
	n := float64(f.N)
	if f.still() || f.DF < 1 {
		return n / f.Kish
	}
	t := l.t(n-1) / l.t(f.DF)
	return f.Value * (1 - f.Value) / (f.SE * f.SE) * t * t
}

func (f *Figure) wilson(l Level) Interval {
	n, p, z := f.effective(l), f.Value, l.z()
	centre := p + z*z/(2*n)
	by := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	whole := 1 + z*z/n
	out := Interval{max(0, (centre-by)/whole), min(1, (centre+by)/whole), Wilson}
	if p <= 0 { // rounding leaves 1e-17 of it
		out.Low = 0
	} else if p >= 1 {
		out.High = 1
	}
	return out
}

func (f *Figure) kornGraubard(l Level) Interval {
	n, p := f.effective(l), f.Value
	q := l.p()
	out := Interval{0, 1, KornGraubard}
	if p > 0 {
		out.Low, _ = quantile.Beta(n*p, n*(1-p)+1, 1-q, q)
	}
	if p < 1 {
		out.High, _ = quantile.Beta(n*p+1, n*(1-p), q, 1-q)
	}
	return out
}

func (f *Figure) logit(l Level) Interval {
	p := f.Value
	odds, by := math.Log(p/(1-p)), l.t(f.DF)*f.SE/(p*(1-p))
	back := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	return Interval{back(odds - by), back(odds + by), Logit}
}
