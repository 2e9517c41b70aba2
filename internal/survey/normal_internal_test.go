package survey

import (
	"testing"

	"github.com/hearth-dmrv/hearth/api"
)

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
