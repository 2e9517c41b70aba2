// Package estimate is design-based inference: figures about a population from a
// sample of it, and how far they may be off.
//
// A Plan says how the sample was drawn; together with what became of each
// household it makes a Design: the weights, and the stages at which chance came
// in. Every statistic is linearised to a variable whose total varies as the
// statistic does; one function gives the variance of a total over strata,
// clusters and the fractions of the population sampled at each stage. A part of
// the population is the whole design with zeros outside of it.
//
// The package is mathematics: it knows no storage and no API. Its faults name
// the strata or clusters that are too small, and what to join them with.
package estimate

import (
	"cmp"
	"slices"
)

// Outcome is the result for a household of the sample.
type Outcome uint8

// The outcomes. An ineligible household is known to be outside of the estimated
// population, and keeps its weight. Households of the same cell that answered
// represent the others.
const (
	Missing Outcome = iota
	Ineligible
	Answered
)

// Member is a household of the sample.
type Member struct {
	ID      string // the same in samples that are compared
	Stratum string
	Cluster string // "" where households are drawn directly
	Outcome Outcome
}

// Stratum is a part of the population that was sampled separately.
type Stratum struct {
	Name       string
	Population float64 // households; 0 when it is not known
	Clusters   float64 // first-stage units in all; 0 when it is not known
}

// Cluster is a first-stage unit.
type Cluster struct {
	Stratum string
	Name    string
	Size    float64 // households
	Of      int     // drawn clusters that it was joined from; 0 for one
}

// Plan is how a sample was drawn.
type Plan struct {
	Strata    []Stratum // one without a name when the sample is not stratified
	Clusters  []Cluster
	Clustered bool // clusters are drawn first
	BySize    bool // clusters with a chance that grows with their size
	// WideCells lets all clusters of a stratum represent missing answers,
	// instead of the cluster alone.
	WideCells bool
}

// Design is a sample with its weights. It does not change.
type Design struct {
	members []Member
	weights []float64 // of the members; 0 for those that say nothing
	strata  []*node
	margins []margin // what the weights were fitted to
	known   bool     // the weights add up to the population
}

// Weight is the number of households a member represents.
func (d *Design) Weight(i int) float64 { return d.weights[i] }

// Known reports whether the weights add up to the population, so that totals
// can be given.
func (d *Design) Known() bool { return d.known }

// Complete reports whether the sample is the whole population, so that no
// figure depends on chance.
func (d *Design) Complete() bool {
	return !slices.ContainsFunc(d.strata, func(h *node) bool { return !h.all() })
}

func (d *Design) stratum(name string) *node {
	i, ok := slices.BinarySearchFunc(d.strata, name, func(h *node, name string) int { return cmp.Compare(h.name, name) })
	if !ok {
		return nil
	}
	return d.strata[i]
}

// Weigh makes the design of a sample. The faults are SAMPLE_EMPTY,
// POPULATION_UNKNOWN, CELL_EMPTY and CELL_TOO_SMALL.
func (p *Plan) Weigh(members []Member) (*Design, error) {
	cells := p.cells(members)
	if len(cells) == 0 {
		return nil, errEmpty
	}
	if err := p.check(cells); err != nil {
		return nil, err
	}
	d := &Design{members: members, weights: make([]float64, len(members)), known: true}
	for _, h := range cells {
		d.known = d.known && h.known(p)
		if p.Clustered {
			p.weighClusters(d, h)
		} else {
			factor := 1.0
			if h.population > 0 {
				factor = h.population / float64(len(h.counted))
			}
			d.spread(h.counted, factor)
		}
		d.strata = append(d.strata, p.tree(h))
	}
	return d, nil
}

func (d *Design) spread(rows []int, weight float64) {
	for _, row := range rows {
		d.weights[row] = weight
	}
}

// weighClusters gives the weights of a stratum whose clusters were drawn first.
func (p *Plan) weighClusters(d *Design, h *cell) {
	drawn := h.firsts()
	var whole, said float64
	for _, c := range h.clusters {
		first := 1.0
		switch {
		case p.BySize:
			first = c.of * h.population / (drawn * c.population)
		case h.units > 0:
			first = h.units / drawn
		}
		w := first * c.population / float64(c.drawn)
		whole += w * float64(c.drawn)
		said += w * float64(len(c.counted))
		if !p.WideCells {
			w = first * c.population / float64(len(c.counted))
		}
		d.spread(c.counted, w)
	}
	if !p.WideCells {
		return
	}
	for _, c := range h.clusters {
		for _, row := range c.counted {
			d.weights[row] *= whole / said
		}
	}
}

// tree is the stages of a stratum, of the households that count.
func (p *Plan) tree(h *cell) *node {
	if !p.Clustered {
		return &node{name: h.name, population: h.population, rows: h.counted}
	}
	n := &node{name: h.name, population: h.left()}
	if p.BySize {
		n.population = 0 // taken as drawn with replacement
	}
	for _, c := range h.clusters {
		if len(c.counted) > 0 {
			n.nodes = append(n.nodes, &node{name: c.name, population: c.population, rows: c.counted})
		}
	}
	return n
}

// freedom is the degrees of freedom of a part of the sample: the first-stage
// units it has members of, less the strata.
func (d *Design) freedom(rows []int) float64 {
	in := make([]bool, len(d.members))
	for _, row := range rows {
		in[row] = true
	}
	df := 0
	for _, h := range d.strata {
		units := 0
		for _, row := range h.rows {
			if in[row] {
				units++
			}
		}
		for _, c := range h.nodes {
			if slices.ContainsFunc(c.rows, func(row int) bool { return in[row] }) {
				units++
			}
		}
		df += max(0, units-1)
	}
	return float64(df)
}
