package quality

import (
	"maps"
	"slices"
)

// effects sums the answers of each collector.
type effects struct {
	nums    *series
	choices []Column
	first   []int // place of the first option of each choice
	options int
	by      map[string]*sums
	full    bool // there are more collectors than are looked at one by one
}

// sums are the answers of a collector: how far numbers lie from the centre, how
// many answered each choice, and how many chose each option.
type sums struct {
	numbers []Moments
	asked   []int32
	hits    []int32
}

// newEffects begins once the centres are known.
func newEffects(nums *series, choices []Column) *effects {
	e := &effects{nums: nums, choices: choices, by: map[string]*sums{}}
	for _, c := range choices {
		e.first = append(e.first, e.options)
		e.options += len(c.Options)
	}
	return e
}

func (e *effects) newSums() *sums {
	return &sums{numbers: make([]Moments, len(e.nums.centers)), asked: make([]int32, len(e.choices)), hits: make([]int32, e.options)}
}

func (e *effects) add(in *interview) {
	one := e.by[in.collector]
	if one == nil {
		if len(e.by) == maxCollectors {
			e.full = true
			return
		}
		one = e.newSums()
		e.by[in.collector] = one
	}
	e.sum(one, in)
}

func (e *effects) sum(s *sums, in *interview) {
	e.nums.each(in.public, func(i int, _ Column, v float64) {
		if i < len(s.numbers) {
			s.numbers[i].Add(Clip(e.nums.centers[i].Z(v)))
		}
	})
	for i, c := range e.choices {
		if in.public.Chosen(c, func(option int) { s.hits[e.first[i]+option]++ }) {
			s.asked[i]++
		}
	}
}

// questions gives everything that two collectors or more can be compared by.
func (e *effects) questions(least int) []EffectQuestion {
	names := slices.Sorted(maps.Keys(e.by))
	var out []EffectQuestion
	add := func(c EffectQuestion, of func(*sums) Moments) {
		for _, name := range names {
			if m := of(e.by[name]); m.N >= float64(max(2, least)) {
				c.Names, c.Groups = append(c.Names, name), append(c.Groups, m)
			}
		}
		if len(c.Names) > 1 {
			out = append(out, c)
		}
	}
	for i, center := range e.nums.centers {
		add(EffectQuestion{Pointer: e.nums.labels[i], Center: center}, func(s *sums) Moments { return s.numbers[i] })
	}
	for i, c := range e.choices {
		for k, option := range c.Options {
			add(EffectQuestion{Pointer: c.Pointer, Option: option}, func(s *sums) Moments {
				hits := float64(s.hits[e.first[i]+k])
				return Moments{N: float64(s.asked[i]), Sum: hits, Squares: hits}
			})
		}
	}
	return out
}

// find compares the collectors.
func (e *effects) find(rules *Rules) EffectsFound {
	return FindEffects(e.questions(rules.EffectInterviews), rules.EffectZ, maxEffects)
}
