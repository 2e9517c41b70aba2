package graph_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func codeOf(err error) string { return fault.CodeOf(err) }

func (r *rig) walk(t *testing.T, c web.Caller, k graph.Walk) *graph.Graph {
	t.Helper()
	if k.Depth == 0 {
		k.Depth = 2
	}
	if k.Direction == "" {
		k.Direction = graph.Both
	}
	if k.Limit == 0 {
		k.Limit = 1000
	}
	g, err := r.Subgraph(as(t.Context(), c), k)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestHub(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.hub(t, 10_000, 1_200)
		g := r.walk(t, ann, graph.Walk{Root: "did:x:hub"})
		if len(g.Nodes) != 1000 || len(g.Edges) != 999 || !g.Truncated {
			t.Errorf("walk from the hub = %d nodes, %d edges, truncated %v; want 1000, 999, true", len(g.Nodes), len(g.Edges), g.Truncated)
		}
		for i, e := range g.Edges {
			if want := fmt.Sprintf("did:x:entity:%032x", i); e.To != want || g.Nodes[i+1].DID != want || g.Nodes[i+1].Depth != 1 {
				t.Fatalf("edge %d leads to %s and node %d is %+v, want %s: the oldest edges first", i, e.To, i+1, g.Nodes[i+1], want)
			}
		}
		leaf := fmt.Sprintf("did:x:entity:%032x", 1_199)
		g = r.walk(t, ann, graph.Walk{Root: leaf, Depth: 1})
		if diff := cmp.Diff([]string{leaf, "did:x:hub"}, dids(g.Nodes)); diff != "" || g.Truncated {
			t.Errorf("walk from a leaf (-want +got), truncated %v:\n%s", g.Truncated, diff)
		}
		g = r.walk(t, ann, graph.Walk{Root: leaf, Limit: 10_000})
		if len(g.Nodes) != 10_000 || len(g.Edges) != 9_999 || !g.Truncated || g.Nodes[1].DID != "did:x:hub" {
			t.Errorf("walk from a leaf over the hub = %d nodes, %d edges, truncated %v", len(g.Nodes), len(g.Edges), g.Truncated)
		}
		p, err := r.Path(as(t.Context(), ann), graph.Way{From: leaf, To: fmt.Sprintf("did:x:entity:%032x", 700), MaxDepth: 6, Direction: graph.Both})
		if err != nil || !p.Found || p.Length != 2 || p.Nodes[1].DID != "did:x:hub" {
			t.Errorf("path between two leaves = %+v, %v; want one over the hub", p, err)
		}
	})
}

// TestManyHubs has a level whose edges are too many to be read together.
func TestManyHubs(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:root"}, thing{did: "did:x:a"}, thing{did: "did:x:b"}, thing{did: "did:x:c"})
		joins := []join{{from: "did:x:root", role: "to", to: "did:x:c"}, {from: "did:x:root", role: "to", to: "did:x:a"}, {from: "did:x:root", role: "to", to: "did:x:b"}}
		want := []string{"did:x:root", "did:x:c", "did:x:a", "did:x:b"}
		for i := range 1_200 { // interleaved, so that age alone would mix them
			joins = append(joins,
				join{from: "did:x:a", role: "to", to: fmt.Sprintf("did:x:ext:a%d", i)}, join{from: "did:x:b", role: "to", to: fmt.Sprintf("did:x:ext:b%d", i)})
		}
		for _, hub := range []string{"a", "b"} {
			for i := range 1_200 {
				want = append(want, fmt.Sprintf("did:x:ext:%s%d", hub, i))
			}
		}
		r.join(t, joins...)
		for _, limit := range []int{1_000, 2_000, 10_000} {
			g := r.walk(t, ann, graph.Walk{Root: "did:x:root", Limit: limit})
			if n := min(limit, len(want)); !slices.Equal(dids(g.Nodes), want[:n]) || g.Truncated != (n < len(want)) || len(g.Edges) != n-1 {
				t.Errorf("limit %d: %d nodes, %d edges, truncated %v; want the first %d of c, a, b, the targets of a, those of b", limit, len(g.Nodes), len(g.Edges), g.Truncated, n)
			}
		}
		r.SetLooked(1_500)
		g := r.walk(t, ann, graph.Walk{Root: "did:x:root", Limit: 10_000, Direction: graph.Out})
		if len(g.Edges) != 1_500 || !g.Truncated || !slices.Equal(dids(g.Nodes), want[:1_501]) {
			t.Errorf("with 1,500 edges to look at: %d edges, truncated %v", len(g.Edges), g.Truncated)
		}
		r.SetLooked(2_403)
		if g = r.walk(t, ann, graph.Walk{Root: "did:x:root", Limit: 10_000, Direction: graph.Out}); len(g.Edges) != 2_403 || g.Truncated {
			t.Errorf("with just enough edges to look at: %d edges, truncated %v; want all, not truncated", len(g.Edges), g.Truncated)
		}
	})
}

func TestLookedAtBoundsFilters(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:a"}, thing{did: "did:x:b"})
		var joins []join
		for i := range 300 {
			joins = append(joins, join{from: "did:x:a", role: "other", to: fmt.Sprintf("did:x:ext:%d", i)})
		}
		r.join(t, append(joins, join{from: "did:x:a", role: "rare", to: "did:x:b"})...)
		r.SetLooked(200)
		f := graph.Filter{Roles: []string{"rare"}}
		if g := r.walk(t, ann, graph.Walk{Root: "did:x:a", Filter: f}); len(g.Nodes) != 1 || !g.Truncated {
			t.Errorf("walk = %v, truncated %v; want to stop and say so", dids(g.Nodes), g.Truncated)
		}
		p, err := r.Path(as(t.Context(), ann), graph.Way{From: "did:x:a", To: "did:x:b", MaxDepth: 2, Direction: graph.Out, Filter: f})
		if err != nil || p.Found || !p.Truncated {
			t.Errorf("Path() = %+v, %v; want truncated", p, err)
		}
	})
}

func TestCircle(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:a"}, thing{did: "did:x:b"}, thing{did: "did:x:c"})
		r.join(t, join{from: "did:x:a", role: "knows", to: "did:x:b"}, join{from: "did:x:b", role: "knows", to: "did:x:c"},
			join{from: "did:x:c", role: "knows", to: "did:x:a"}, join{from: "did:x:a", role: "knows", to: "did:x:a"})
		g := r.walk(t, ann, graph.Walk{Root: "did:x:a", Depth: 6})
		if diff := cmp.Diff([]string{"a knows b", "a knows a", "c knows a", "b knows c"}, edges(g.Edges)); diff != "" || len(g.Nodes) != 3 {
			t.Errorf("circle (-want +got), %d nodes:\n%s", len(g.Nodes), diff)
		}
	})
}

// TestWalls has edges that lead where the caller may not look, one of them by
// a mistake in the store.
func TestWalls(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:a", project: "did:x:p1"}, thing{did: "did:x:hidden", project: "did:x:p2"}, thing{did: "did:x:none"},
			thing{did: "did:x:behind", project: "did:x:p1"}, thing{did: "did:x:a", ws: "v"}, thing{did: "did:x:foreign", ws: "v"})
		r.join(t, join{from: "did:x:a", role: "to", to: "did:x:hidden"}, join{from: "did:x:hidden", role: "to", to: "did:x:behind"},
			join{from: "did:x:none", role: "to", to: "did:x:a"}, join{ws: "v", from: "did:x:a", role: "to", to: "did:x:foreign"})
		r.nids["w did:x:foreign"] = r.nids["v did:x:foreign"]
		r.join(t, join{from: "did:x:a", role: "broken", to: "did:x:foreign"})

		if got, want := dids(r.walk(t, ann, graph.Walk{Root: "did:x:a"}).Nodes), []string{"did:x:a", "did:x:hidden", "did:x:none", "did:x:behind"}; !slices.Equal(got, want) {
			t.Errorf("walk = %v, want %v", got, want)
		}
		if got := dids(r.walk(t, restricted, graph.Walk{Root: "did:x:a", Depth: 6}).Nodes); !slices.Equal(got, []string{"did:x:a"}) {
			t.Errorf("walk of a key for one project = %v, want did:x:a alone", got)
		}
		for _, did := range []string{"did:x:hidden", "did:x:none", "did:x:foreign", "did:x:nowhere"} {
			if _, err := r.Subgraph(as(t.Context(), restricted), graph.Walk{Root: did, Depth: 1, Direction: graph.Both, Limit: 10}); codeOf(err) != "ENTITY_NOT_FOUND" {
				t.Errorf("Subgraph(%s) = %v, want ENTITY_NOT_FOUND", did, err)
			}
		}
		k := graph.Way{From: "did:x:a", To: "did:x:behind", MaxDepth: 6, Direction: graph.Both}
		if p, err := r.Path(as(t.Context(), restricted), k); err != nil || p.Found || p.Truncated {
			t.Errorf("Path() through a hidden twin = %+v, %v; want none", p, err)
		}
		if p, err := r.Path(as(t.Context(), ann), k); err != nil || p.Length != 2 {
			t.Errorf("Path() = %+v, %v; want length 2", p, err)
		}
		items, _, err := r.Neighbours(as(t.Context(), restricted), graph.Ask{DID: "did:x:a", Direction: graph.Both, Limit: 10}, graph.Position{})
		if err != nil || len(items) != 0 {
			t.Errorf("Neighbours() = %+v, %v; want none", items, err)
		}
	})
}

// A deactivated twin stays where it was, and is told apart by its status.
func TestDeactivated(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:a"}, thing{did: "did:x:gone", status: entity.StatusDeactivated}, thing{did: "did:x:b"})
		r.join(t, join{from: "did:x:a", role: "contains", to: "did:x:gone"}, join{from: "did:x:gone", role: "contains", to: "did:x:b"})
		ctx := web.WithCaller(t.Context(), ann)
		p, err := r.Path(ctx, graph.Way{From: "did:x:a", To: "did:x:b", MaxDepth: 3, Direction: graph.Both})
		if err != nil || !p.Found || p.Nodes[1].Status != entity.StatusDeactivated {
			t.Errorf("path = %+v, %v, want one whose second twin is deactivated", p, err)
		}
		list, _, err := r.Neighbours(ctx, graph.Ask{DID: "did:x:a", Direction: graph.Out, Limit: 10}, graph.Position{})
		if err != nil || len(list) != 1 || list[0].Node.Status != entity.StatusDeactivated {
			t.Errorf("neighbours = %+v, %v, want a deactivated one", list, err)
		}
	})
}

// TestExternal has edges to twins that are not held, one of which is by now.
func TestExternal(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:a"}, thing{did: "did:x:b"})
		r.join(t, join{from: "did:x:a", role: "operator", to: "did:x:out"}, join{from: "did:x:a", role: "verifier", to: "did:x:out"},
			join{from: "did:x:a", role: "maker", to: "did:x:late"}, join{from: "did:x:a", role: "next", to: "did:x:b"})
		r.twins(t, thing{did: "did:x:late", name: "Late"})
		r.join(t, join{from: "did:x:b", role: "maker", to: "did:x:late"}, join{from: "did:x:late", role: "uses", to: "did:x:out"})
		g := r.walk(t, ann, graph.Walk{Root: "did:x:a", Depth: 3})
		want := []string{"a operator out", "a verifier out", "a maker late", "a next b", "b maker late", "late uses out"}
		if diff := cmp.Diff(want, edges(g.Edges)); diff != "" {
			t.Errorf("edges (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"did:x:a", "did:x:out", "did:x:late", "did:x:b"}, dids(g.Nodes)); diff != "" {
			t.Fatalf("nodes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(graph.Node{Twin: graph.Twin{DID: "did:x:out", External: true}, Depth: 1}, g.Nodes[1]); diff != "" {
			t.Errorf("external twin (-want +got):\n%s", diff)
		}
		if late := g.Nodes[2]; late.External || late.Name != "Late" || late.Depth != 1 {
			t.Errorf("a twin that is held by now = %+v, want its record", late)
		}
		if !g.Edges[0].External || g.Edges[3].External {
			t.Errorf("edges are external %v and %v, want true and false", g.Edges[0].External, g.Edges[3].External)
		}
	})
}

// TestWords has texts that a careless reading would mix up.
func TestWords(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:a", name: "Ümläut & <tags> \"quotes\" 7 8", project: "did:x:p/1", status: entity.StatusDraft, domain: "household"})
		if _, err := d.Exec(t.Context(), `UPDATE entities SET type = $1`, "ein Öfen 🔥 12"); err != nil {
			t.Fatal(err)
		}
		want := graph.Twin{DID: "did:x:a", Type: "ein Öfen 🔥 12", Class: "physical", DomainType: "household", Status: "draft", Name: "Ümläut & <tags> \"quotes\" 7 8"}
		r.twins(t, thing{did: "did:x:b"})
		r.join(t, join{from: "did:x:b", role: "to", to: "did:x:a", since: "2026-01-02", until: "1969-01-01"})
		if diff := cmp.Diff(want, r.walk(t, ann, graph.Walk{Root: "did:x:a"}).Nodes[0].Twin); diff != "" {
			t.Errorf("first twin (-want +got):\n%s", diff)
		}
		g := r.walk(t, ann, graph.Walk{Root: "did:x:b"})
		if diff := cmp.Diff(want, g.Nodes[1].Twin); diff != "" {
			t.Errorf("second twin (-want +got):\n%s", diff)
		}
		if e := g.Edges[0]; !e.Since.Equal(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)) || e.Until.Year() != 1969 {
			t.Errorf("times = %v, %v", e.Since, e.Until)
		}
	})
}

func TestNeighbourPages(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.twins(t, thing{did: "did:x:a"})
		var want []string
		var joins, back []join
		for i := range 150 {
			role := "even"
			if i%2 == 1 {
				role = "odd"
			}
			joins = append(joins, join{from: "did:x:a", role: role, to: fmt.Sprintf("did:x:t%d", i)})
			back = append(back, join{from: fmt.Sprintf("did:x:t%d", i), role: role, to: "did:x:a"})
			r.twins(t, thing{did: fmt.Sprintf("did:x:t%d", i)})
		}
		r.join(t, append(joins, back...)...)
		r.join(t, join{from: "did:x:a", role: "odd", to: "did:x:a"})
		for _, k := range []graph.Ask{
			{Direction: graph.Both, Limit: 7},
			{Direction: graph.Out, Limit: 50},
			{Direction: graph.In, Limit: 1000},
			{Direction: graph.Both, Limit: 11, Filter: graph.Filter{Roles: []string{"odd"}}},
		} {
			k.DID = "did:x:a"
			want = nil
			for _, j := range slices.Concat(joins, []join{{from: "did:x:a", role: "odd", to: "did:x:a"}}, back) {
				if out := j.from == "did:x:a"; (k.Direction == graph.Both || out == (k.Direction == graph.Out) || j.to == j.from) && (len(k.Filter.Roles) == 0 || j.role == "odd") {
					want = append(want, j.from+" "+j.role+" "+j.to)
				}
			}
			if got := r.allNeighbours(t, k); !slices.Equal(sorted(got), sorted(want)) {
				t.Errorf("%+v: got %d neighbours, want %d", k, len(got), len(want))
			}
		}
	})
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func (r *rig) allNeighbours(t *testing.T, k graph.Ask) []string {
	t.Helper()
	var got []string
	at := graph.Position{}
	for range 1000 {
		items, next, err := r.Neighbours(as(t.Context(), ann), k, at)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) > k.Limit {
			t.Fatalf("a page of %d has %d items", k.Limit, len(items))
		}
		for _, n := range items {
			got = append(got, n.From+" "+n.Role+" "+n.To)
		}
		if next == nil {
			return got
		}
		at = *next
	}
	t.Fatal("the list does not end")
	return nil
}
