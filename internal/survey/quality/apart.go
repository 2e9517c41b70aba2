package quality

import (
	"math"
	"slices"
)

// Gap is how one group differs from the others.
type Gap struct {
	Mean   float64
	Others float64 // median of the means of the others
	Score  float64 // the distance in standard errors
}

// spread is how the answers of groups vary.
type spread struct {
	all    float64   // variance of all answers
	within float64   // variance within groups, of all together
	chance float64   // sum of 1/n
	means  []float64 // of the groups, in order of size
}

func spreadOf(groups []Moments) spread {
	var s spread
	var all Moments
	free := 0.0
	for _, g := range groups {
		all = all.Plus(g)
		s.within, free, s.chance = s.within+g.Variance()*(g.N-1), free+g.N-1, s.chance+1/g.N
		s.means = append(s.means, g.Mean())
	}
	s.all, s.within = all.Variance(), s.within/max(1, free)
	slices.Sort(s.means)
	return s
}

// Between is the share of the variance of answers that is between groups,
// according to most of them, with the effect of chance removed.
func Between(groups []Moments) float64 {
	s := spreadOf(groups)
	if len(groups) < 2 || s.all == 0 {
		return 0
	}
	_, mad := Middle(s.means)
	return min(1, max(0, math.Pow(madFactor*mad, 2)-s.within*s.chance/float64(len(groups)))/s.all)
}

// Apart compares the mean of each group with the median of the means of all
// others, so that a few odd groups do not make the rest look odd. With k groups
// of n answers each, the square of the standard error is
//
//	w/n + t + π/2 · (mean of w/n of the others + t) / (k-1)
//
// where w is the variance within groups, of all together, and t the variance
// between them: (1.4826 · MAD of the means of the others)² minus the effect of
// chance, and no less than the share least of the variance of all answers. The
// factor π/2 is the loss of efficiency of a median.
func Apart(groups []Moments, least float64) []Gap {
	out, k := make([]Gap, len(groups)), float64(len(groups))
	if len(groups) < 2 {
		return out
	}
	s := spreadOf(groups)
	others := make([]float64, 0, len(groups))
	for i, g := range groups {
		mean := g.Mean()
		at, _ := slices.BinarySearch(s.means, mean)
		others = append(append(others[:0], s.means[:at]...), s.means[at+1:]...)
		median, mad := Middle(others)
		own, theirs := s.within/g.N, s.within*(s.chance-1/g.N)/(k-1)
		between := max(least*s.all, math.Pow(madFactor*mad, 2)-theirs)
		out[i] = Gap{Mean: mean, Others: median}
		if err := math.Sqrt(own + between + math.Pi/2*(theirs+between)/(k-1)); err > 0 {
			out[i].Score = (mean - median) / err
		}
	}
	return out
}

// Middle is the median of sorted values and the median of their distances from
// it (MAD); NaN when there are none.
func Middle(sorted []float64) (median, mad float64) {
	median, n := Median(sorted), len(sorted)
	if n == 0 {
		return median, median
	}
	right, _ := slices.BinarySearch(sorted, median)
	left, before := right-1, 0.0
	// Distances grow to both sides: half of the values are enough.
	for range n/2 + 1 {
		before = mad
		if left < 0 || right < n && sorted[right]-median <= median-sorted[left] {
			mad, right = sorted[right]-median, right+1
		} else {
			mad, left = median-sorted[left], left-1
		}
	}
	if n%2 == 0 {
		mad = before + (mad-before)/2
	}
	return median, mad
}

// Limit is the score that chance exceeds in one of several comparisons with a
// probability of share, both ways (Bonferroni).
func Limit(comparisons int, share float64) float64 {
	return math.Sqrt2 * math.Erfinv(1-share/float64(max(1, comparisons)))
}
