package quality_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/survey/quality"
)

// Middle agrees with the definition.
func TestMiddle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-10, 10), rapid.SampledFrom([]float64{0, 1, 1, 2})), 1, 20).Draw(t, "values")
		m, dev := exactMedian(values), []float64{}
		for _, v := range values {
			dev = append(dev, math.Abs(v-m))
		}
		slices.Sort(values)
		if median, mad := quality.Middle(values); median != m || !near(mad, exactMedian(dev), 1e-12) {
			t.Fatalf("middle = %v %v, want %v %v", median, mad, m, exactMedian(dev))
		}
	})
	if median, mad := quality.Middle(nil); !math.IsNaN(median) || !math.IsNaN(mad) {
		t.Errorf("middle of nothing = %v %v", median, mad)
	}
}

// share is the answers of a group in which some chose an option.
func share(hits, n float64) quality.Moments { return quality.Moments{N: n, Sum: hits, Squares: hits} }

// By hand: 40 of 50 against 10, 12 and 14 of 50.
func TestApartGolden(t *testing.T) {
	t.Parallel()
	got := quality.Apart([]quality.Moments{share(10, 50), share(40, 50), share(14, 50), share(12, 50)}, 0.02)
	// w = (8 + 8 + 10.08 + 9.12) / 196, of the others w/50 is the same.
	w := 35.2 / 196
	// The means of the others are 0.2, 0.24 and 0.28: MAD 0.04, less than chance.
	between := 0.02 * (76 - 76.0*76/200) / 199
	err := math.Sqrt(w/50 + between + math.Pi/2*(w/50+between)/3)
	if g := got[1]; g.Mean != 0.8 || g.Others != 0.24 || !near(g.Score, 0.56/err, 1e-9) {
		t.Errorf("gap = %+v, want a score of %v", g, 0.56/err)
	}
	for _, i := range []int{0, 2, 3} {
		if math.Abs(got[i].Score) > 2 {
			t.Errorf("group %d = %+v stands out", i, got[i])
		}
	}
}

func TestApartOfLittle(t *testing.T) {
	t.Parallel()
	for _, groups := range [][]quality.Moments{
		nil, {share(1, 1)}, {share(1, 1), share(0, 1)}, {share(5, 5), share(5, 5), share(5, 5)}, {share(0, 1), share(0, 1), share(1, 1)},
	} {
		for i, g := range quality.Apart(groups, 0.02) {
			if math.IsNaN(g.Score) || math.IsInf(g.Score, 0) || len(groups) == 1 && g.Score != 0 {
				t.Errorf("group %d of %v = %+v", i, groups, g)
			}
		}
	}
	got := quality.Apart([]quality.Moments{share(0, 40), share(40, 40)}, 0.02)
	if got[0].Score != -got[1].Score || got[1].Score < 4 {
		t.Errorf("two that differ = %+v, want the same of both", got)
	}
}

// One group of ten is shifted.
func TestApart(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	groups := make([]quality.Moments, 10)
	for i := range groups {
		for range 100 {
			v := r.NormFloat64()
			if i == 3 {
				v += 1.5
			}
			groups[i].Add(quality.Clip(v))
		}
	}
	for i, g := range quality.Apart(groups, 0.02) {
		if odd := math.Abs(g.Score) > quality.Limit(10, 0.05); odd != (i == 3) {
			t.Errorf("group %d: %+v", i, g)
		}
	}
}

// What lies between groups is what most of them show.
func TestBetween(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		groups []quality.Moments
		want   float64
	}{
		{"nothing", nil, 0},
		{"one", []quality.Moments{share(1, 9)}, 0},
		{"all the same", []quality.Moments{share(9, 9), share(9, 9)}, 0},
		{"no more than chance", []quality.Moments{share(4, 10), share(5, 10), share(6, 10)}, 0},
		{"one of four is odd", []quality.Moments{share(40, 80), share(40, 80), share(80, 80), share(41, 80)}, 0},
		// MAD 0.4, so (0.593)² between of 0.25 in all.
		{"all differ", []quality.Moments{share(10, 100), share(50, 100), share(90, 100)}, 1},
	} {
		if got := quality.Between(tt.groups); !near(got, tt.want, 0.01) {
			t.Errorf("%s: between = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The limits are those of tables of the normal distribution.
func TestLimit(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]float64{0: 1.96, 1: 1.96, 5: 2.5758, 50: 3.2905, 500: 3.8906} {
		if got := quality.Limit(n, 0.05); !near(got, want, 0.0001) {
			t.Errorf("limit of %d = %v, want %v", n, got, want)
		}
	}
}
