package campaign

import (
	"math"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
)

// The values are of published tables, to 15 digits.
func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ p, want float64 }{
		{0.5, 0},
		{0.75, 0.674489750196082},
		{0.9, 1.281551565544600},
		{0.95, 1.644853626951472},
		{0.975, 1.959963984540054},
		{0.99, 2.326347874040841},
		{0.995, 2.575829303548901},
		{0.9995, 3.290526731491895},
		{0.999999, 4.753424308822899},
		{0.025, -1.959963984540054},
		{0.0005, -3.290526731491895},
	} {
		if got := quantile(tt.p); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("quantile(%v) = %.15f, want %.15f", tt.p, got, tt.want)
		}
	}
	for p := 0.0005; p < 1; p += 0.0005 { // it is the inverse of the distribution
		if back := 0.5 * math.Erfc(-quantile(p)/math.Sqrt2); math.Abs(back-p) > 1e-12 {
			t.Errorf("distribution(quantile(%v)) = %v", p, back)
		}
	}
}

func TestImpliedMargin(t *testing.T) {
	t.Parallel()
	of := func(n float64) *float64 { return &n }
	for _, tt := range []struct {
		n, confidence float64
		population    *float64
		want          float64
	}{
		{100, 0.95, nil, 0.098},
		{1, 0.95, nil, 0.98},
		{385, 0.95, nil, 0.0499},
		{271, 0.9, nil, 0.05},
		{1e9, 0.99, nil, 0},
		{357, 0.95, of(5000), 0.05},
		{356, 0.95, of(5000), 0.0501},
		{100, 0.95, of(100), 0},
		{1, 0.95, of(1), 0.98},
		{264, 0.9, of(10_000), 0.0499},
	} {
		if got := impliedMargin(tt.n, tt.confidence, tt.population); got != tt.want {
			t.Errorf("impliedMargin(%v, %v, %v) = %v, want %v", tt.n, tt.confidence, tt.population, got, tt.want)
		}
	}
}

func TestMarginOfStrata(t *testing.T) {
	t.Parallel()
	f := func(v float64) *float64 { return &v }
	for _, tt := range []struct {
		name string
		in   Sampling
		want float64
	}{
		{"no strata", Sampling{Size: f(420), Confidence: f(.95), Population: f(5000)}, impliedMargin(420, .95, f(5000))},
		{"in proportion", Sampling{Size: f(420), Confidence: f(.95), Strata: []api.SurveyStratum{{Population: f(3000)}, {Population: f(2000)}}}, .0458},
		{"by their sizes", Sampling{Size: f(420), Confidence: f(.95), Strata: []api.SurveyStratum{{Population: f(3000), Size: f(40)}, {Population: f(2000), Size: f(380)}}}, .0941},
		{"one is unknown", Sampling{Size: f(420), Confidence: f(.95), Strata: []api.SurveyStratum{{Population: f(3000)}, {}}}, impliedMargin(420, .95, nil)},
	} {
		if got := tt.in.margin(); got != tt.want {
			t.Errorf("%s: margin() = %v, want %v", tt.name, got, tt.want)
		}
	}
}
