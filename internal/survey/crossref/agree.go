package crossref

import "math"

// leastPairs is how many pairs a kappa needs: with fewer it says nothing.
const leastPairs = 30

// normal is the quantile of 95 % of the normal distribution, to both sides.
const normal = 1.959963984540054

// Pair is a household's answer and the measurement of its sensors.
type Pair struct {
	Said, Measured float64
}

// Table counts pairs by whether something was used.
type Table struct {
	Both, SaidOnly, MeasuredOnly, Neither int
}

// tableOf counts pairs of 1 (used) and 0.
func tableOf(pairs []Pair) (t Table) {
	for _, p := range pairs {
		switch {
		case p.Said > 0 && p.Measured > 0:
			t.Both++
		case p.Said > 0:
			t.SaidOnly++
		case p.Measured > 0:
			t.MeasuredOnly++
		default:
			t.Neither++
		}
	}
	return t
}

// N is the number of pairs.
func (t Table) N() int { return t.Both + t.SaidOnly + t.MeasuredOnly + t.Neither }

// Said is the number of households that say they used it.
func (t Table) Said() int { return t.Both + t.SaidOnly }

// Not is the number of households that say they did not use it.
func (t Table) Not() int { return t.MeasuredOnly + t.Neither }

// Agreement is the share of pairs that agree; NaN without pairs.
func (t Table) Agreement() float64 { return share(t.Both+t.Neither, t.N()) }

// OverReport is the share of those who say that they used it whose sensors have
// measured no use; NaN when nobody says so.
func (t Table) OverReport() float64 { return share(t.SaidOnly, t.Said()) }

// UnderReport is the share of those who say that they did not use it whose
// sensors have measured use; NaN when nobody says so.
func (t Table) UnderReport() float64 { return share(t.MeasuredOnly, t.Not()) }

// Adjusted is the share of users that sensors would show, given the share of all
// households that say they use it: those who say so as far as sensors confirm it,
// and those who do not as far as sensors contradict them. NaN when there are not
// enough pairs to say.
func (t Table) Adjusted(said float64) float64 {
	var out float64
	if said > 0 {
		out += said * (1 - t.OverReport())
	}
	if said < 1 {
		out += (1 - said) * t.UnderReport()
	}
	return out
}

func share(n, of int) float64 { return float64(n) / float64(of) }

// Kappa is Cohen's kappa: how much more pairs agree than by chance, with its
// standard error.
type Kappa struct{ Value, SE float64 }

// Kappa computes kappa; false where it means nothing: with few pairs, and where
// all say and do the same.
func (t Table) Kappa() (Kappa, bool) {
	n := float64(t.N())
	if t.N() < leastPairs {
		return Kappa{}, false
	}
	said, measured := float64(t.Said())/n, float64(t.Both+t.MeasuredOnly)/n
	chance := said*measured + (1-said)*(1-measured)
	if chance == 1 {
		return Kappa{}, false
	}
	agree := t.Agreement()
	return Kappa{Value: (agree - chance) / (1 - chance), SE: math.Sqrt(agree*(1-agree)/n) / (1 - chance)}, true
}

// Interval is the interval of kappa with a confidence of 95 %.
func (k Kappa) Interval() (low, high float64) {
	return max(-1, k.Value-normal*k.SE), min(1, k.Value+normal*k.SE)
}

// Differences are the differences between answers and measurements, by Bland
// and Altman: 95 % of them are between Low and High if they are normally
// distributed.
type Differences struct {
	N              int
	Said, Measured float64 // means
	Bias           float64 // mean difference
	SD             float64 // of the differences; NaN of one pair
	Low, High      float64 // limits of agreement; NaN of one pair
}

// differencesOf compares pairs of amounts.
func differencesOf(pairs []Pair) Differences {
	d := Differences{N: len(pairs)}
	n := float64(d.N)
	for _, p := range pairs {
		d.Said += p.Said / n
		d.Measured += p.Measured / n
	}
	d.Bias = d.Said - d.Measured
	squares := 0.0
	for _, p := range pairs {
		off := p.Said - p.Measured - d.Bias
		squares += off * off
	}
	d.SD = math.Sqrt(squares / (n - 1))
	d.Low, d.High = d.Bias-normal*d.SD, d.Bias+normal*d.SD
	return d
}

// apart reports whether an answer differs from the measurement by more than a
// share of it.
func apart(p Pair, tolerance float64) bool {
	// A number such as 0.1 times 3 is not exact.
	return math.Abs(p.Said-p.Measured) > tolerance*math.Abs(p.Measured)+1e-9
}

// over is the share of pairs that say more than was measured, by more than the
// tolerance.
func over(pairs []Pair, tolerance float64) float64 {
	n := 0
	for _, p := range pairs {
		if p.Said > p.Measured && apart(p, tolerance) {
			n++
		}
	}
	return share(n, len(pairs))
}

// Hawthorne is the share of the cooking that households continue when nobody
// watches: events per day outside of a kitchen test over those during it, at
// most 1. NaN where nothing was cooked during the test.
func Hawthorne(unobserved, observed float64) float64 {
	if observed == 0 {
		return math.NaN()
	}
	return min(1, unobserved/observed)
}
