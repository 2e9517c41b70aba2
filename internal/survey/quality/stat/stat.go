// Package stat holds the arithmetic of checks over many responses. Everything
// in it has a bound on its memory that does not grow with the responses, gives
// the same result for the same responses in any order, and is exact as long as
// they fit: samples, the centre and spread of a sample, sums of one group
// against the others, a memory of what was seen twice, cells of a map, and the
// ranking of a draw that anybody can repeat. It is pure.
package stat

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Mix scatters the bits of a number (splitmix64).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Sample keeps at most Size of the values it is given: those whose key comes
// first in a fixed shuffled order. It is all values while they fit, and after
// that a simple random sample that does not depend on the order they come in.
type Sample struct {
	Size  int
	Seed  uint64
	kept  kept
	count int64
}

type valued struct {
	rank  uint64
	value float64
}

// kept is a heap with the last in the shuffled order on top.
type kept []valued

func (k kept) Len() int           { return len(k) }
func (k kept) Less(i, j int) bool { return k[i].rank > k[j].rank }
func (k kept) Swap(i, j int)      { k[i], k[j] = k[j], k[i] }
func (k *kept) Push(v any)        { *k = append(*k, v.(valued)) }
func (k *kept) Pop() any          { panic("never popped") }

// Add gives the sample the value of key; a key comes once.
func (s *Sample) Add(key int64, value float64) {
	s.count++
	v := valued{Mix(uint64(key) ^ s.Seed), value}
	switch {
	case len(s.kept) < s.Size:
		heap.Push(&s.kept, v)
	case len(s.kept) > 0 && v.rank < s.kept[0].rank:
		s.kept[0] = v
		heap.Fix(&s.kept, 0)
	}
}

// Count is how many values were given.
func (s *Sample) Count() int64 { return s.count }

// Values are those that were kept, in order of size.
func (s *Sample) Values() []float64 {
	out := make([]float64, len(s.kept))
	for i, v := range s.kept {
		out[i] = v.value
	}
	slices.Sort(out)
	return out
}

// Median of values in order of size; NaN when there are none.
func Median(sorted []float64) float64 {
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return sorted[n/2-1] + (sorted[n/2]-sorted[n/2-1])/2
}

// The factors that make both measures of spread the standard deviation of what
// is distributed normally.
const (
	madFactor     = 1.4826
	meanDevFactor = 1.253314
)

// Center is where values lie and how far they spread, both so that a few wild
// ones do not matter.
type Center struct {
	Median float64
	Spread float64 // in the size of a standard deviation; 0 when all are the same
	Count  int64   // of all values
}

// CenterOf looks at a sample. The spread is the median absolute deviation; when
// more than half of the values are the same it is the mean one (Iglewicz and
// Hoaglin).
func CenterOf(s *Sample) Center {
	sorted := s.Values()
	c := Center{Median: Median(sorted), Count: s.Count()}
	if len(sorted) == 0 {
		return c
	}
	dev, sum := make([]float64, len(sorted)), 0.0
	for i, v := range sorted {
		dev[i] = math.Abs(v - c.Median)
		sum += dev[i] / float64(len(sorted))
	}
	slices.Sort(dev)
	if c.Spread = madFactor * Median(dev); c.Spread == 0 {
		c.Spread = meanDevFactor * sum
	}
	return c
}

// Z is how many spreads a value lies from the centre; 0 when there is no
// spread.
func (c Center) Z(v float64) float64 {
	if c.Spread == 0 || math.IsInf(c.Spread, 0) || math.IsNaN(c.Spread) {
		return 0
	}
	return (v - c.Median) / c.Spread
}

// Moments are the sums that mean and variance come from. They can be added and
// taken apart again.
type Moments struct{ N, Sum, Squares float64 }

// Add takes a value in.
func (m *Moments) Add(v float64) {
	m.N, m.Sum, m.Squares = m.N+1, m.Sum+v, m.Squares+v*v
}

// Plus is both together.
func (m Moments) Plus(o Moments) Moments {
	return Moments{m.N + o.N, m.Sum + o.Sum, m.Squares + o.Squares}
}

// Minus is what is left without a part.
func (m Moments) Minus(o Moments) Moments {
	return Moments{m.N - o.N, m.Sum - o.Sum, m.Squares - o.Squares}
}

// Mean is 0 of nothing.
func (m Moments) Mean() float64 {
	if m.N == 0 {
		return 0
	}
	return m.Sum / m.N
}

// Variance is that of a sample.
func (m Moments) Variance() float64 {
	if m.N < 2 {
		return 0
	}
	return max(0, (m.Squares-m.Sum*m.Sum/m.N)/(m.N-1))
}

// Clip bounds a distance from the centre, so that no single answer makes a
// difference between groups.
func Clip(z float64) float64 { return max(-2, min(2, z)) }

// Differ compares one group with all others: the difference of the means and
// how many standard errors that is (Welch); 0, 0 when it cannot be told.
func Differ(one, all Moments) (difference, score float64) {
	rest := all.Minus(one)
	if one.N < 2 || rest.N < 2 {
		return 0, 0
	}
	difference = one.Mean() - rest.Mean()
	// A group in which everybody says the same has a variance of 0 by chance;
	// the variance of all together keeps the score from being endless.
	least := all.Variance() / 4
	if err := math.Sqrt(max(one.Variance(), least)/one.N + max(rest.Variance(), least)/rest.N); err > 0 {
		score = difference / err
	}
	return difference, score
}

// DifferShares compares the share of one group with that of all others: hits
// of n each. The score is that of two proportions.
func DifferShares(hits, n, allHits, allN float64) (difference, score float64) {
	restHits, rest := allHits-hits, allN-n
	if n == 0 || rest <= 0 {
		return 0, 0
	}
	p := allHits / allN
	difference = hits/n - restHits/rest
	if err := math.Sqrt(p * (1 - p) * (1/n + 1/rest)); err > 0 {
		score = difference / err
	}
	return difference, score
}

// order puts draws in the order of their rank.
func order(a, b Ranked) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
}
