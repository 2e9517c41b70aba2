package estimate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

var (
	errEmpty     = fault.New(fault.Unprocessable, "SAMPLE_EMPTY", "No household of the sample has answered.")
	errCellEmpty = fault.New(fault.Unprocessable, "CELL_EMPTY", "No household of a cell has answered, so no other can make up for them. Join the cell with another one:")
	errAlone     = fault.New(fault.Unprocessable, "CELL_TOO_SMALL", "One unit alone shows no variance, and there is no other cell to join it with: draw or list more households or clusters, so that at least two of them answer.")
	errCellSmall = fault.New(fault.Unprocessable, "CELL_TOO_SMALL", "One unit alone shows no variance. Join the cell with another one:")
)

// Join is a cell that is too small, and another one to join it with.
type Join struct {
	Stratum string `json:"stratum,omitzero"`
	Cluster string `json:"cluster,omitzero"`
	Value   string `json:"value,omitzero" doc:"Value of a question or a group that weights are fitted to."`
	N       int    `json:"n" doc:"How many households in it count."`
	With    string `json:"with,omitzero" doc:"The smallest of the other cells: join the two."`
}

// Joins is the data for programs in a fault about small cells.
type Joins struct {
	Cells []Join `json:"cells,omitzero"`
	Join  string `json:"join,omitzero" doc:"The value to send as the parameter join." example:"north,east"`
}

// maxJoins bounds how many cells a fault names.
const maxJoins = 50

// cell is a stratum, or a cluster in one.
type cell struct {
	name       string
	population float64 // households
	units      float64 // clusters in all
	of         float64 // drawn clusters that it was joined from
	drawn      int
	counted    []int // members that answered or are not eligible
	clusters   []*cell
	unplanned  bool // the plan does not know it
}

// known reports whether the weights of a stratum add up to its population.
func (h *cell) known(p *Plan) bool {
	if p.Clustered && !p.BySize {
		return h.units > 0
	}
	return h.population > 0
}

// firsts is how many clusters of a stratum were drawn.
func (h *cell) firsts() (n float64) {
	for _, c := range h.clusters {
		n += c.of
	}
	return n
}

// left is how many clusters a stratum has, with those that were joined as one.
func (h *cell) left() float64 {
	if h.units == 0 {
		return 0
	}
	return h.units - h.firsts() + float64(len(h.clusters))
}

// cells sorts the members into strata and clusters, in the order of their names.
func (p *Plan) cells(members []Member) []*cell {
	type key struct{ stratum, cluster string }
	strata, clusters := map[string]*cell{}, map[key]*cell{}
	var out []*cell
	for _, h := range p.Strata {
		c := &cell{name: h.Name, population: h.Population, units: h.Clusters}
		strata[h.Name], out = c, append(out, c)
	}
	sizes := make(map[key]Cluster, len(p.Clusters))
	for _, c := range p.Clusters {
		sizes[key{c.Stratum, c.Name}] = c
	}
	for i, m := range members {
		h := strata[m.Stratum]
		if h == nil {
			h = &cell{name: m.Stratum, unplanned: true}
			strata[m.Stratum], out = h, append(out, h)
		}
		h.take(i, m)
		if !p.Clustered {
			continue
		}
		k := key{m.Stratum, m.Cluster}
		c := clusters[k]
		if c == nil {
			c = &cell{name: m.Cluster, population: sizes[k].Size, of: float64(max(1, sizes[k].Of))}
			clusters[k], h.clusters = c, append(h.clusters, c)
		}
		c.take(i, m)
	}
	order(out)
	for _, h := range out {
		order(h.clusters)
	}
	return out
}

func order(cells []*cell) {
	slices.SortFunc(cells, func(a, b *cell) int { return cmp.Compare(a.name, b.name) })
}

func (c *cell) take(i int, m Member) {
	c.drawn++
	if m.Outcome != Missing {
		c.counted = append(c.counted, i)
	}
}

// check refuses cells that nothing can be said of.
func (p *Plan) check(strata []*cell) error {
	answered := 0
	for _, h := range strata {
		answered += len(h.counted)
	}
	if answered == 0 {
		return errEmpty
	}
	if err := p.checkPopulations(strata); err != nil {
		return err
	}
	var empty, small []Join
	for _, h := range strata {
		n, all := len(h.counted), h.population
		if p.Clustered {
			e, s := p.checkClusters(h)
			empty, small = append(empty, e...), append(small, s...)
			n, all = h.answering(), h.left()
		}
		switch with := smallest(strata, h); {
		case len(h.counted) == 0:
			empty = append(empty, Join{Stratum: h.name, With: with})
		case n == 1 && all != 1:
			small = append(small, Join{Stratum: h.name, N: n, With: with})
		}
	}
	if len(empty) > 0 {
		return joins(errCellEmpty, empty)
	}
	if slices.ContainsFunc(small, func(j Join) bool { return j.With != "" }) {
		return joins(errCellSmall, small)
	}
	if len(small) > 0 {
		return errAlone.Showing(Joins{Cells: small[:min(len(small), maxJoins)]})
	}
	return nil
}

// answering is the number of clusters with at least one answer.
func (h *cell) answering() int {
	n := 0
	for _, c := range h.clusters {
		n += min(1, len(c.counted))
	}
	return n
}

// checkClusters gives the clusters of a stratum without answers, and those with
// one household where the second stage counts.
func (p *Plan) checkClusters(h *cell) (empty, small []Join) {
	for _, c := range h.clusters {
		join := Join{Stratum: h.name, Cluster: c.name, N: len(c.counted), With: smallest(h.clusters, c)}
		switch {
		case len(c.counted) == 0 && !p.WideCells:
			empty = append(empty, join)
		case len(c.counted) == 1 && c.population != 1 && !p.BySize && h.units > 0:
			small = append(small, join)
		}
	}
	return empty, small
}

// checkPopulations refuses weights that would have to be made up. One stratum
// alone needs no population: its weights are the same for all.
func (p *Plan) checkPopulations(strata []*cell) error {
	var names []string
	for _, h := range strata {
		need := len(strata) > 1 && !h.known(p) || h.unplanned && len(p.Strata) > 0
		if need || p.Clustered && p.BySize && h.population <= 0 {
			names = append(names, quoted("stratum", h.name))
		}
		short := h.population > 0 && float64(len(h.counted)) > h.population
		if short || p.Clustered && h.units > 0 && h.firsts() > h.units {
			return fault.New(fault.Unprocessable, "POPULATION_TOO_SMALL", "More answered in "+quoted("stratum", h.name)+" than there are in its population.")
		}
		for _, c := range h.clusters {
			if c.population <= 0 {
				names = append(names, quoted("cluster", c.name))
			}
			if c.population > 0 && float64(len(c.counted)) > c.population {
				return fault.New(fault.Unprocessable, "POPULATION_TOO_SMALL", "More answered in "+quoted("cluster", c.name)+" than its size.")
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if len(names) > maxJoins {
		names, more = names[:maxJoins], " and others"
	}
	return fault.New(fault.Unprocessable, "POPULATION_UNKNOWN", "The weights need the population of "+strings.Join(names, ", ")+more+".")
}

func quoted(kind, name string) string {
	if name == "" {
		return kind + " without a name"
	}
	return fmt.Sprintf("%s %q", kind, name)
}

// smallest is the name of the smallest other cell that has answers.
func smallest(cells []*cell, but *cell) string {
	var found *cell
	for _, c := range cells {
		if c != but && len(c.counted) > 0 && (found == nil || len(c.counted) < len(found.counted)) {
			found = c
		}
	}
	if found == nil {
		return ""
	}
	return found.name
}

// joins names the cells in a fault about them.
func joins(about *fault.Error, cells []Join) error {
	if len(cells) > maxJoins {
		cells = cells[:maxJoins]
	}
	var names []string
	for _, c := range cells {
		name := quoted("stratum", c.Stratum)
		switch {
		case c.Cluster != "":
			name = quoted("cluster", c.Cluster)
		case c.Value != "":
			name = quoted("value", c.Value)
		}
		if c.With != "" {
			name += fmt.Sprintf(" with %q", c.With)
		}
		names = append(names, name)
	}
	out := about.Showing(Joins{cells, together(cells)})
	out.Message += " " + strings.Join(names, ", ") + "."
	return out
}

// together are the cells to be joined: names with commas between, and bars
// between those that become different ones.
func together(cells []Join) string {
	var groups [][]string
	for _, c := range cells {
		if c.With == "" {
			continue
		}
		group := []string{cmp.Or(c.Cluster, c.Value, c.Stratum), c.With}
		rest := groups[:0]
		for _, g := range groups {
			if slices.ContainsFunc(g, func(name string) bool { return slices.Contains(group, name) }) {
				group = append(g, slices.DeleteFunc(group, func(name string) bool { return slices.Contains(g, name) })...)
			} else {
				rest = append(rest, g)
			}
		}
		groups = append(rest, group)
	}
	var out []string
	for _, g := range groups {
		slices.Sort(g)
		out = append(out, strings.Join(g, ","))
	}
	return strings.Join(out, "|")
}
