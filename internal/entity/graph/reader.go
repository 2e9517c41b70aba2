package graph

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxTogether limits the edges of a chunk of twins that are read with one
// statement. Beyond it each twin is read separately, oldest edge first, so that
// a hub costs no more than is needed of it.
const maxTogether = 2_000

// reader reads edges and twins for one request and keeps its budget.
type reader struct {
	q      db.Querier
	caller web.Caller
	sight  *mask.Sight // of the caller
	filter Filter
	left   int // edges that may still be looked at
}

// visit takes the edges read so far, in order. It returns false to stop.
type visit func(ctx context.Context, steps []step) (bool, error)

// each gives all edges of the twins of a level to fn: twin after twin as they
// stand, outgoing before incoming, oldest first. want is how many are of use
// at most. It returns false when fn stopped it or the budget ran out.
func (r *reader) each(ctx context.Context, level []int64, d Direction, want func() int, fn visit) (bool, error) {
	for nids := range slices.Chunk(level, chunk) {
		steps, whole, err := r.together(ctx, nids, d)
		switch {
		case err != nil:
			return false, err
		case whole:
			r.left -= len(steps)
			if more, err := fn(ctx, steps); err != nil || !more {
				return false, err
			}
		default:
			if more, err := r.apart(ctx, nids, d, want, fn); err != nil || !more {
				return false, err
			}
		}
	}
	return true, nil
}

// together reads the edges of a chunk of twins at once. whole is false when
// there are too many for that; then nothing was read.
func (r *reader) together(ctx context.Context, nids []int64, d Direction) (steps []step, whole bool, err error) {
	if len(nids) == 1 {
		return nil, false, nil
	}
	limit := min(maxTogether, r.left+1)
	for _, way := range d.ways() {
		more, err := stepsOfMany(ctx, r.q, page{ws: r.caller.Workspace, way: way, limit: limit}, nids)
		if err != nil {
			return nil, false, err
		}
		if steps = append(steps, more...); len(steps) >= limit {
			return nil, false, nil
		}
	}
	place := make(map[int64]int, len(nids))
	for i, nid := range nids {
		place[nid] = i
	}
	order.Sort(steps, func(a, b step) int {
		return cmp.Or(
			cmp.Compare(place[a.near], place[b.near]),
			-cmp.Compare(a.way, b.way), // "out" before "in"
			cmp.Compare(a.nid, b.nid),
		)
	})
	return steps, true, nil
}

// apart reads the edges of twins one twin after the other, in pages.
func (r *reader) apart(ctx context.Context, nids []int64, d Direction, want func() int, fn visit) (bool, error) {
	for _, nid := range nids {
		for _, way := range d.ways() {
			if more, err := r.one(ctx, nid, way, want, fn); err != nil || !more {
				return false, err
			}
		}
	}
	return true, nil
}

func (r *reader) one(ctx context.Context, nid int64, way Direction, want func() int, fn visit) (bool, error) {
	p := page{ws: r.caller.Workspace, way: way}
	for {
		p.limit = min(max(want(), chunk), maxTogether, r.left+1)
		steps, err := stepsOf(ctx, r.q, p, nid)
		if err != nil {
			return false, err
		}
		over := len(steps) > r.left
		if over {
			steps = steps[:r.left]
		}
		r.left -= len(steps)
		if more, err := fn(ctx, steps); err != nil || !more || over {
			return false, err
		}
		if len(steps) < p.limit {
			return true, nil
		}
		p.after = steps[len(steps)-1].nid
	}
}

// target is the twin a step leads to, false when the caller may not see it.
func (r *reader) target(ctx context.Context, s *step) (vertex, bool, error) {
	if s.far == 0 {
		return vertex{Twin: Twin{DID: s.words, External: true}}, true, nil
	}
	if strings.IndexByte(s.words, ' ') < 0 { // no such twin in this workspace
		return vertex{}, false, nil
	}
	t, err := r.vertex(ctx, s.far, s.words)
	return t, err == nil && r.caller.Sees(t.project), err
}

// twin reads the words of a twin as the caller may see it.
func (r *reader) vertex(ctx context.Context, nid int64, words string) (vertex, error) {
	t, err := parseTwin(nid, words)
	if err != nil || t.Name == "" {
		return t, err
	}
	t.Name, err = r.sight.Name(ctx, r.q, t.protocol, t.Name)
	return t, err
}
