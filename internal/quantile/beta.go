package quantile

import "math"

// betaTails returns the probabilities below and above x of a beta distribution.
// y is 1-x; the caller passes it because subtracting here could lose digits.
func betaTails(a, b, x, y float64) (lower, upper float64) {
	switch {
	case x <= 0:
		return 0, 1
	case y <= 0:
		return 1, 0
	case x < (a+1)/(a+b+2):
		lower = betaPower(a, b, x, y) * betaFraction(a, b, x) / a
		return lower, 1 - lower
	}
	upper = betaPower(a, b, x, y) * betaFraction(b, a, y) / b
	return 1 - upper, upper
}

// Beta returns the x with probability p below and q = 1-p above, and 1-x.
// The relative error of both is about 1e-14.
func Beta(a, b, p, q float64) (x, y float64) {
	if lower, _ := betaTails(a, b, 0.5, 0.5); lower < p {
		y, x = betaLow(b, a, q, p)
		return x, y
	}
	return betaLow(a, b, p, q)
}

// betaLow is Beta for an x of at most one half. It takes Newton steps, and
// halves the interval where a step would leave it.
func betaLow(a, b, p, q float64) (x, y float64) {
	low, high := 0.0, 0.5
	x = min(a/(a+b), 0.25)
	for range 500 {
		lower, upper := betaTails(a, b, x, 1-x)
		over := lower - p
		if q < p {
			over = q - upper // the smaller tail has more correct digits
		}
		if over == 0 {
			break
		}
		if over > 0 {
			high = x
		} else {
			low = x
		}
		next := x - over*x*(1-x)/betaPower(a, b, x, 1-x)
		if !(next > low && next < high) {
			next = middle(low, high)
		}
		done := math.Abs(next-x) <= 1e-16*x
		if x = next; done {
			break
		}
	}
	return x, 1 - x
}

// middle returns the middle of an interval: the geometric one if it spans orders of magnitude.
func middle(low, high float64) float64 {
	switch {
	case low == 0:
		return high / 16
	case high > 4*low:
		return math.Sqrt(low) * math.Sqrt(high)
	}
	return low + (high-low)/2
}

// betaPower is x^a y^b / B(a,b). The logarithms of gamma functions would lose
// the digits of large a and b; the binomial density by its distance from the
// mode (Loader 2000) keeps them.
func betaPower(a, b, x, y float64) float64 {
	n := a + b
	l := stirlingRest(n) - stirlingRest(a) - stirlingRest(b) - deviance(a, n*x) - deviance(b, n*y)
	return a * b / n * math.Exp(l) * math.Sqrt(n/(2*math.Pi*a)/b)
}

// stirlingRest is the error of Stirling's formula for ln(n!).
func stirlingRest(n float64) float64 {
	if n <= 15 {
		l, _ := math.Lgamma(n + 1)
		return l - (n+0.5)*math.Log(n) + n - 0.5*math.Log(2*math.Pi)
	}
	s := n * n
	return (1.0/12 - (1.0/360-(1.0/1260-(1.0/1680-1.0/1188/s)/s)/s)/s) / n
}

// deviance returns x ln(x/m) + m - x, without losing digits where x is close to m.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) >= 0.1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	v := (x - m) / (x + m)
	sum, term := (x-m)*v, 2*x*v
	for j := 3.0; j < 1000; j += 2 { // takes a few dozen steps; the limit is for NaN
		term *= v * v
		next := sum + term/j
		if next == sum {
			break
		}
		sum = next
	}
	return sum
}

// betaFraction evaluates the continued fraction of the incomplete beta function
// by Lentz's method.
func betaFraction(a, b, x float64) float64 {
	const tiny = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m < 1e6; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		h *= d * c
		if math.Abs(d*c-1) < 3e-16 {
			break
		}
	}
	return h
}
