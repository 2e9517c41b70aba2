package estimate

import "math"

// Target is how precise a figure must be, and what to use instead when it is
// not.
type Target struct {
	Level
	Relative float64 // half of the interval over the figure, such as 0.1; 0 for none
	Absolute float64 // half of the interval; 0 for none
	// Bound replaces a figure that misses the target: Lower, Upper or nothing.
	Bound string
	// Interval is the kind of interval for the bound of a proportion; Wilson when
	// it is empty.
	Interval string
	// Limit is the relative precision beyond which no bound helps; 0 for none.
	Limit float64
}

// The bounds that may stand in for a figure.
const (
	Lower = "lower"
	Upper = "upper"
)

// What came of a target.
const (
	PrecisionMet    = "met"
	PrecisionNotMet = "precision_not_met"
	BoundUsed       = "bound_used"
)

// Precision is the precision of a figure, compared with its target.
type Precision struct {
	Relative  float64 // NaN for a figure of 0
	Absolute  float64
	Low, High float64
	Status    string  // "" without a target
	Use       float64 // NaN when the figure may not be used
}

// Precision compares a figure with its target. As in the formulas for the size of a
// sample, half of the interval is the standard error times a quantile: the normal one for
// proportions, Student's t for others. A proportion of which the sample shows no
// variance, such as that of two who both say yes, is as imprecise as the further bound of
// its interval. A bound that replaces the figure is that of its interval, with the same
// sign: one on the other side of 0 means that nothing is known. ok is false where the
// sample is too small to say.
func (f *Figure) Precision(t Target) (_ Precision, ok bool) {
	times := t.t(f.DF)
	if f.proportion {
		times = t.z()
	}
	if f.exact {
		times = 0
	}
	by := times * f.SE
	if math.IsNaN(by) || math.IsInf(by, 0) || f.DF < 1 && !f.exact {
		return Precision{}, false
	}
	bounds, ok := f.Interval(t.Interval, t.Level)
	out := Precision{Relative: math.NaN(), Absolute: by, Low: f.Value - by, High: f.Value + by, Use: f.Value}
	if f.proportion && !f.exact && f.still() && ok {
		by = max(f.Value-bounds.Low, bounds.High-f.Value)
		out.Absolute, out.Low, out.High = by, bounds.Low, bounds.High
	}
	if f.Value != 0 {
		out.Relative = by / math.Abs(f.Value)
	}
	if t.Relative == 0 && t.Absolute == 0 {
		return out, true
	}
	missed := t.Relative > 0 && !(out.Relative <= t.Relative) || t.Absolute > 0 && by > t.Absolute
	far := t.Limit > 0 && !(out.Relative <= t.Limit) || t.Bound == Lower && bounds.Low < 0 && f.Value > 0 || t.Bound == Upper && bounds.High > 0 && f.Value < 0
	switch {
	case !missed:
		out.Status = PrecisionMet
	case t.Bound == Lower && !far && ok:
		out.Status, out.Use = BoundUsed, bounds.Low
	case t.Bound == Upper && !far && ok:
		out.Status, out.Use = BoundUsed, bounds.High
	default:
		out.Status, out.Use = PrecisionNotMet, math.NaN()
	}
	return out, true
}
