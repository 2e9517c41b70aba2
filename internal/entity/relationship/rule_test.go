package relationship_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

var domains = []string{
	"organisation", "group", "project", "asset", "device", "household", "person", "oracle", "system", "claim", "credential", "thing",
}

// The whole matrix, pair by pair: what is not here is refused.
func TestMatrix(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"implements": {"organisation project"},
		"generates":  {"project asset", "project device"},
		"produces":   {"asset claim", "device claim", "household claim"},
		"verifies":   {"oracle claim"},
		"becomes":    {"claim credential"},
		"contains":   {"organisation group", "group group", "project household", "project device"},
	}
	for _, to := range domains {
		if to != "group" {
			want["contains"] = append(want["contains"], "system "+to)
		}
	}
	if got := len(relationship.Rules()); got != len(want) {
		t.Errorf("%d rules, want %d", got, len(want))
	}
	for role, pairs := range want {
		rule, inverse, ok := relationship.Of(role)
		if !ok || inverse {
			t.Fatalf("Of(%q) = %v, inverse %v, want a rule", role, rule, inverse)
		}
		for _, from := range domains {
			for _, to := range domains {
				if got, want := rule.Joins(from, to), slices.Contains(pairs, from+" "+to); got != want {
					t.Errorf("%s %s %s = %v, want %v", from, role, to, got, want)
				}
			}
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for role, inverse := range map[string]string{
		"implements": "implementedBy", "generates": "generatedBy", "produces": "producedBy",
		"verifies": "verifiedBy", "becomes": "becameFrom", "contains": "partOf",
	} {
		if got := relationship.Inverse(role); got != inverse {
			t.Errorf("Inverse(%q) = %q, want %q", role, got, inverse)
		}
		if got := relationship.Inverse(inverse); got != "" {
			t.Errorf("Inverse(%q) = %q, want none", inverse, got)
		}
		r, back, ok := relationship.Of(inverse)
		if !ok || !back || r.Role != role {
			t.Errorf("Of(%q) = %q, %v, want %q as the inverse", inverse, r.Role, back, role)
		}
	}
	for _, word := range []string{"", "operator", "project", "Implements", "implemented"} {
		if _, _, ok := relationship.Of(word); ok {
			t.Errorf("Of(%q) is a rule, want none", word)
		}
	}
	for _, role := range []string{"contains", "generates"} {
		if !relationship.Orders(role) {
			t.Errorf("Orders(%q) = false", role)
		}
	}
	for _, role := range []string{"implements", "operator", "partOf"} {
		if relationship.Orders(role) {
			t.Errorf("Orders(%q) = true", role)
		}
	}
}

func TestPartners(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ word, domain, want string }{
		{"implements", "organisation", "project"},
		{"implementedBy", "project", "organisation"},
		{"implements", "project", ""},
		{"implementedBy", "organisation", ""},
		{"generates", "project", "asset device"},
		{"producedBy", "claim", "asset device household"},
		{"partOf", "group", "organisation group"},
		{"partOf", "device", "system project"},
		{"contains", "system", "*"},
	} {
		r, inverse, _ := relationship.Of(tt.word)
		if got := strings.Join(r.Partners(tt.domain, inverse), " "); got != tt.want {
			t.Errorf("partners of %s by %s = %q, want %q", tt.domain, tt.word, got, tt.want)
		}
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	want := []string{"implementedBy project", "generatedBy asset", "generatedBy device", "partOf household", "partOf device"}
	for _, r := range relationship.Rules() {
		for _, word := range []string{r.Role, r.Inverse} {
			for _, d := range domains {
				if got, want := relationship.Outside(word, d), slices.Contains(want, word+" "+d); got != want {
					t.Errorf("Outside(%q, %q) = %v, want %v", word, d, got, want)
				}
			}
		}
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"project": "implementedBy", "asset": "generatedBy", "group": "partOf", "claim": "producedBy", "credential": "becameFrom",
	}
	for _, d := range domains {
		if got := relationship.Required(d); got != want[d] {
			t.Errorf("Required(%q) = %q, want %q", d, got, want[d])
		}
	}
}

func TestBinds(t *testing.T) {
	t.Parallel()
	want := map[string]bool{"implements": true, "produces": true, "verifies": true, "becomes": true}
	for _, r := range relationship.Rules() {
		if got := relationship.Binds(r.Role); got != want[r.Role] {
			t.Errorf("Binds(%q) = %v, want %v", r.Role, got, want[r.Role])
		}
	}
}

func TestIsWord(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"operator": true, "implementedBy": true, "a": true, "member2": true, strings.Repeat("a", 64): true,
		"": false, "Operator": false, "2nd": false, "a b": false, "a-b": false, "a_b": false, "é": false, "a\x00": false, strings.Repeat("a", 65): false,
	} {
		if got := relationship.IsWord(s); got != want {
			t.Errorf("IsWord(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestReaches(t *testing.T) {
	t.Parallel()
	parents := map[int64][]int64{1: {2}, 2: {3, 4}, 4: {5}, 5: {2}} // 2, 4 and 5 form a circle
	above := func(n int64) ([]int64, error) { return parents[n], nil }
	for _, tt := range []struct {
		start, goal int64
		want        bool
	}{{1, 1, true}, {1, 3, true}, {1, 5, true}, {3, 1, false}, {5, 4, true}, {4, 1, false}, {9, 1, false}} {
		if got, err := relationship.Reaches(tt.start, tt.goal, 100, above); got != tt.want || err != nil {
			t.Errorf("Reaches(%d, %d) = %v, %v, want %v", tt.start, tt.goal, got, err, tt.want)
		}
	}
	chain := func(n int64) ([]int64, error) { return []int64{n + 1}, nil }
	if _, err := relationship.Reaches(1, -1, 1000, chain); !errors.Is(err, relationship.ErrTooFar) {
		t.Errorf("an endless chain = %v, want ErrTooFar", err)
	}
	if got, err := relationship.Reaches(1, 900, 1000, chain); !got || err != nil {
		t.Errorf("900 steps = %v, %v, want true", got, err)
	}
	broken := errors.New("broken")
	if _, err := relationship.Reaches(1, 2, 10, func(int64) ([]int64, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("a failing look = %v, want it out", err)
	}
}

// Adding edges one by one, each after a check, never makes a circle, and
// refuses none that would not.
func TestReachesKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const nodes = 8
		parents := map[int64][]int64{}
		above := func(n int64) ([]int64, error) { return parents[n], nil }
		for range rapid.IntRange(0, 30).Draw(t, "edges") {
			src, dst := rapid.Int64Range(1, nodes).Draw(t, "src"), rapid.Int64Range(1, nodes).Draw(t, "dst")
			got, err := relationship.Reaches(src, dst, 100, above)
			if err != nil {
				t.Fatal(err)
			}
			if want := onPath(parents, src, dst, nodes); got != want {
				t.Fatalf("Reaches(%d, %d) = %v, want %v in %v", src, dst, got, want, parents)
			}
			if !got {
				parents[dst] = append(parents[dst], src)
			}
		}
	})
}

// onPath is the plain definition: some path of at most depth steps leads up.
func onPath(parents map[int64][]int64, at, goal int64, depth int) bool {
	if at == goal {
		return true
	}
	return depth > 0 && slices.ContainsFunc(parents[at], func(p int64) bool { return onPath(parents, p, goal, depth-1) })
}
