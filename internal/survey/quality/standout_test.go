package quality_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
)

// A simulated survey asks for ten numbers and ten choices of four options.
const (
	numbers = 10
	choices = 10
	options = 4
)

// team is a survey that is made up. Collectors work in different places: area is
// the share of the variance of every answer that comes from that.
type team struct {
	collectors, interviews int
	area                   float64
	plant                  func(collector int, a *answers, r *rand.Rand)
}

// answers are those of one household.
type answers struct {
	numbers [numbers]float64
	choices [choices]int
}

func (c team) answers(shift *[numbers + choices]float64, r *rand.Rand) answers {
	var a answers
	own := math.Sqrt(1 - c.area)
	for i := range a.numbers {
		if a.numbers[i] = shift[i] + own*r.NormFloat64(); i%2 == 1 {
			a.numbers[i] = math.Exp(a.numbers[i] / 2) // costs are skewed
		}
	}
	for i := range a.choices {
		v := shift[numbers+i] + own*r.NormFloat64()
		for _, from := range []float64{-0.5, 0.7, 1.8} { // few choose the last
			if v >= from {
				a.choices[i]++
			}
		}
	}
	return a
}

// questions asks everybody.
func (c team) questions(r *rand.Rand) []quality.EffectQuestion {
	heard := make([][]answers, c.collectors)
	var samples [numbers]quality.Sample
	for who := range heard {
		var shift [numbers + choices]float64
		for i := range shift {
			shift[i] = math.Sqrt(c.area) * r.NormFloat64()
		}
		for n := range c.interviews {
			a := c.answers(&shift, r)
			if c.plant != nil {
				c.plant(who, &a, r)
			}
			heard[who] = append(heard[who], a)
			for i, v := range a.numbers {
				samples[i].Size = 1024
				samples[i].Add(int64(who*c.interviews+n), v)
			}
		}
	}
	var out []quality.EffectQuestion
	add := func(q quality.EffectQuestion, of func(a *answers) float64) {
		for who := range heard {
			var m quality.Moments
			for n := range heard[who] {
				m.Add(of(&heard[who][n]))
			}
			q.Names, q.Groups = append(q.Names, fmt.Sprintf("c%d", who)), append(q.Groups, m)
		}
		out = append(out, q)
	}
	for i := range numbers {
		center := quality.CenterOf(&samples[i])
		add(quality.EffectQuestion{Pointer: fmt.Sprintf("n%d", i), Center: center}, func(a *answers) float64 { return quality.Clip(center.Z(a.numbers[i])) })
	}
	for i := range choices {
		for k := range options {
			add(quality.EffectQuestion{Pointer: fmt.Sprintf("k%d", i), Option: fmt.Sprint(k)}, func(a *answers) float64 {
				if a.choices[i] == k {
					return 1
				}
				return 0
			})
		}
	}
	return out
}

func (c team) find(r *rand.Rand) quality.EffectsFound {
	return quality.FindEffects(c.questions(r), 3, 200)
}

func named(effects []api.CollectorEffect) []string {
	var out []string
	for _, e := range effects {
		out = append(out, e.Collector)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fewer than 1 in 100 honest collectors are flagged, however many questions are
// compared and although they work in different places. Where few collectors work
// in places that differ much it is more.
func TestHonestCollectors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		team  team
		bound float64
	}{
		{team{collectors: 2, interviews: 20, area: 0.1}, 0},
		{team{collectors: 3, interviews: 20, area: 0.02}, 0.01},
		{team{collectors: 5, interviews: 20}, 0.01},
		{team{collectors: 5, interviews: 60, area: 0.02}, 0.01},
		{team{collectors: 10, interviews: 25, area: 0.02}, 0.01},
		{team{collectors: 20, interviews: 40, area: 0.05}, 0.01},
		{team{collectors: 20, interviews: 40, area: 0.1}, 0.01},
		{team{collectors: 6, interviews: 40, area: 0.1}, 0.05},
	} {
		c := tt.team
		t.Run(fmt.Sprintf("%d collectors, %d interviews, area %g", c.collectors, c.interviews, c.area), func(t *testing.T) {
			t.Parallel()
			r, wrong, all := rand.New(rand.NewPCG(1, uint64(c.collectors*1000+c.interviews))), 0, 0
			for all < 600 {
				wrong, all = wrong+len(named(c.find(r).Effects)), all+c.collectors
			}
			t.Logf("%d of %d honest collectors are flagged", wrong, all)
			if float64(wrong) > tt.bound*float64(all) {
				t.Errorf("%d of %d honest collectors are flagged, at most %g may be", wrong, all, tt.bound*float64(all))
			}
		})
	}
}

// pricier has some collectors put two standard deviations on a number.
func pricier(culprits ...int) func(int, *answers, *rand.Rand) {
	return func(who int, a *answers, _ *rand.Rand) {
		if slices.Contains(culprits, who) {
			a.numbers[0] += 2
		}
	}
}

// Nine of ten collectors who are not like the others are found, and hardly
// anybody else with them.
func TestPlantedEffect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		team  team
		wants []string
	}{
		{"one of three", team{3, 60, 0.02, pricier(0)}, []string{"c0"}},
		{"one of ten", team{10, 40, 0.02, pricier(4)}, []string{"c4"}},
		{"two of ten", team{10, 40, 0.02, pricier(4, 5)}, []string{"c4", "c5"}},
		{"a share", team{8, 40, 0.02, func(who int, a *answers, r *rand.Rand) {
			if who == 2 && r.Float64() < 0.8 {
				a.choices[3] = 3
			}
		}}, []string{"c2"}},
		{"always the same", team{6, 30, 0.02, func(who int, a *answers, _ *rand.Rand) {
			if who == 1 {
				a.numbers[2], a.choices[1] = 1.5, 3
			}
		}}, []string{"c1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, found, others := rand.New(rand.NewPCG(7, 7)), 0, 0
			const rounds = 40
			for range rounds {
				for _, name := range named(tt.team.find(r).Effects) {
					if slices.Contains(tt.wants, name) {
						found++
					} else {
						others++
					}
				}
			}
			t.Logf("%d of %d culprits are found, and %d others", found, rounds*len(tt.wants), others)
			if found*10 < rounds*len(tt.wants)*9 || others*20 > rounds {
				t.Errorf("%d of %d culprits are found, and %d others", found, rounds*len(tt.wants), others)
			}
		})
	}
}

// Of two collectors that differ nobody can tell who is right, nor where half of
// them differ from the other half. It is told of the survey, and nobody is
// flagged.
func TestFindEffectsDiffer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		team team
	}{
		{"two", team{2, 40, 0, pricier(1)}},
		{"two of four", team{4, 60, 0, pricier(1, 3)}},
	} {
		got := tt.team.find(rand.New(rand.NewPCG(3, 3)))
		if len(got.Effects) != 0 || len(got.Differences) != 1 || got.Comparisons != 50*tt.team.collectors {
			t.Fatalf("%s: found %+v", tt.name, got)
		}
		d := got.Differences[0]
		if d.Question != "n0" || d.Collectors != tt.team.collectors || d.Highest.Value-d.Lowest.Value < 1 || d.Score <= d.Limit || d.Limit < 3 {
			t.Errorf("%s: difference = %+v", tt.name, d)
		}
		if d.Lowest.Interviews != int64(tt.team.interviews) || d.Highest.Collector != "c1" && d.Highest.Collector != "c3" || d.Lowest.Collector == d.Highest.Collector {
			t.Errorf("%s: difference = %+v", tt.name, d)
		}
	}
}

// The lists have a bound.
func TestMost(t *testing.T) {
	t.Parallel()
	c := team{5, 40, 0, func(who int, a *answers, _ *rand.Rand) {
		for i := range a.numbers {
			if who == 1 {
				a.numbers[i] += 5
			}
		}
	}}
	got := quality.FindEffects(c.questions(rand.New(rand.NewPCG(3, 3))), 3, 2)
	if len(got.Effects) != 2 || math.Abs(got.Effects[0].Score) < math.Abs(got.Effects[1].Score) {
		t.Errorf("effects = %+v, want the two strongest", got.Effects)
	}
}
