package estimate

import (
	"cmp"
	"math"
	"slices"
)

// Quantile is the smallest value whose weighted share of the households reaches
// q. Its interval is that of the share, converted to values (Woodruff 1952), at
// the level given. If the share could be below 0 or above 1 the sample is too
// small for an interval, and SE is NaN. The fault is NO_ANSWERS.
func (d *Design) Quantile(v Values, q float64, l Level) (*Figure, error) {
	rows, err := d.rows(v)
	if err != nil {
		return nil, err
	}
	f := d.begin(rows)
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(a, b int) int { return cmp.Compare(v.Y[a], v.Y[b]) })
	at := func(share float64) float64 {
		sum := 0.0
		for _, i := range sorted {
			// Sums of weights are off in the last digits.
			if sum += d.weights[i]; sum >= share*f.Population*(1-1e-12) {
				return v.Y[i]
			}
		}
		return v.Y[sorted[len(sorted)-1]]
	}
	f.Value = at(q)
	place := min(len(sorted), max(1, int(math.Ceil(q*float64(len(sorted))*(1-1e-12)))))
	f.Unweighted = v.Y[sorted[place-1]]

	below := make([]float64, len(d.members))
	for _, i := range rows {
		if v.Y[i] <= f.Value {
			below[i] = 1
		}
	}
	share, err := d.Mean(Values{Y: below, In: v.In})
	if err != nil {
		return nil, err
	}
	f.scores = share.scores
	f.Deff = share.Deff
	if f.exact {
		f.woodruff = &[2]float64{f.Value, f.Value}
		f.scores.z = make([]float64, len(d.members))
		return f, nil
	}
	t := l.t(f.DF)
	low, high := share.Value-t*share.SE, share.Value+t*share.SE
	if !(low >= 0 && high <= 1) || share.SE == 0 {
		f.SE = math.NaN()
		return f, nil
	}
	f.woodruff = &[2]float64{at(low), at(high)}
	f.SE = (f.woodruff[1] - f.woodruff[0]) / (2 * t)
	// The share falls where the quantile rises: scores that vary as it does.
	f.scores.z = slices.Clone(share.scores.z)
	for i := range f.scores.z {
		f.scores.z[i] *= -f.SE / share.SE
	}
	return f, nil
}
