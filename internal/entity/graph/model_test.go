package graph_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// model is a graph in memory, and walks it in the plainest way.
type model struct {
	things map[string]thing
	joins  []join // oldest first
}

func (m *model) sees(c web.Caller, did string) bool {
	th, held := m.things[did]
	return !held || len(c.Projects) == 0 || slices.Contains(c.Projects, th.project)
}

func inForce(j join, f graph.Filter) bool {
	if j.removed || len(f.Roles) > 0 && !slices.Contains(f.Roles, j.role) {
		return false
	}
	if f.On.IsZero() {
		return true
	}
	on := f.On.Format(time.DateOnly)
	return (j.since == "" || j.since <= on) && (j.until == "" || on < j.until)
}

type hop struct {
	at, to string
	edge   string
	out    bool
}

// hops lists the edges of a twin that a walk may take.
func (m *model) hops(at string, d graph.Direction, f graph.Filter) []hop {
	var out, in []hop
	for i, j := range m.joins {
		if !inForce(j, f) {
			continue
		}
		if j.from == at && d != graph.In {
			out = append(out, hop{at, j.to, fmt.Sprint(i), true})
		}
		if j.to == at && d != graph.Out {
			in = append(in, hop{at, j.from, fmt.Sprint(i), false})
		}
	}
	return append(out, in...)
}

// walk gives the DIDs and edge numbers in the order they are found.
func (m *model) walk(c web.Caller, k graph.Walk) (nodes, edges []string, truncated bool) {
	nodes, edges = []string{k.Root}, []string{}
	level := []string{k.Root}
	for range k.Depth {
		var next []string
		for _, h := range m.from(level, k) {
			if slices.Contains(edges, h.edge) || !m.sees(c, h.to) {
				continue
			}
			if known := slices.Contains(nodes, h.to); !known && len(nodes) == k.Limit {
				return nodes, edges, true
			} else if !known {
				nodes, next = append(nodes, h.to), append(next, h.to)
			}
			edges = append(edges, h.edge)
		}
		level = next
	}
	return nodes, edges, false
}

// from lists the edges of the twins of a level. One that is not held has none.
func (m *model) from(level []string, k graph.Walk) (all []hop) {
	for _, at := range level {
		if _, held := m.things[at]; held {
			all = append(all, m.hops(at, k.Direction, k.Filter)...)
		}
	}
	return all
}

// distance is the length of the shortest path, -1 without one.
func (m *model) distance(c web.Caller, k graph.Way) int {
	seen, level := []string{k.From}, []string{k.From}
	for depth := 0; depth <= k.MaxDepth; depth++ {
		if slices.Contains(level, k.To) {
			return depth
		}
		var next []string
		for _, at := range level {
			for _, h := range m.hops(at, k.Direction, k.Filter) {
				if _, held := m.things[h.to]; held && m.sees(c, h.to) && !slices.Contains(seen, h.to) {
					seen, next = append(seen, h.to), append(next, h.to)
				}
			}
		}
		level = next
	}
	return -1
}

var restricted = web.Caller{Workspace: "w", DID: "did:x:ann", Scopes: []string{"*"}, Projects: []string{"did:x:p1"}}

// draw makes a random graph of a workspace and stores it.
func draw(rt *rapid.T, t *testing.T, r *rig, ws string) *model {
	m := &model{things: map[string]thing{}}
	names := []string{}
	for i := range rapid.IntRange(2, 10).Draw(rt, "twins") {
		th := thing{did: fmt.Sprintf("did:x:t%d", i), ws: ws, project: rapid.SampledFrom([]string{"did:x:p1", "did:x:p1", "did:x:p2"}).Draw(rt, "project")}
		m.things[th.did] = th
		names = append(names, th.did)
		r.twins(t, th)
	}
	targets := append(slices.Clone(names), "did:x:ext1", "did:x:ext2")
	seen := map[string]bool{}
	for range rapid.IntRange(0, 24).Draw(rt, "edges") {
		j := join{
			ws: ws, from: rapid.SampledFrom(names).Draw(rt, "from"), to: rapid.SampledFrom(targets).Draw(rt, "to"),
			role:    rapid.SampledFrom([]string{"contains", "operator"}).Draw(rt, "role"),
			since:   rapid.SampledFrom([]string{"", "2026-01-01", "2026-06-01"}).Draw(rt, "since"),
			until:   rapid.SampledFrom([]string{"", "2026-03-01", "2026-09-01"}).Draw(rt, "until"),
			removed: rapid.IntRange(0, 5).Draw(rt, "removed") == 0,
		}
		key := j.from + j.role + j.to
		if !j.removed && seen[key] {
			continue
		}
		seen[key] = seen[key] || !j.removed
		m.joins = append(m.joins, j)
	}
	r.join(t, m.joins...)
	return m
}

func drawFilter(rt *rapid.T) graph.Filter {
	f := graph.Filter{Roles: rapid.SampledFrom([][]string{nil, {"contains"}, {"operator", "contains"}}).Draw(rt, "roles")}
	if text := rapid.SampledFrom([]string{"", "2026-02-01", "2026-06-01", "2026-10-01"}).Draw(rt, "on"); text != "" {
		f.On, _ = time.Parse(time.DateOnly, text)
	}
	return f
}

// TestAgainstModel compares walks and paths over random graphs with the
// plainest way to walk them, on both databases.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			c := rapid.SampledFrom([]web.Caller{ann, restricted}).Draw(rt, "caller")
			c.Workspace = fmt.Sprintf("w%d", n)
			m := draw(rt, t, r, c.Workspace)
			checkWalk(rt, t, r, m, c)
			checkPath(rt, t, r, m, c)
		})
	})
}

func checkWalk(rt *rapid.T, t *testing.T, r *rig, m *model, c web.Caller) {
	k := graph.Walk{
		Root: "did:x:t0", Depth: rapid.IntRange(1, 6).Draw(rt, "depth"),
		Direction: rapid.SampledFrom([]graph.Direction{graph.Both, graph.Out, graph.In}).Draw(rt, "direction"),
		Filter:    drawFilter(rt), Limit: rapid.IntRange(1, 14).Draw(rt, "limit"),
	}
	g, err := r.Subgraph(as(t.Context(), c), k)
	if !m.sees(c, k.Root) {
		if codeOf(err) != "ENTITY_NOT_FOUND" {
			rt.Fatalf("Subgraph() of a hidden twin: %v, want ENTITY_NOT_FOUND", err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	nodes, numbers, truncated := m.walk(c, k)
	if diff := cmp.Diff(nodes, dids(g.Nodes)); diff != "" {
		rt.Fatalf("Subgraph(%+v) nodes (-want +got):\n%s", k, diff)
	}
	want := []string{}
	for _, at := range numbers {
		var i int
		_, _ = fmt.Sscan(at, &i)
		want = append(want, edges([]graph.Edge{{From: m.joins[i].from, Role: m.joins[i].role, To: m.joins[i].to}})...)
	}
	if diff := cmp.Diff(want, edges(g.Edges)); diff != "" {
		rt.Fatalf("Subgraph(%+v) edges (-want +got):\n%s", k, diff)
	}
	if g.Truncated != truncated {
		rt.Fatalf("Subgraph(%+v) truncated = %v, want %v", k, g.Truncated, truncated)
	}
}

func checkPath(rt *rapid.T, t *testing.T, r *rig, m *model, c web.Caller) {
	k := graph.Way{
		From: "did:x:t0", To: "did:x:t1", MaxDepth: rapid.IntRange(1, 10).Draw(rt, "maxDepth"),
		Direction: rapid.SampledFrom([]graph.Direction{graph.Both, graph.Out}).Draw(rt, "way"), Filter: drawFilter(rt),
	}
	p, err := r.Path(as(t.Context(), c), k)
	if !m.sees(c, k.From) || !m.sees(c, k.To) {
		if codeOf(err) != "ENTITY_NOT_FOUND" {
			rt.Fatalf("Path() of a hidden twin: %v, want ENTITY_NOT_FOUND", err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	want := m.distance(c, k)
	if p.Found != (want >= 0) || p.Found && p.Length != want || p.Truncated {
		rt.Fatalf("Path(%+v) = %+v, want length %d", k, p, want)
	}
	if !p.Found {
		return
	}
	if len(p.Nodes) != want+1 || p.Nodes[0].DID != k.From || p.Nodes[want].DID != k.To || len(p.Edges) != want {
		rt.Fatalf("Path(%+v) = %+v: it does not join the two", k, p)
	}
	for i, e := range p.Edges {
		a, b := p.Nodes[i].DID, p.Nodes[i+1].DID
		ok := slices.ContainsFunc(m.joins, func(j join) bool {
			return j.from == e.From && j.to == e.To && j.role == e.Role && inForce(j, k.Filter)
		})
		if !ok || !(e.From == a && e.To == b) && (k.Direction == graph.Out || !(e.From == b && e.To == a)) || !m.sees(c, b) {
			rt.Fatalf("Path(%+v) takes %+v between %s and %s", k, e, a, b)
		}
	}
}
