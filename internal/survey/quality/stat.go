package quality

import (
	"cmp"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// Mix scatters the bits of a number (splitmix64).
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Sample keeps at most Size of its values: those whose key comes first in a
// fixed shuffled order. It holds all values while they fit, and after that a
// simple random sample that does not depend on the order of arrival.
type Sample struct {
	Size  int
	Seed  uint64
	kept  order.Lowest[valued]
	count int64
}

type valued struct {
	rank  uint64
	value float64
}

// Compare puts values in the shuffled order.
func (v valued) Compare(o valued) int { return cmp.Compare(v.rank, o.rank) }

// Add adds the value of key; each key is added once.
func (s *Sample) Add(key int64, value float64) {
	s.count++
	s.kept.N = s.Size
	s.kept.Add(valued{Mix(uint64(key) ^ s.Seed), value})
}

// Count is how many values were added.
func (s *Sample) Count() int64 { return s.count }

// Values returns the kept values, sorted.
func (s *Sample) Values() []float64 {
	out := make([]float64, len(s.kept.Kept()))
	for i, v := range s.kept.Kept() {
		out[i] = v.value
	}
	slices.Sort(out)
	return out
}

// Median is the median of sorted values; NaN when there are none.
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

// The factors that turn both measures of spread into the standard deviation of
// a normal distribution.
const (
	madFactor     = 1.4826
	meanDevFactor = 1.253314
)

// Center is the centre and spread of values, both robust against a few
// outliers.
type Center struct {
	Median float64
	Spread float64 // in the size of a standard deviation; 0 when all are the same
	Count  int64   // of all values
}

// fewDiffer is how many answers have to differ from the median before they have
// a spread of their own.
const fewDiffer = 5

// CenterOf computes the centre of a sample. The spread is the median absolute
// deviation. If that is 0, because more than half of the values are the same, it
// is that of the values that differ: for a question most people answer with 0, 1
// is not an outlier and 50 is. When fewer than five differ it is the mean
// deviation of all (Iglewicz and Hoaglin), and these few stand out.
func CenterOf(s *Sample) Center {
	sorted := s.Values()
	median, mad := Middle(sorted)
	c := Center{Median: median, Count: s.Count()}
	if len(sorted) == 0 {
		return c
	}
	if c.Spread = madFactor * mad; c.Spread > 0 {
		return c
	}
	var differ []float64
	sum := 0.0
	for _, v := range sorted {
		if v != median {
			differ = append(differ, math.Abs(v-median))
			sum += math.Abs(v-median) / float64(len(sorted))
		}
	}
	if c.Spread = meanDevFactor * sum; len(differ) >= fewDiffer {
		slices.Sort(differ)
		c.Spread = madFactor * Median(differ)
	}
	return c
}

// Z is the distance of a value from the centre in spreads; 0 when there is no
// spread.
func (c Center) Z(v float64) float64 {
	if c.Spread == 0 || math.IsInf(c.Spread, 0) || math.IsNaN(c.Spread) {
		return 0
	}
	return (v - c.Median) / c.Spread
}

// Moments are the sums that mean and variance are computed from. They can be
// added and subtracted.
type Moments struct{ N, Sum, Squares float64 }

// Add adds a value.
func (m *Moments) Add(v float64) {
	m.N, m.Sum, m.Squares = m.N+1, m.Sum+v, m.Squares+v*v
}

// Plus is the sum of both.
func (m Moments) Plus(o Moments) Moments {
	return Moments{m.N + o.N, m.Sum + o.Sum, m.Squares + o.Squares}
}

// Mean is the mean, 0 without values.
func (m Moments) Mean() float64 {
	if m.N == 0 {
		return 0
	}
	return m.Sum / m.N
}

// Variance is the sample variance.
func (m Moments) Variance() float64 {
	if m.N < 2 {
		return 0
	}
	return max(0, (m.Squares-m.Sum*m.Sum/m.N)/(m.N-1))
}

// Clip bounds a distance from the centre, so that no single answer makes a
// difference between groups.
func Clip(z float64) float64 { return max(-2, min(2, z)) }

// Round rounds for people. A value that JSON cannot represent becomes a very
// large number.
func Round(v float64) float64 {
	switch {
	case math.IsNaN(v):
		return 0
	case math.Abs(v) > 1e12:
		return max(-1e300, min(1e300, v))
	}
	return math.Round(v*1000) / 1000
}
