package statistics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// together reads which cells are to be taken as one: strata, clusters, or values
// that weights are fitted to. Joined cells have all their names with commas
// between, so that a fault about them says what to send next.
func (a *ask) together(c *fault.Checks) {
	if a.in.Join == "" {
		return
	}
	known := a.cells()
	a.join = map[string]string{}
	for text := range strings.SplitSeq(a.in.Join, "|") {
		group := strings.Split(text, ",")
		if len(group) < 2 {
			c.Add("query/join", "invalid", "Give the names of two or more cells, separated by commas.")
			return
		}
		slices.Sort(group)
		for _, name := range group {
			switch {
			case !known[name]:
				c.Add("query/join", "unknown", fmt.Sprintf("The sampling has no stratum, cluster or value of its totals %q.", name))
				return
			case a.join[name] != "":
				c.Add("query/join", "duplicate", fmt.Sprintf("%q is joined twice.", name))
				return
			}
			a.join[name] = strings.Join(group, ",")
		}
		a.groups = append(a.groups, group)
	}
}

// cells returns the names of the cells that can be joined.
func (a *ask) cells() map[string]bool {
	out := map[string]bool{}
	for _, s := range a.o.Sampling.Strata {
		out[s.Name] = true
	}
	for _, cl := range a.o.Sampling.Clusters {
		out[cl.Name] = true
	}
	for _, t := range a.totals {
		for name := range t.Values {
			out[name] = true
		}
	}
	return out
}

// joined is the cell that a cell is a part of.
func (a *ask) joined(name string) string {
	if to, ok := a.join[name]; ok {
		return to
	}
	return name
}

// margin is a known total of the population, with joined values combined.
func (a *ask) margin(t api.SurveyTotal, of []string) estimate.Margin {
	m := estimate.Margin{By: t.By, Of: of, Totals: map[string]float64{}}
	for i, name := range of {
		m.Of[i] = a.joined(name)
	}
	for name, n := range t.Values {
		m.Totals[a.joined(name)] += n
	}
	return m
}
