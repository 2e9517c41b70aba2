package sampling

import (
	"math"

	"github.com/hearth-dmrv/hearth/internal/quantile"
)

// Aim is the target that sizes are computed from.
type Aim struct {
	Mean       bool    // of a mean; of a proportion otherwise
	Confidence float64 // above 0.5 and below 1
	OneSided   bool    // only one bound is of interest
	Precision  float64 // relative to the value, or else 0
	Margin     float64 // absolute, or else 0
	Expected   float64 // proportion or mean
	SD         float64 // of a mean
	Population float64 // 0 when it is not known: taken as very large
}

// z is how many standard errors the interval reaches to each side.
func (a Aim) z() float64 {
	if a.OneSided {
		return quantile.Normal(a.Confidence)
	}
	return quantile.Normal((1 + a.Confidence) / 2)
}

// spread is the variance in the unit of the target: of the value itself, or
// relative to it. e is the target.
func (a Aim) spread() (v, e float64) {
	v, e = a.Expected*(1-a.Expected), a.Margin
	if a.Mean {
		v = a.SD * a.SD
	}
	if a.Precision > 0 {
		v, e = v/(a.Expected*a.Expected), a.Precision
	}
	return v, e
}

// Size is how many households a simple random sample needs, before it is
// rounded up: z²NV / ((N−1)e² + z²V).
func Size(a Aim) float64 {
	v, e := a.spread()
	zz := a.z() * a.z() * v
	if a.Population == 0 {
		return zz / (e * e)
	}
	return zz * a.Population / ((a.Population-1)*e*e + zz)
}

// Precision is the precision of n responses of a simple random sample, in the unit
// of the target: the inverse of Size.
func Precision(a Aim, n float64) float64 {
	v, _ := a.spread()
	zz := a.z() * a.z() * v
	switch {
	case a.Population == 0:
		return math.Sqrt(zz / n)
	case n >= a.Population:
		return 0
	}
	return math.Sqrt(zz * (a.Population - n) / (n * (a.Population - 1)))
}

// Up rounds up, tolerating floating-point errors.
func Up(n float64) int { return int(math.Ceil(n - 1e-9)) }

// Oversample is how many to draw so that n remain after dropout, a share.
func Oversample(n int, dropout float64) int { return Up(float64(n) / (1 - dropout)) }
