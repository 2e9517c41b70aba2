package estimate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// repetitions is how often a sample is drawn: as often as it takes to tell 93 %
// from 95 %, and ten times as often where there is time. The race detector, which
// finds nothing in arithmetic, takes ten times as long.
func repetitions() int {
	if dbtest.Everything() && !raced {
		return 20_000
	}
	return 2_000
}

// cover fails unless the default intervals of samples hold the truth as often as
// they promise.
func cover(t *testing.T, truth, least, most float64, draw func(*rand.Rand) *estimate.Figure) {
	t.Helper()
	r, hits, times := rand.New(rand.NewPCG(7, 11)), 0, repetitions()
	for range times {
		if ci := interval(t, draw(r), "", two95); ci.Low <= truth && truth <= ci.High {
			hits++
		}
	}
	if share := float64(hits) / float64(times); share < least || share > most {
		t.Errorf("%.2f %% of the intervals hold the truth, want %v to %v", 100*share, least, most)
	}
}

// part is a stratum of a population: how many there are, are drawn, say yes.
type part struct{ population, n, yes int }

// drawn are the answers of a draw without replacement.
func drawn(r *rand.Rand, parts []part) []float64 {
	var y []float64
	for _, p := range parts {
		left, yes := p.population, p.yes
		for range p.n {
			v := 0.0
			if r.IntN(left) < yes {
				v, yes = 1, yes-1
			}
			left--
			y = append(y, v)
		}
	}
	return y
}

func TestCoverageOfStrata(t *testing.T) {
	t.Parallel()
	for _, parts := range [][]part{
		{{15_000, 150, 1_500}},
		{{15_000, 150, 4_500}},
		{{15_000, 150, 7_500}},
		{{40_000, 400, 36_000}},
		{{9_000, 90, 900}, {6_000, 60, 4_800}},
		{{10_000, 50, 1_000}, {4_000, 50, 600}, {6_000, 50, 600}},
	} {
		t.Run(fmt.Sprint(parts), func(t *testing.T) {
			t.Parallel()
			var p estimate.Plan
			var spec []string
			yes, all := 0, 0
			for i, one := range parts {
				name := string(rune('a' + i))
				p.Strata = append(p.Strata, estimate.Stratum{Name: name, Population: float64(one.population)})
				spec = append(spec, fmt.Sprintf("%s %d+0-0?", name, one.n))
				yes, all = yes+one.yes, all+one.population
			}
			d := must[*estimate.Design](t)(p.Weigh(members(spec...)))
			cover(t, float64(yes)/float64(all), .93, .97, func(r *rand.Rand) *estimate.Figure {
				return must[*estimate.Figure](t)(d.Proportion(estimate.Values{Y: drawn(r, parts)}))
			})
		})
	}
}

func TestCoverageOfClusters(t *testing.T) {
	t.Parallel()
	for _, k := range []int{20, 40} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			const villages, each = 120, 8
			world := rand.New(rand.NewPCG(3, 5))
			plan := estimate.Plan{Strata: []estimate.Stratum{{Clusters: villages}}, Clustered: true}
			parts := make([]part, villages)
			yes, all := 0, 0
			for i := range parts {
				size := 20 + world.IntN(40)
				parts[i] = part{size, each, int(float64(size) * (.3 + .5*world.Float64()))}
				yes, all = yes+parts[i].yes, all+size
				plan.Clusters = append(plan.Clusters, estimate.Cluster{Name: fmt.Sprint(i), Size: float64(size)})
			}
			cover(t, float64(yes)/float64(all), .92, .98, func(r *rand.Rand) *estimate.Figure {
				var in []estimate.Member
				var y []float64
				for _, v := range r.Perm(villages)[:k] {
					for range each {
						in = append(in, estimate.Member{Cluster: plan.Clusters[v].Name, Outcome: estimate.Answered})
					}
					y = append(y, drawn(r, parts[v:v+1])...)
				}
				d := must[*estimate.Design](t)(plan.Weigh(in))
				return must[*estimate.Figure](t)(d.Proportion(estimate.Values{Y: y}))
			})
		})
	}
}
