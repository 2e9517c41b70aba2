package quality

import (
	"cmp"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/survey/quality/stat"
)

// EffectReport is a collector whose answers differ from those of all others.
type EffectReport struct {
	Collector  string  `json:"collector"`
	Question   string  `json:"question" example:"/responses/cooking_patterns/fuel_cost_month"`
	Option     string  `json:"option,omitzero" doc:"Of a choice: the share that chose it is compared."`
	Interviews int64   `json:"interviews" doc:"Of the collector that answered the question."`
	Value      float64 `json:"value" doc:"Mean of the collector, in which no single answer weighs much, or share."`
	Others     float64 `json:"others" doc:"That of all others."`
	Score      float64 `json:"score" doc:"Difference in standard errors."`
	Limit      float64 `json:"limit"`
}

// The least differences that matter, however sure they are.
const (
	leastSpread = 0.5  // robust standard deviations
	leastShare  = 0.15 // of a choice
)

// effects sums the answers of each collector.
type effects struct {
	nums    *series
	choices []column
	first   []int // place of the first option of each choice
	options int
	all     *sums
	by      map[string]*sums
	full    bool // there are more collectors than are looked at one by one
}

// sums are the answers of a collector: how far numbers lie from the centre, how
// many answered each choice, and how many chose each option.
type sums struct {
	numbers []stat.Moments
	asked   []int32
	hits    []int32
}

// newEffects begins once the centres are known.
func newEffects(nums *series, choices []column) *effects {
	e := &effects{nums: nums, choices: choices, by: map[string]*sums{}}
	for _, c := range choices {
		e.first = append(e.first, e.options)
		e.options += len(c.options)
	}
	e.all = e.newSums()
	return e
}

func (e *effects) newSums() *sums {
	return &sums{numbers: make([]stat.Moments, len(e.nums.centers)), asked: make([]int32, len(e.choices)), hits: make([]int32, e.options)}
}

func (e *effects) add(in *interview) {
	e.sum(e.all, in)
	one := e.by[in.collector]
	if one == nil {
		if len(e.by) == maxCollectors {
			e.full = true // they are among the others of everybody
			return
		}
		one = e.newSums()
		e.by[in.collector] = one
	}
	e.sum(one, in)
}

func (e *effects) sum(s *sums, in *interview) {
	e.nums.each(in.public, func(i int, _ column, v float64) {
		if i < len(s.numbers) {
			s.numbers[i].Add(stat.Clip(e.nums.centers[i].Z(v)))
		}
	})
	for i, c := range e.choices {
		if in.public.chosen(c, func(option int) { s.hits[e.first[i]+option]++ }) {
			s.asked[i]++
		}
	}
}

// list gives collectors that stand out, the strongest first.
func (e *effects) list(rules *Rules) []EffectReport {
	out := []EffectReport{}
	for name, one := range e.by {
		for i := range one.numbers {
			out = e.judgeNumber(out, EffectReport{Collector: name, Limit: rules.EffectZ}, i, one, rules)
		}
		for i := range e.choices {
			out = e.judgeChoice(out, EffectReport{Collector: name, Limit: rules.EffectZ}, i, one, rules)
		}
	}
	slices.SortFunc(out, func(a, b EffectReport) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)), cmp.Compare(a.Collector, b.Collector),
			cmp.Compare(a.Question, b.Question), cmp.Compare(a.Option, b.Option))
	})
	return out[:min(len(out), maxEffects)]
}

func (e *effects) judgeNumber(out []EffectReport, r EffectReport, i int, one *sums, rules *Rules) []EffectReport {
	mine, all, few := one.numbers[i], e.all.numbers[i], float64(rules.EffectInterviews)
	rest := all.Minus(mine)
	if mine.N < few || rest.N < few {
		return out
	}
	difference, score := stat.Differ(mine, all)
	if math.Abs(difference) < leastSpread || math.Abs(score) <= rules.EffectZ {
		return out
	}
	c := e.nums.centers[i]
	r.Question, r.Interviews, r.Score = e.nums.labels[i], int64(mine.N), round3(score)
	r.Value, r.Others = round3(c.Median+c.Spread*mine.Mean()), round3(c.Median+c.Spread*rest.Mean())
	return append(out, r)
}

func (e *effects) judgeChoice(out []EffectReport, r EffectReport, i int, one *sums, rules *Rules) []EffectReport {
	n, all, few := float64(one.asked[i]), float64(e.all.asked[i]), float64(rules.EffectInterviews)
	if n < few || all-n < few {
		return out
	}
	for k, option := range e.choices[i].options {
		hits, allHits := float64(one.hits[e.first[i]+k]), float64(e.all.hits[e.first[i]+k])
		difference, score := stat.DifferShares(hits, n, allHits, all)
		if math.Abs(difference) < leastShare || math.Abs(score) <= rules.EffectZ {
			continue
		}
		r.Question, r.Option, r.Interviews, r.Score = e.choices[i].pointer, option, int64(n), round3(score)
		r.Value, r.Others = round3(hits/n), round3((allHits-hits)/(all-n))
		out = append(out, r)
	}
	return out
}
