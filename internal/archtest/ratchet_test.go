package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule is a bar of the structure, and the sentence about what is beyond it.
type rule struct {
	bar  int
	text string
}

// minAlone is how many lines a package with a single importer has at least.
const minAlone = 150

// The bars. A chain is counted in imports; small packages and missing files
// are named, and count 1 each.
var (
	longChain   = rule{12, "{name}: {n} imports in a row, at most {bar}: fold or move a package of the chain"}
	areaChain   = rule{5, "{name}: {n} imports in a row inside the family, at most {bar}: fold or move a package of the chain"}
	ownImports  = rule{8, "{name} imports {n} packages of its own family, at most {bar}: fold those whose rules are its own"}
	smallAlone  = rule{0, fmt.Sprintf("{name} has under %d lines and a single importer: fold it into that one", minAlone)}
	manyMethods = rule{40, "{name} has {n} methods, at most {bar}: give some of them a type of their own"}
	missingFile = rule{0, "{name} is missing: the root of an area has <noun>.go, service.go, http.go, and store.go where it stores"}
)

func (r rule) about(name string, n int) string {
	return strings.NewReplacer("{name}", name, "{n}", strconv.Itoa(n), "{bar}", strconv.Itoa(r.bar)).Replace(r.text)
}

// held is what was beyond a bar when the bar was set. A figure only goes down:
// whoever makes one smaller writes the smaller one here, and takes out the line
// of what is no longer beyond. Nothing is added. TestMeasures prints today's
// figures:
//
//	go test -run TestMeasures -v ./internal/archtest
var held = map[rule]map[string]int{}

// ratchet finds what is beyond a bar and not held, beyond what is held, or
// held too high.
func ratchet(now, held map[rule]map[string]int) []finding {
	var found []finding
	for _, r := range []rule{longChain, areaChain, ownImports, smallAlone, manyMethods, missingFile} {
		for _, name := range slices.Sorted(maps.Keys(now[r])) {
			figure, limit := now[r][name], held[r][name]
			what := r.about(name, figure)
			switch {
			case limit == 0:
				found = append(found, finding{"structure", what})
			case figure > limit:
				found = append(found, finding{"structure", fmt.Sprintf("%s (it had %d)", what, limit)})
			case figure < limit:
				found = append(found, lower(name, limit, fmt.Sprint("write ", figure)))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(held[r])) {
			if now[r][name] == 0 {
				found = append(found, lower(name, held[r][name], "take it out"))
			}
		}
	}
	return found
}

// lower asks for a smaller figure in the table.
func lower(name string, limit int, todo string) finding {
	return finding{"internal/archtest/ratchet_test.go", fmt.Sprintf("held says %d for %s, which is better now: %s", limit, name, todo)}
}

func TestRatchetFindsBad(t *testing.T) {
	t.Parallel()
	of := func(n int) map[rule]map[string]int {
		return map[rule]map[string]int{manyMethods: {"internal/web.T": n}}
	}
	for _, tt := range []struct {
		name      string
		now, held map[rule]map[string]int
		want      string
	}{
		{"none", nil, nil, ""},
		{"held", of(50), of(50), ""},
		{"new", of(50), nil, "internal/web.T has 50 methods"},
		{"grown", of(51), of(50), "it had 50"},
		{"better", of(49), of(50), "write 49"},
		{"cured", nil, of(50), "take it out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, ratchet(tt.now, tt.held), tt.want)
		})
	}
}
