package quality_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/survey/quality"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// A sample is exact while the values fit.
func TestSampleIsExactWhenSmall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 1, 200).Draw(t, "values")
		s := &quality.Sample{Size: 200, Seed: rapid.Uint64().Draw(t, "seed")}
		for i, v := range values {
			s.Add(int64(i), v)
		}
		want := slices.Sorted(slices.Values(values))
		if got := s.Values(); !slices.Equal(got, want) {
			t.Fatalf("values = %v, want %v", got, want)
		}
		c := quality.CenterOf(s)
		if c.Median != exactMedian(values) || c.Count != int64(len(values)) {
			t.Fatalf("centre = %+v, want median %v of %d", c, exactMedian(values), len(values))
		}
		if want := exactSpread(values); !near(c.Spread, want, 1e-9*max(1, want)) {
			t.Fatalf("spread = %v, want %v", c.Spread, want)
		}
	})
}

func exactMedian(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	a, b := v[len(v)/2-1], v[len(v)/2]
	return a + (b-a)/2
}

func exactSpread(values []float64) float64 {
	m, dev, mean := exactMedian(values), []float64{}, 0.0
	for _, v := range values {
		dev = append(dev, math.Abs(v-m))
		mean += math.Abs(v-m) / float64(len(values))
	}
	if mad := exactMedian(dev); mad > 0 {
		return 1.4826 * mad
	}
	differ := slices.DeleteFunc(dev, func(d float64) bool { return d == 0 })
	if len(differ) >= 5 {
		return 1.4826 * exactMedian(differ)
	}
	return 1.253314 * mean
}

// Of values most of which are the same, those that differ have a spread of their
// own; of very few values nothing is known.
func TestCenterOfEqual(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		zeros  int
		rest   []float64
		value  float64
		stands bool
	}{
		{"nothing", 0, nil, 1, false},
		{"one", 1, nil, 1, false},
		{"two that differ", 1, []float64{1}, 1, false},
		{"three that are the same", 3, nil, 9, false},
		{"one of three differs", 2, []float64{1}, 1, false},
		{"all the same", 100, nil, 5, false},
		{"some have one", 90, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, false},
		{"one has fifty", 90, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 50}, 50, true},
		{"one alone differs", 99, []float64{50}, 50, true},
	} {
		s := &quality.Sample{Size: 1000}
		for i := range tt.zeros {
			s.Add(int64(i), 0)
		}
		for i, v := range tt.rest {
			s.Add(int64(tt.zeros+i), v)
		}
		c := quality.CenterOf(s)
		if z := c.Z(tt.value); (z > 3.5) != tt.stands || math.IsNaN(z) || math.IsInf(z, 0) {
			t.Errorf("%s: z of %v = %v, centre %+v", tt.name, tt.value, z, c)
		}
	}
}

// The order in which values come does not matter, and the size never grows.
func TestSampleOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		keys := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Perm(n)
		a, b := &quality.Sample{Size: 50, Seed: 7}, &quality.Sample{Size: 50, Seed: 7}
		for i := range n {
			a.Add(int64(i), float64(i))
			b.Add(int64(keys[i]), float64(keys[i]))
		}
		if got, want := b.Values(), a.Values(); !slices.Equal(got, want) || len(got) != min(n, 50) {
			t.Fatalf("values = %v, want %v", got, want)
		}
	})
}

// Of a large normal population the sample finds centre and spread closely.
func TestSampleOfMany(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	s := &quality.Sample{Size: 1024, Seed: 3}
	for i := range 200_000 {
		s.Add(int64(i), 100+15*r.NormFloat64())
	}
	c := quality.CenterOf(s)
	if !near(c.Median, 100, 2) || !near(c.Spread, 15, 1.5) || c.Count != 200_000 {
		t.Errorf("centre = %+v, want about 100 and 15", c)
	}
	if z := c.Z(175); z < 4 || z > 6 {
		t.Errorf("z of 175 = %v, want about 5", z)
	}
}

// By hand: the modified score of the last two is far above 3.5, and no other is.
func TestOutlierGolden(t *testing.T) {
	t.Parallel()
	s := &quality.Sample{Size: 100}
	values := []float64{2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3}
	for i, v := range values {
		s.Add(int64(i), v)
	}
	c := quality.CenterOf(s)
	if !near(c.Median, 2.45, 1e-12) || !near(c.Spread, 1.4826*0.15, 1e-12) {
		t.Errorf("centre = %+v", c)
	}
	// 0.6745·(8.2 − 2.45)/MAD, with MAD 0.15
	if z := c.Z(8.2); !near(z, 25.86, 0.01) {
		t.Errorf("z = %v, want 25.86", z)
	}
	for _, v := range values[:8] {
		if math.Abs(c.Z(v)) > 3.5 {
			t.Errorf("%v is an outlier", v)
		}
	}
	if same := (quality.Center{Median: 3}); same.Z(9) != 0 {
		t.Error("where all are the same nothing stands out")
	}
}

// Moments agree with the definition.
func TestMoments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-100, 100), 2, 50).Draw(t, "values")
		var m quality.Moments
		mean, variance := 0.0, 0.0
		for _, v := range values {
			m.Add(v)
			mean += v / float64(len(values))
		}
		for _, v := range values {
			variance += (v - mean) * (v - mean) / float64(len(values)-1)
		}
		if !near(m.Mean(), mean, 1e-9) || !near(m.Variance(), variance, 1e-6) {
			t.Fatalf("mean %v variance %v, want %v %v", m.Mean(), m.Variance(), mean, variance)
		}
	})
}

// What was given twice is never denied, and what was not seldom claimed.
func TestTwice(t *testing.T) {
	t.Parallel()
	const n = 20_000
	f := quality.NewTwice(n)
	for i := range uint64(n) {
		f.Add(quality.Mix(i))
		if i%10 == 0 {
			f.Add(quality.Mix(i))
		}
	}
	wrong := 0
	for i := range uint64(n) {
		seen := f.Seen(quality.Mix(i))
		if i%10 == 0 && seen < 2 || seen < 1 {
			t.Fatalf("key %d was seen %d times", i, seen)
		}
		if i%10 != 0 && seen > 1 {
			wrong++
		}
	}
	if wrong > n/20 {
		t.Errorf("%d of %d keys are believed to have come twice", wrong, n)
	}
}

// Two points no farther apart than the cells are wide are in neighbouring ones.
func TestGrid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := quality.Grid{Metres: rapid.Float64Range(1, 100).Draw(t, "metres")}
		p := quality.Point{Lat: rapid.Float64Range(-70, 70).Draw(t, "lat"), Lon: rapid.Float64Range(-179, 179).Draw(t, "lon")}
		angle, far := rapid.Float64Range(0, 2*math.Pi).Draw(t, "angle"), rapid.Float64Range(0, 0.99).Draw(t, "far")*g.Metres
		q := quality.Point{
			Lat: p.Lat + far*math.Sin(angle)/111_194.93,
			Lon: p.Lon + far*math.Cos(angle)/111_194.93/math.Cos(p.Lat*math.Pi/180),
		}
		if d := quality.Metres(p, q); !near(d, far, 0.01+far/1000) {
			t.Fatalf("distance = %v, want %v", d, far)
		}
		if around := g.Around(p); !slices.Contains(around[:], g.Of(q)) {
			t.Fatalf("%v m away is not around: %+v of %+v", far, g.Of(q), around)
		}
	})
}

func TestAlike(t *testing.T) {
	t.Parallel()
	equal, asked := quality.Alike([]uint32{1, 2, 3, 0, 5, 0}, []uint32{1, 2, 4, 0, 0, 6})
	if equal != 2 || asked != 5 {
		t.Errorf("alike = %d of %d, want 2 of 5", equal, asked)
	}
}

// The ranks are those of coreutils: printf 'seed\037resp_1' | sha256sum.
func TestRankGolden(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"resp_1": "b0d639713841a836ca7f3b1d2b385632f7e801699d1a6a87675550966ba5cace",
		"resp_2": "d6f012de20fe4b790963640c6f08f08c94ff2e2b5a884f4f915961cfc5f00e4f",
	} {
		if got := quality.Rank("seed", id); got != want {
			t.Errorf("rank of %s = %s, want %s", id, got, want)
		}
	}
}

func TestAllocate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		parts       []int
		share       float64
		size, least int
		want        []int
	}{
		{"share", []int{100, 55, 3}, 0.1, 0, 0, []int{10, 6, 1}},
		{"share with a least", []int{100, 10, 1}, 0.1, 0, 2, []int{10, 2, 1}},
		{"all", []int{3, 4}, 1, 0, 0, []int{3, 4}},
		{"size", []int{50, 30, 20}, 0, 10, 0, []int{5, 3, 2}},
		{"remainders", []int{1, 1, 1}, 0, 2, 0, []int{1, 1, 0}},
		{"size with a least", []int{97, 2, 1}, 0, 10, 1, []int{10, 1, 1}},
		{"more than there are", []int{2, 3}, 0, 100, 0, []int{2, 3}},
		{"nobody", []int{}, 0.5, 0, 0, []int{}},
		{"nothing", []int{0, 0}, 0, 5, 1, []int{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := quality.Allocate(tt.parts, tt.share, tt.size, tt.least); !slices.Equal(got, tt.want) {
				t.Errorf("allocate = %v, want %v", got, tt.want)
			}
		})
	}
}

// A draw of a size draws that many when there are enough.
func TestAllocateSums(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 12).Draw(t, "parts")
		size, total, got := rapid.IntRange(1, 300).Draw(t, "size"), 0, 0
		for i, n := range quality.Allocate(parts, 0, size, 0) {
			if total, got = total+parts[i], got+n; n > parts[i] {
				t.Fatalf("%d of %d", n, parts[i])
			}
		}
		if got != min(size, total) {
			t.Fatalf("drawn = %d of %v, want %d", got, parts, min(size, total))
		}
	})
}
