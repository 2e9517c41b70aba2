package graph

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Walk is a query for a subgraph.
type Walk struct {
	Root      string // DID of the first twin
	Depth     int    // steps away from it at most
	Direction Direction
	Filter    Filter
	Limit     int // twins at most
}

// Subgraph walks breadth first from a twin. The answer holds the twins found
// until a bound stopped the walk, and the edges taken between them; edges
// between two twins at the greatest depth are not looked for. Twins that are
// not held here are ends, because nothing is known beyond them. The fault is
// ENTITY_NOT_FOUND.
func (s *Service) Subgraph(ctx context.Context, k Walk) (*Graph, error) {
	var g *Graph
	err := db.Look(ctx, s.cfg.DB, func(q db.Querier) error {
		r := s.reader(ctx, q, k.Filter)
		root, err := r.find(ctx, k.Root)
		if err != nil {
			return err
		}
		w := newWalker(r, root, k)
		g, err = w.graph, w.run(ctx, root.nid)
		return err
	})
	return g, err
}

// walker is one breadth-first walk.
type walker struct {
	*reader
	k        Walk
	graph    *Graph
	place    map[int64]int      // of a twin in graph.Nodes
	external map[string]int     // of all by DID; nil while all are held here
	taken    map[int64]struct{} // edges in graph.Edges
	next     []int64            // twins of the level below
	depth    int                // of that level
}

func newWalker(r *reader, root *vertex, k Walk) *walker {
	likely := min(k.Limit, defaultNodes)
	w := &walker{
		reader: r, k: k, place: make(map[int64]int, likely), taken: make(map[int64]struct{}, likely),
		graph: &Graph{Root: root.DID, Nodes: make([]Node, 0, likely), Edges: make([]Edge, 0, likely)},
	}
	w.place[root.nid], _ = w.add(root.Twin)
	return w
}

func (w *walker) run(ctx context.Context, root int64) error {
	level := []int64{root}
	for w.depth = 1; w.depth <= w.k.Depth && len(level) > 0; w.depth++ {
		w.next = nil
		whole, err := w.each(ctx, level, w.k.Direction, w.room, w.take)
		if err != nil {
			return err
		}
		if !whole {
			w.graph.Truncated = true
			return nil
		}
		level = w.next
	}
	return nil
}

// room is how many edges are of use: one for each twin that still fits, and
// one that shows there is more.
func (w *walker) room() int { return w.k.Limit - len(w.graph.Nodes) + 1 }

// take adds edges and the twins they lead to. It returns false at the first
// twin that no longer fits.
func (w *walker) take(ctx context.Context, steps []step) (bool, error) {
	for i := range steps {
		s := &steps[i]
		if _, twice := w.taken[s.nid]; twice || !w.filter.takes(s) {
			continue
		}
		place, fits, err := w.reach(ctx, s)
		if err != nil || !fits {
			return false, err
		}
		if place < 0 {
			continue
		}
		w.taken[s.nid] = struct{}{}
		w.graph.Edges = append(w.graph.Edges, s.edge(w.graph.Nodes[w.place[s.near]].DID, w.graph.Nodes[place].DID))
	}
	return true, nil
}

// reach is the place of the twin a step leads to, -1 when the caller may not
// see it. fits is false when it is new and there is no room.
func (w *walker) reach(ctx context.Context, s *step) (place int, fits bool, err error) {
	if place, ok := w.place[s.far]; ok {
		return place, true, nil
	}
	t, ok, err := w.target(ctx, s)
	if err != nil || !ok {
		return -1, true, err
	}
	if place, fits = w.add(t.Twin); fits && s.far != 0 {
		w.place[s.far] = place
		w.next = append(w.next, s.far)
	}
	return place, fits, nil
}

// add gives a twin its place. A twin that was not held here according to an
// older edge, and is held by now, keeps its place.
func (w *walker) add(t Twin) (place int, fits bool) {
	if place, ok := w.external[t.DID]; ok {
		if !t.External {
			w.graph.Nodes[place].Twin = t
		}
		return place, true
	}
	if len(w.graph.Nodes) >= w.k.Limit {
		return -1, false
	}
	w.graph.Nodes = append(w.graph.Nodes, Node{Twin: t, Depth: w.depth})
	if t.External || w.external != nil {
		w.note()
	}
	return len(w.graph.Nodes) - 1, true
}

// note keeps the places by DID once there is a twin that has no number.
func (w *walker) note() {
	if w.external == nil {
		w.external = make(map[string]int, len(w.graph.Nodes))
	}
	for i := len(w.external); i < len(w.graph.Nodes); i++ {
		w.external[w.graph.Nodes[i].DID] = i
	}
}
