package survey

import (
	"math"

	"github.com/hearth-dmrv/hearth/internal/quantile"
)

// impliedMargin is the absolute margin of error of a proportion of one half in
// a simple random sample of n, to four digits. population is nil when it is not
// known; it is taken as a large one.
func impliedMargin(n, confidence float64, population *float64) float64 {
	v := 0.25 / n
	if population != nil && *population > 1 {
		v *= (*population - n) / (*population - 1)
	}
	return math.Round(1e4*quantile.Normal((1+confidence)/2)*math.Sqrt(v)) / 1e4
}

// margin is impliedMargin of the sample; where the populations of all strata are
// known, of the stratified one, in proportion unless they say their sizes.
func (s *Sampling) margin() float64 {
	whole, sized := 0.0, true
	for _, h := range s.Strata {
		if h.Population == nil {
			return impliedMargin(*s.Size, *s.Confidence, s.Population)
		}
		whole, sized = whole+*h.Population, sized && h.Size != nil
	}
	if len(s.Strata) == 0 {
		return impliedMargin(*s.Size, *s.Confidence, s.Population)
	}
	v := 0.0
	for _, h := range s.Strata {
		n, share := *s.Size**h.Population/whole, *h.Population/whole
		if sized {
			n = *h.Size
		}
		if *h.Population > 1 {
			v += share * share * 0.25 / n * max(0, (*h.Population-n)/(*h.Population-1))
		}
	}
	return math.Round(1e4*quantile.Normal((1+*s.Confidence)/2)*math.Sqrt(v)) / 1e4
}
