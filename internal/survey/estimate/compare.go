package estimate

import (
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/quantile"
)

// Change is the difference between two figures.
type Change struct {
	Value  float64
	SE     float64
	DF     float64
	T, P   float64 // the two-sided test of no difference; NaN where SE is 0
	Common int     // households in both, of two samples
}

// Minus is f minus o. Two figures of one sample are two parts of it; figures of
// two samples, such as two rounds, are correlated as far as they share
// households and clusters.
func (f *Figure) Minus(o *Figure) *Change {
	c := &Change{Value: f.Value - o.Value}
	if f.scores.d == o.scores.d {
		z := slices.Clone(f.scores.z)
		for i, v := range o.scores.z {
			z[i] -= v
		}
		c.SE = math.Sqrt(scores{f.scores.d, z}.variance())
		c.DF = f.scores.d.freedom(append(slices.Clone(f.rows), o.rows...)) - 1
	} else {
		c.SE = math.Sqrt(max(0, f.SE*f.SE+o.SE*o.SE-2*f.scores.with(o.scores)))
		c.DF, c.Common = min(f.DF, o.DF), f.common(o)
	}
	if math.IsNaN(f.SE) || math.IsNaN(o.SE) {
		c.SE = math.NaN()
	}
	c.T = c.Value / c.SE
	if c.DF < 1 || c.SE == 0 {
		c.T = math.NaN()
	}
	c.P = quantile.Outside(c.T, c.DF)
	return c
}

// Interval is the interval of the difference; ok is false without a degree of
// freedom.
func (c *Change) Interval(l Level) (_ Interval, ok bool) {
	if c.DF < 1 || math.IsNaN(c.SE) {
		return Interval{}, false
	}
	by := l.t(c.DF) * c.SE
	return Interval{c.Value - by, c.Value + by, StudentT}, true
}

func (f *Figure) common(o *Figure) int {
	ids := make(map[string]bool, len(o.rows))
	for _, i := range o.rows {
		ids[o.scores.d.members[i].ID] = true
	}
	n := 0
	for _, i := range f.rows {
		if ids[f.scores.d.members[i].ID] {
			n++
		}
	}
	return n
}
