package emission

import (
	"math/big"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxYears is the longest period: a crediting period of Gold Standard.
const maxYears = 5

// span is a period of whole days, by calendar year.
type span struct {
	from, to time.Time // both included
	parts    []part
}

// part is the days of a span in one calendar year, and which fraction of that
// year they are.
type part struct {
	year, days int
	share      *big.Rat
}

// spanOf reads a period.
func spanOf(c *fault.Checks, p api.EmissionPeriod) span {
	day := func(at, text string) time.Time {
		t, err := time.Parse(time.DateOnly, text)
		if err != nil || t.Year() < 1990 || t.Year() > 2200 {
			c.Add(at, "invalid", "The value is a day such as 2026-09-01.")
			return time.Time{}
		}
		return t
	}
	s := span{from: day("/period/from", p.From), to: day("/period/to", p.To)}
	switch {
	case s.from.IsZero() || s.to.IsZero():
		return s
	case s.to.Before(s.from):
		c.Add("/period/to", "out_of_range", "The last day must not be before the first.")
		return s
	case !s.to.Before(s.from.AddDate(maxYears, 0, 0)):
		c.Add("/period/to", "out_of_range", "The period is at most five years.")
		return s
	}
	for y := s.from.Year(); y <= s.to.Year(); y++ {
		first, next := time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(y+1, 1, 1, 0, 0, 0, 0, time.UTC)
		days := daysOf(later(first, s.from), earlier(next, s.to.AddDate(0, 0, 1)))
		s.parts = append(s.parts, part{y, days, big.NewRat(int64(days), int64(daysOf(first, next)))})
	}
	return s
}

func daysOf(from, to time.Time) int { return int(to.Sub(from) / (24 * time.Hour)) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// length is the period in years: the days of each calendar year over those it
// has, so that a leap year is one year too.
func (s span) length() line {
	sum := new(big.Rat)
	for _, p := range s.parts {
		sum.Add(sum, p.share)
	}
	return as("T", "yr", quantity{sum, mustUnit("yr").dim})
}

// cents is the unit in which amounts are counted: hundred-millionths of a
// tonne, so that the amount carried over is a decimal number that can be read
// back exactly.
var cents = big.NewRat(100_000_000, 1)

// issue divides reductions by calendar year, and issues whole tonnes: the rest of
// one year is carried to the next, and after the last to the next calculation.
func issue(s span, reductions quantity, carried *big.Rat, out *api.EmissionResult) {
	whole := s.length()
	left := cut(carried)
	sum, given := new(big.Rat), new(big.Int)
	tonne := big.NewInt(100_000_000)
	for _, p := range s.parts {
		// Round the running sum, not each year: nothing is lost.
		sum.Add(sum, p.share)
		upTo := cut(new(big.Rat).Mul(reductions.r, new(big.Rat).Quo(sum, whole.r)))
		amount := new(big.Int).Sub(upTo, given)
		given = upTo
		y := api.EmissionYear{Year: p.year, Days: p.days, Amount: tonnes(amount), Brought: tonnes(left)}
		issued, rest := new(big.Int).QuoRem(new(big.Int).Add(left, amount), tonne, new(big.Int))
		left = rest
		y.Issued, y.Carried = issued.Int64(), tonnes(rest)
		out.Years = append(out.Years, y)
		out.Issued += y.Issued
	}
	out.Carried = tonnes(left)
}

// cut counts an amount, rounded down.
func cut(r *big.Rat) *big.Int {
	n := new(big.Rat).Mul(r, cents)
	return new(big.Int).Quo(n.Num(), n.Denom())
}

func tonnes(n *big.Int) float64 {
	f, _ := new(big.Rat).Quo(new(big.Rat).SetInt(n), cents).Float64()
	return f
}
