package plan

import "math"

// quantile is the z below which a standard normal value lies with probability
// p, to about 15 digits.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// impliedMargin is the absolute margin of error of a proportion of one half in
// a simple random sample of n from a large population, to four digits.
func impliedMargin(n, confidence float64) float64 {
	return math.Round(1e4*quantile((1+confidence)/2)*math.Sqrt(0.25/n)) / 1e4
}
