package archtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// measure is one family of the ladder in figures. Lines are those of Go files
// that are not tests, helpers of tests included.
type measure struct {
	name                  string
	lines, packages       int
	chain, own            int
	methods, testPrograms int
	mostOwn, mostMethods  string
}

// measured gives the figures of all packages whose family is taken.
func measured(all []*file, taken func(fam string) bool) measure {
	m := measure{}
	h := newHouse(all)
	for dir, p := range packages(all) {
		fam, _, ok := family(dir)
		if !ok || !taken(fam) {
			continue
		}
		m.packages++
		m.lines += p.lines
		if p.tested {
			m.testPrograms++
		}
		if h[dir] == nil {
			continue
		}
		m.chain = max(m.chain, len(h.areaChain(fam))-1)
		if n := len(h.own(dir)); n > m.own || n == m.own && dir < m.mostOwn {
			m.own, m.mostOwn = n, dir
		}
		for typ, n := range p.methods {
			if name := dir + "." + typ; n > m.methods || n == m.methods && name < m.mostMethods {
				m.methods, m.mostMethods = n, name
			}
		}
	}
	return m
}

// product reports whether a family is part of what users get.
func product(fam string) bool {
	_, rung, _ := family(fam)
	return rung != checks
}

// library reports whether a family is under internal, client or api.
func library(fam string) bool {
	return fam == "client" || fam == "api" || strings.HasPrefix(fam, "internal/")
}

// TestMeasures prints the size and shape of the repository. It holds no bar:
// those are in TestStructure. Run it with -v before and after a change of
// structure.
func TestMeasures(t *testing.T) {
	t.Parallel()
	all := allFiles(t)
	var rows []measure
	for fam := range ladder {
		m := measured(all, func(f string) bool { return f == fam })
		m.name = fam
		if m.packages > 0 && product(fam) {
			rows = append(rows, m)
		}
	}
	slices.SortFunc(rows, func(a, b measure) int { return cmp.Compare(b.lines, a.lines) })
	total := measured(all, product)
	total.name = "together"
	whole := measured(all, func(string) bool { return true })
	if total.lines == 0 || total.lines >= whole.lines {
		t.Errorf("lines = %d of %d", total.lines, whole.lines)
	}
	var out strings.Builder
	printFamilies(&out, append(rows, total))
	h := newHouse(all)
	fmt.Fprintf(&out, "\nwith tests and tools: %d packages, %d test programs\n", whole.packages, whole.testPrograms)
	fmt.Fprintf(&out, "lines under internal, client and api: %d\n", measured(all, library).lines)
	fmt.Fprintf(&out, "longest chain: %d imports: %s\n", len(h.chain())-1, strings.Join(h.chain(), " → "))
	for _, fam := range slices.Sorted(maps.Keys(ladder)) {
		if chain := h.areaChain(fam); ladder[fam] == area && len(chain) > 0 {
			fmt.Fprintf(&out, "inside %s: %d imports: %s\n", fam, len(chain)-1, strings.Join(chain, " → "))
		}
	}
	out.WriteString("\n")
	printPackages(&out, all)
	t.Log("\n" + out.String())
}

func printFamilies(out *strings.Builder, rows []measure) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "family\tlines\tpackages\ttest programs\tlongest chain\tmost own imports\tmost methods")
	for _, m := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d %s\t%d %s\n",
			m.name, m.lines, m.packages, m.testPrograms, m.chain, m.own, m.mostOwn, m.methods, m.mostMethods)
	}
	w.Flush()
}

// printPackages lists every package, the largest first.
func printPackages(out *strings.Builder, all []*file) {
	h, every := newHouse(all), packages(all)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tlines\timporters\town imports")
	for _, p := range slices.SortedFunc(maps.Values(every), func(a, b *pack) int {
		return cmp.Or(cmp.Compare(b.lines, a.lines), cmp.Compare(a.dir, b.dir))
	}) {
		if h[p.dir] == nil {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", p.dir, p.lines, len(h.importers(p.dir)), len(h.own(p.dir)))
	}
	w.Flush()
}
