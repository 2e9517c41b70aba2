package plan

import (
	"math"
	"testing"
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
	for _, tt := range []struct{ n, confidence, want float64 }{
		{100, 0.95, 0.098},
		{1, 0.95, 0.98},
		{385, 0.95, 0.0499},
		{271, 0.9, 0.05},
		{1e9, 0.99, 0},
	} {
		if got := impliedMargin(tt.n, tt.confidence); got != tt.want {
			t.Errorf("impliedMargin(%v, %v) = %v, want %v", tt.n, tt.confidence, got, tt.want)
		}
	}
}
