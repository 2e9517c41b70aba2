package crossref

import (
	"math"
	"testing"
)

func close9(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9 || math.IsNaN(a) && math.IsNaN(b)
}

func TestUse(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, tt := range map[string]struct {
		t                      Table
		agreement, over, under float64
		kappa, se              float64
		some                   bool
		said, adjusted         float64
	}{
		"golden":           {Table{40, 5, 10, 45}, .85, 5. / 45, 10. / 55, .7, .0714142842854285, true, .45, .5},
		"all agree":        {Table{20, 0, 0, 20}, 1, 0, 0, 1, 0, true, .9, .9},
		"chance":           {Table{25, 25, 25, 25}, .5, .5, .5, 0, .1, true, 1, .5},
		"29 pairs":         {Table{15, 2, 2, 10}, 25. / 29, 2. / 17, 2. / 12, 0, 0, false, 0, 2. / 12},
		"30 pairs":         {Table{15, 2, 2, 11}, 26. / 30, 2. / 17, 2. / 13, .728506787330317, .1263732130657823, true, 0, 2. / 13},
		"all use":          {Table{40, 0, 0, 0}, 1, 0, nan, 0, 0, false, 1, 1},
		"nobody was asked": {Table{}, nan, nan, nan, 0, 0, false, .5, nan},
		"Darfur":           {Table{71, 24, 0, 5}, .76, 24. / 95, 0, .2282958199356912, .1373257652994381, true, .95, .71},
	} {
		if got := []float64{tt.t.Agreement(), tt.t.OverReport(), tt.t.UnderReport(), tt.t.Adjusted(tt.said)}; !close9(got[0], tt.agreement) || !close9(got[1], tt.over) ||
			!close9(got[2], tt.under) || !close9(got[3], tt.adjusted) {
			t.Errorf("%s: %v, want %v %v %v %v", name, got, tt.agreement, tt.over, tt.under, tt.adjusted)
		}
		k, ok := tt.t.Kappa()
		if ok != tt.some || !close9(k.Value, tt.kappa) || math.Abs(k.SE-tt.se) > 1e-6 {
			t.Errorf("%s: kappa %+v %v, want %v ± %v %v", name, k, ok, tt.kappa, tt.se, tt.some)
		}
	}
	k, _ := Table{40, 5, 10, 45}.Kappa()
	if low, high := k.Interval(); math.Abs(low-.5600) > 1e-3 || math.Abs(high-.8400) > 1e-3 {
		t.Errorf("interval %v to %v", low, high)
	}
	if got, want := tableOf([]Pair{{1, 1}, {1, 0}, {0, 1}, {0, 0}, {1, 1}}), (Table{2, 1, 1, 1}); got != want {
		t.Errorf("table %+v, want %+v", got, want)
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for name, tt := range map[string]struct {
		pairs               []Pair
		bias, sd, low, high float64
		over                float64
	}{
		"more is said":  {[]Pair{{4, 2}, {3, 2}, {6, 3}}, 2, 1, .040036015, 3.959963985, 2. / 3},
		"all agree":     {[]Pair{{2, 2}, {3, 3}}, 0, 0, 0, 0, 0},
		"one pair":      {[]Pair{{2, 1}}, 1, nan, nan, nan, 1},
		"within half":   {[]Pair{{3, 2}, {1, 2}}, 0, math.Sqrt2, -1.959963984540054 * math.Sqrt2, 1.959963984540054 * math.Sqrt2, 0},
		"nothing there": {nil, nan, nan, nan, nan, nan},
	} {
		d := differencesOf(tt.pairs)
		if d.N == 0 {
			d = Differences{Bias: nan, SD: nan, Low: nan, High: nan}
		}
		if !close9(d.Bias, tt.bias) || !close9(d.SD, tt.sd) || !close9(d.Low, tt.low) || !close9(d.High, tt.high) || !close9(over(tt.pairs, .5), tt.over) {
			t.Errorf("%s: %+v over %v", name, d, over(tt.pairs, .5))
		}
	}
}

func TestHawthorne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ unobserved, observed, want float64 }{
		{2, 4, .5}, {3, 3, 1}, {5, 4, 1}, {0, 2, 0}, {1, 0, math.NaN()},
	} {
		if got := Hawthorne(tt.unobserved, tt.observed); !close9(got, tt.want) {
			t.Errorf("%v of %v = %v, want %v", tt.unobserved, tt.observed, got, tt.want)
		}
	}
}
