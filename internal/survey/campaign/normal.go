package campaign

import "math"

// quantile is the z below which a standard normal value lies with probability
// p, to about 15 digits.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// impliedMargin is the absolute margin of error of a proportion of one half in
// a simple random sample of n, to four digits. population is nil when it is not
// known; it is taken as a large one.
func impliedMargin(n, confidence float64, population *float64) float64 {
	v := 0.25 / n
	if population != nil && *population > 1 {
		v *= (*population - n) / (*population - 1)
	}
	return math.Round(1e4*quantile((1+confidence)/2)*math.Sqrt(v)) / 1e4
}
