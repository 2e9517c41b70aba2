package graph

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Way is a query for the path between two twins.
type Way struct {
	From, To  string // DIDs
	MaxDepth  int    // edges at most
	Direction Direction
	Filter    Filter
}

// Path finds a shortest path. It searches from both ends, a level of the
// smaller side at a time, and does not pass through twins that are not held
// here. The fault is ENTITY_NOT_FOUND for either end.
func (s *Service) Path(ctx context.Context, k Way) (*Path, error) {
	var p *Path
	err := db.Look(ctx, s.cfg.DB, func(q db.Querier) error {
		f := &finder{reader: s.reader(ctx, q, k.Filter), k: k}
		from, err := f.find(ctx, k.From)
		if err != nil {
			return err
		}
		to, err := f.find(ctx, k.To)
		if err != nil {
			return err
		}
		p, err = f.run(ctx, from, to)
		return err
	})
	return p, err
}

// side is one half of a search.
type side struct {
	way   Direction
	level []int64        // twins found last
	came  map[int64]step // how each twin was found; the zero step at the end itself
}

func newSide(nid int64, way Direction) *side {
	return &side{way: way, level: []int64{nid}, came: map[int64]step{nid: {}}}
}

// finder is one search from both ends.
type finder struct {
	*reader
	k         Way
	truncated bool
}

func (f *finder) run(ctx context.Context, from, to *vertex) (*Path, error) {
	a, b := newSide(from.nid, f.k.Direction), newSide(to.nid, f.k.Direction.back())
	meet, met := from.nid, from.nid == to.nid
	for range f.k.MaxDepth {
		if met || f.truncated || len(a.level) == 0 || len(b.level) == 0 {
			break
		}
		near, far := a, b
		if len(b.level) < len(a.level) {
			near, far = b, a
		}
		var err error
		if meet, met, err = f.grow(ctx, near, far); err != nil {
			return nil, err
		}
	}
	if !met {
		return &Path{Nodes: []Node{}, Edges: []Edge{}, Truncated: f.truncated}, nil
	}
	return f.path(ctx, from, to, trace(a, b, meet))
}

// grow takes one side a level further until it meets the other. As neither
// has met the other before, the first meeting is on a shortest path.
func (f *finder) grow(ctx context.Context, near, far *side) (meet int64, met bool, err error) {
	var next []int64
	whole, err := f.each(ctx, near.level, near.way, func() int { return maxTogether }, func(ctx context.Context, steps []step) (bool, error) {
		for i := range steps {
			s := &steps[i]
			if _, known := near.came[s.far]; known || s.far == 0 || !f.filter.takes(s) {
				continue
			}
			if _, ok, err := f.target(ctx, s); err != nil || !ok {
				if err != nil {
					return false, err
				}
				continue
			}
			near.came[s.far] = *s
			if _, met = far.came[s.far]; met {
				meet = s.far
				return false, nil
			}
			if len(near.came)+len(far.came) >= maxVisited {
				return false, nil
			}
			next = append(next, s.far)
		}
		return true, nil
	})
	near.level = next
	f.truncated = !whole && !met
	return meet, met, err
}

// trace lists the steps from the start of a, by the twin where the sides met,
// to the start of b.
func trace(a, b *side, meet int64) []step {
	var steps []step
	for s := a.came[meet]; s.nid != 0; s = a.came[s.near] {
		steps = append(steps, s)
	}
	slices.Reverse(steps)
	for s := b.came[meet]; s.nid != 0; s = b.came[s.near] {
		turned := s // b took it from its other end
		turned.way, turned.near, turned.far, turned.words = s.way.back(), s.far, s.near, b.came[s.near].words
		steps = append(steps, turned)
	}
	return steps
}

// path puts the twins along the steps between the two ends.
func (f *finder) path(ctx context.Context, from, to *vertex, steps []step) (*Path, error) {
	p := &Path{Found: true, Length: len(steps), Nodes: []Node{{Twin: from.Twin}}, Edges: make([]Edge, 0, len(steps))}
	for i := range steps {
		t := *to
		if steps[i].far != to.nid {
			var err error
			if t, err = f.vertex(ctx, steps[i].far, steps[i].words); err != nil {
				return nil, err
			}
		}
		p.Edges = append(p.Edges, steps[i].edge(p.Nodes[i].DID, t.DID))
		p.Nodes = append(p.Nodes, Node{Twin: t.Twin, Depth: i + 1})
	}
	return p, nil
}
