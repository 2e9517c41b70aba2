package statistics

import (
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/survey/estimate"
)

// Callers without responses:pii see only figures that do not single out a few
// households, whether with this query or by comparing it with another one:
//
//   - A figure of fewer than 5 households is hidden; so is one that another query
//     shows with 1 to 4 households more: those that are not verified yet, or that
//     have not given the denominator of a ratio.
//   - If any part is hidden at least two are, of 5 households or more together;
//     otherwise the whole minus the others would give the hidden one.
//   - If any part is hidden the others are shown with one set of weights only, that
//     of the plain query: two sums with two sets of weights are two equations for
//     what is hidden. So there is no plain mean beside them, and there are no parts
//     at all in queries with other weights.
//   - A part that differs by 1 to 4 households from one by group or by stratum is
//     hidden, because comparing the two would reveal these households: by stratum
//     where it differs from a group, by anything else where it differs from either.
//   - A quantile is the answer of one household: at least 5 must have answered as
//     little or less, and 5 as much or more.

// sight says what the caller may see of a figure.
type sight struct {
	hidden bool
	partly bool // a part of the households is hidden in another figure: no plain mean
}

// plain reports whether the weights are the default ones of every query.
func (a *ask) plain() bool {
	return !a.in.Verified && a.in.Adjust == adjustNone && a.in.Cell == "" && a.in.Join == ""
}

// conceal says what the caller may see of figures: for each option the figure of
// all households, then those of its parts.
func (a *ask) conceal(figures []figure) []sight {
	out := make([]sight, len(figures))
	if a.whole {
		return out
	}
	for from := 0; from < len(figures); {
		to := from + 1
		for to < len(figures) && !figures[to].whole {
			to++
		}
		a.concealParts(figures[from:to], out[from:to])
		from = to
	}
	return out
}

// concealParts does it for one option.
func (a *ask) concealParts(figures []figure, out []sight) {
	for i := range figures {
		out[i].hidden = !figures[i].safe()
	}
	if a.by == nil {
		return
	}
	counts, hidden := make([]int, 0, len(figures)), make([]bool, 0, len(figures))
	// The households that have no value of by are a part that is not shown.
	rest := figures[0].f.N
	for i, f := range figures[1:] {
		counts, hidden = append(counts, f.f.N), append(hidden, out[i+1].hidden)
		rest -= f.f.N
	}
	hidden = estimate.Suppress(append(counts, rest), append(hidden, rest > 0 && rest < leastShown), leastShown)
	some := slices.Contains(hidden, true) || figures[0].thin
	for i := range figures[1:] {
		out[i+1] = sight{hidden: hidden[i] || some && !a.plain(), partly: some}
	}
	out[0].partly = some
}

// apart are by how many households a part differs from each part by group and by
// stratum that holds it, or that it holds. whole are the members of all parts.
func (a *ask) apart(sh *sheet, whole, part []bool) (out []int) {
	if a.whole {
		return nil
	}
	for _, by := range []string{"group", "stratum"} {
		if a.by.name == by { // the others give way to it
			break
		}
		sizes, common, n := map[string]int{}, map[string]int{}, 0
		for i, m := range sh.members {
			if !whole[i] || m.Outcome != estimate.Answered {
				continue
			}
			value := sh.value(variable{name: by}, i)
			if sizes[value]++; part[i] {
				common[value]++
				n++
			}
		}
		for value, shared := range common {
			if value != "" && (shared == n || shared == sizes[value]) {
				out = append(out, n+sizes[value]-2*shared)
			}
		}
	}
	return out
}

// safe reports whether a figure tells nothing about a few households.
func (f *figure) safe() bool {
	return f.f.N >= leastShown && f.covers(f.f.Value, f.f.Value) && !slices.ContainsFunc(f.beyond, few)
}

func few(n int) bool { return n > 0 && n < leastShown }

// covers reports whether enough households have said as little as one value, and
// enough as much as another.
func (f *figure) covers(low, high float64) bool {
	return f.edges == nil || low >= f.edges[0] && high <= f.edges[1]
}

// figure adds to a figure whose households it tells of, and whose others do.
func (a *ask) figure(sh *sheet, v estimate.Values, f figure) figure {
	if a.whole {
		return f
	}
	unverified, alone, without := 0, 0, 0
	parts := map[string]int{} // as the plain query has them
	var said []float64
	for i, m := range sh.members {
		counts := m.Outcome == estimate.Answered
		if v.In[i] && (counts || sh.doubted[i]) && f.whole && a.by != nil {
			parts[sh.value(*a.by, i)]++
		}
		switch {
		case v.In[i] && counts:
			said = append(said, v.Y[i])
		case v.In[i] && sh.doubted[i]:
			unverified++
		case counts && a.per != nil && (f.whole || sh.value(*a.by, i) == f.value):
			if sh.given[a.of.id].has[i] {
				alone++
			}
			if sh.given[a.per.id].has[i] {
				without++
			}
		}
	}
	f.beyond = []int{unverified, alone, without}
	for _, n := range parts {
		f.thin = f.thin || few(n)
	}
	if a.in.Statistic != quantile {
		return f
	}
	slices.Sort(said)
	if f.edges = &[2]float64{math.Inf(1), math.Inf(-1)}; len(said) >= leastShown {
		*f.edges = [2]float64{said[leastShown-1], said[len(said)-leastShown]}
	}
	return f
}
