package graph

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRound compares the search for circles with the plainest one.
func TestRound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Int64Range(1, 8).Draw(rt, "twins")
		c := &circles{parents: map[int64][]int64{}, loaded: map[int64]bool{}, cut: map[int64]bool{}}
		for range rapid.IntRange(0, 14).Draw(rt, "edges") {
			child := rapid.Int64Range(1, n).Draw(rt, "child")
			c.parents[child] = append(c.parents[child], rapid.Int64Range(1, n).Draw(rt, "parent"))
		}
		round := c.round()
		for nid := int64(1); nid <= n; nid++ {
			c.loaded[nid] = true
			if want := c.above(nid)[nid]; round[nid] != want {
				rt.Fatalf("round(%d) = %v, want %v in %v", nid, round[nid], want, c.parents)
			}
		}
		unknown := rapid.Int64Range(1, n).Draw(rt, "unknown")
		c.loaded[unknown] = rapid.Bool().Draw(rt, "cut")
		c.cut[unknown] = c.loaded[unknown]
		for nid := int64(1); nid <= n; nid++ {
			if got, want := c.beyond(nid), nid == unknown || c.above(nid)[unknown]; got != want {
				rt.Fatalf("beyond(%d) = %v, want %v in %v", nid, got, want, c.parents)
			}
		}
	})
}

// above lists all ancestors of a twin.
func (c *circles) above(nid int64) map[int64]bool {
	seen := map[int64]bool{}
	for next := []int64{nid}; len(next) > 0; next = next[1:] {
		for _, p := range c.parents[next[0]] {
			if !seen[p] {
				seen[p] = true
				next = append(next, p)
			}
		}
	}
	return seen
}

// TestRoundIsDeep has as long a way up as the audit follows.
func TestRoundIsDeep(t *testing.T) {
	t.Parallel()
	c := &circles{parents: map[int64][]int64{}}
	for i := range int64(maxAncestors) {
		c.parents[i] = []int64{i + 1}
	}
	if n := len(c.round()); n != 0 {
		t.Errorf("%d twins of a long chain are above themselves, want none", n)
	}
	c.parents[maxAncestors] = []int64{0}
	if n := len(c.round()); n != maxAncestors+1 {
		t.Errorf("%d twins of a long circle are above themselves, want %d", n, maxAncestors+1)
	}
}
