package sampling

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// Unit is a household of a frame, by its name in the draw.
type Unit struct {
	Unit, Stratum, Cluster string
}

// Plan says what to draw from a frame. It is fixed with the commitment.
type Plan = api.SamplePlan

// Frame passes the units of a frame one by one, in order.
type Frame func(visit func(Unit) error) error

// Drawn is the result of a draw: in each cell the sample and, after it, the
// replacements in their order.
type Drawn struct {
	Units    []Selected
	Stages   []api.SamplingStage
	Clusters []api.SurveyCluster // that were drawn
}

// Selected is a unit of a draw.
type Selected struct {
	Ranked
	Reserve bool // a replacement
}

// Redraw draws: it serves for the draw itself as well as for the proof. The
// frame is read once, and twice where clusters are drawn first.
func Redraw(p *Plan, seed string, f Frame) (*Drawn, error) {
	if p.Clusters == nil {
		return drawUnits(p, seed, f)
	}
	return drawClusters(p, seed, f)
}

// cells are the parts in which units are ranked, each with how many it gives.
type cells struct {
	order []string
	kept  map[string]*order.Lowest[Ranked]
	sizes map[string]int
}

func (c *cells) add(key string, size, reserve int) {
	if c.kept == nil {
		c.kept, c.sizes = map[string]*order.Lowest[Ranked]{}, map[string]int{}
	}
	c.order = append(c.order, key)
	c.kept[key], c.sizes[key] = &order.Lowest[Ranked]{N: size + reserve}, size
}

// rank has every unit of a frame ranked in its cell.
func (c *cells) rank(seed string, f Frame, cell func(Unit) string) error {
	by, index := newRanker(seed), int64(-1)
	return f(func(u Unit) error {
		index++
		l := c.kept[cell(u)]
		if l == nil {
			return nil
		}
		r := by.rank(u.Unit)
		if last := l.Last(); last == nil || bytes.Compare(r[:], last.Rank[:]) <= 0 {
			u.Unit, u.Stratum, u.Cluster = strings.Clone(u.Unit), strings.Clone(u.Stratum), strings.Clone(u.Cluster)
			l.Add(Ranked{Rank: r, Unit: u, Index: index})
		}
		return nil
	})
}

// units lists the drawn units. Each cell must have as many as planned.
func (c *cells) units() ([]Selected, error) {
	var out []Selected
	for _, key := range c.order {
		list := c.kept[key].Kept()
		slices.SortFunc(list, Ranked.Compare)
		if len(list) < c.sizes[key] {
			return nil, fmt.Errorf("cell %q of the frame has %d units, the plan takes %d", key, len(list), c.sizes[key])
		}
		for i, r := range list {
			out = append(out, Selected{Ranked: r, Reserve: i >= c.sizes[key]})
		}
	}
	return out, nil
}

func drawUnits(p *Plan, seed string, f Frame) (*Drawn, error) {
	var c cells
	for _, h := range p.Strata {
		c.add(h.Name, h.Size, p.Reserve)
	}
	if err := c.rank(seed, f, func(u Unit) string { return u.Stratum }); err != nil {
		return nil, err
	}
	units, err := c.units()
	return &Drawn{Units: units}, err
}

// group is a cluster of a frame.
type group struct {
	rank Rank
	name string
	size int
}

// drawClusters draws clusters in each stratum, and households in each of these.
func drawClusters(p *Plan, seed string, f Frame) (*Drawn, error) {
	found := map[string]map[string]int{}
	err := f(func(u Unit) error {
		in := found[u.Stratum]
		if in == nil {
			in = map[string]int{}
			found[strings.Clone(u.Stratum)] = in
		}
		if _, ok := in[u.Cluster]; !ok {
			in[strings.Clone(u.Cluster)] = 0
		}
		in[u.Cluster]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	var c cells
	out := &Drawn{}
	first := api.SamplingStage{Unit: p.Clusters.Unit}
	for _, h := range p.Strata {
		ranked := rankClusters(seed, found[h.Name])
		chosen, err := choose(p, seed, h, ranked)
		if err != nil {
			return nil, err
		}
		for _, g := range chosen {
			take := g.size
			if p.Clusters.PerCluster > 0 {
				take = min(take, p.Clusters.PerCluster)
			}
			c.add(g.name, take, p.Reserve)
			size := float64(g.size)
			out.Clusters = append(out.Clusters, api.SurveyCluster{Name: g.name, Stratum: h.Name, Size: &size})
		}
		units, drawn := float64(len(ranked)), float64(len(chosen))
		first.Strata = append(first.Strata, api.SurveyStageStratum{Name: h.Name, Units: &units, Drawn: &drawn})
	}
	out.Stages = stagesOf(first)
	if err := c.rank(seed, f, func(u Unit) string { return u.Cluster }); err != nil {
		return nil, err
	}
	out.Units, err = c.units()
	return out, err
}

// stagesOf are the stages of a cluster sample; without strata the first says its
// numbers itself.
func stagesOf(first api.SamplingStage) []api.SamplingStage {
	if len(first.Strata) == 1 && first.Strata[0].Name == "" {
		first.Units, first.Drawn, first.Strata = first.Strata[0].Units, first.Strata[0].Drawn, nil
	}
	return []api.SamplingStage{first, {Unit: "household"}}
}

func rankClusters(seed string, found map[string]int) []group {
	by := newRanker(seed)
	out := make([]group, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, group{by.rank(name), name, found[name]})
	}
	order.Sort(out, func(a, b group) int {
		return cmp.Or(bytes.Compare(a.rank[:], b.rank[:]), strings.Compare(a.name, b.name))
	})
	return out
}

// choose takes the clusters of a stratum: the first by rank, or by size in equal
// steps over the ranked list.
func choose(p *Plan, seed string, h api.SamplePlanStratum, ranked []group) ([]group, error) {
	if h.Clusters > len(ranked) {
		return nil, fmt.Errorf("stratum %q of the frame has %d clusters, the plan takes %d", h.Name, len(ranked), h.Clusters)
	}
	if p.Clusters.Selection != bySize {
		return ranked[:h.Clusters], nil
	}
	sizes, total := make([]uint64, len(ranked)), uint64(0)
	for i, g := range ranked {
		sizes[i] = uint64(g.size)
		total += sizes[i]
	}
	if h.Clusters == 0 || total == 0 {
		return nil, nil
	}
	var out []group
	for _, i := range systematic(sizes, uint64(h.Clusters), start(seed, h.Name, total)) {
		if len(out) > 0 && out[len(out)-1].name == ranked[i].name {
			return nil, tooLong(ranked[i].name, int64(ranked[i].size), total, h.Clusters)
		}
		out = append(out, ranked[i])
	}
	return out, nil
}
