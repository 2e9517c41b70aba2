package quality

import (
	"cmp"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// The least differences that matter, however sure they are.
const (
	leastSpread  = 0.5  // robust standard deviations
	leastShare   = 0.15 // of a choice
	leastAnswers = 5    // of a choice: so many would have to be others
)

// anyError is how likely a run of honest interviews flags anybody at all.
const anyError = 0.05

// EffectQuestion is a question for a number, or an option of a choice, and the
// collectors that are compared by it: those with enough answers.
type EffectQuestion struct {
	Pointer string
	Option  string    // of a choice: answers are 1 for those who chose it and 0 for others
	Center  Center    // of numbers: answers are their distance from it, as stat.Clip has it
	Names   []string  // of the collectors
	Groups  []Moments // their answers
}

// EffectsFound is the result of comparing collectors.
type EffectsFound struct {
	Effects     []api.CollectorEffect
	Differences []api.CollectorDifference
	Comparisons int
}

// FindEffects returns collectors that stand out and questions they differ in,
// the strongest first, no more than most of each. least is the smallest limit
// of scores.
func FindEffects(all []EffectQuestion, least float64, most int) EffectsFound {
	out := EffectsFound{Effects: []api.CollectorEffect{}, Differences: []api.CollectorDifference{}}
	for i := range all {
		out.Comparisons += len(all[i].Names)
	}
	limit, usual := max(least, Limit(out.Comparisons, anyError)), usualShare(all)
	for i := range all {
		all[i].judge(&out, Apart(all[i].Groups, usual), limit)
	}
	order.Stable(out.Effects, func(a, b api.CollectorEffect) int { return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)) })
	order.Stable(out.Differences, func(a, b api.CollectorDifference) int { return cmp.Compare(b.Score, a.Score) })
	out.Effects, out.Differences = out.Effects[:min(len(out.Effects), most)], out.Differences[:min(len(out.Differences), most)]
	return out
}

// leastUsual is the share of the variance of answers that is between honest
// collectors even where the data show none, because they ask in different
// places.
const leastUsual = 0.02

// usualShare is that share in this survey: the upper quartile over all
// questions that compare three collectors or more. Two are not enough to tell.
func usualShare(all []EffectQuestion) float64 {
	var shares []float64
	for i := range all {
		if len(all[i].Groups) > 2 {
			shares = append(shares, Between(all[i].Groups))
		}
	}
	if len(shares) == 0 {
		return leastUsual
	}
	slices.Sort(shares)
	return max(leastUsual, shares[len(shares)*3/4])
}

// judge compares the collectors of one question. A collector who differs from a
// majority stands out; without a majority nobody does.
func (c *EffectQuestion) judge(out *EffectsFound, gaps []Gap, limit float64) {
	var odd []int
	low, high, most := 0, 0, 0.0
	for i, g := range gaps {
		if math.Abs(g.Score) > limit && c.matters(g, c.Groups[i].N) {
			odd, most = append(odd, i), max(most, math.Abs(g.Score))
		}
		if g.Mean < gaps[low].Mean {
			low = i
		}
		if g.Mean > gaps[high].Mean {
			high = i
		}
	}
	if len(odd) > 0 && 2*len(odd) >= len(gaps) {
		of := func(i int) api.CollectorSum {
			return api.CollectorSum{Collector: c.Names[i], Interviews: int64(c.Groups[i].N), Value: c.value(gaps[i].Mean)}
		}
		out.Differences = append(out.Differences, api.CollectorDifference{
			Question: c.Pointer, Option: c.Option, Collectors: len(gaps), Lowest: of(low), Highest: of(high), Score: Round(most), Limit: Round(limit),
		})
		return
	}
	for _, i := range odd {
		out.Effects = append(out.Effects, api.CollectorEffect{
			Collector: c.Names[i], Question: c.Pointer, Option: c.Option, Collectors: len(gaps), Interviews: int64(c.Groups[i].N),
			Value: c.value(gaps[i].Mean), Others: c.value(gaps[i].Others), Score: Round(gaps[i].Score), Limit: Round(limit),
		})
	}
}

// matters reports whether a difference is large enough to look at.
func (c *EffectQuestion) matters(g Gap, n float64) bool {
	far := math.Abs(g.Mean - g.Others)
	if c.Option == "" {
		return far >= leastSpread
	}
	return far >= leastShare && far*n >= leastAnswers
}

// value is a mean as people read it. Numbers are summed by their distance from
// the centre.
func (c *EffectQuestion) value(mean float64) float64 {
	if c.Option == "" {
		mean = c.Center.Median + c.Center.Spread*mean
	}
	return Round(mean)
}
