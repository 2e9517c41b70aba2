package graph

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Neighbour is an edge of a twin and the twin at its other end.
type Neighbour struct {
	Edge
	Direction Direction `json:"direction" enum:"out,in" doc:"in: the other twin is the source."`
	Node      Twin      `json:"node" doc:"The other twin."`
}

// Ask is a query for the neighbours of a twin.
type Ask struct {
	DID        string
	Direction  Direction
	Filter     Filter
	DomainType string // only such twins; any when empty
	Limit      int
}

// Position is where a list of neighbours continues: after the edge numbered
// After, among the incoming edges when In.
type Position struct {
	After int64 `json:"a"`
	In    bool  `json:"i,omitzero"`
}

// Neighbours lists the edges of a twin, outgoing before incoming, oldest
// first, from a position on. A call looks at 2,000 edges at most, so a page
// may be short; next is nil at the end. The fault is ENTITY_NOT_FOUND.
func (s *Service) Neighbours(ctx context.Context, k Ask, from Position) (items []Neighbour, next *Position, err error) {
	err = db.Look(ctx, s.cfg.DB, func(q db.Querier) error {
		l := &lister{reader: s.reader(ctx, q, k.Filter), k: k, at: from}
		var err error
		if l.of, err = l.find(ctx, k.DID); err != nil {
			return err
		}
		l.left = maxCandidates
		err = l.run(ctx)
		items, next = l.items, l.next
		return err
	})
	return items, next, err
}

// lister makes one page of neighbours.
type lister struct {
	*reader
	k     Ask
	of    *vertex
	at    Position // of the last edge looked at
	items []Neighbour
	next  *Position
}

func (l *lister) run(ctx context.Context) error {
	for _, way := range l.k.Direction.ways() {
		if way == Out && l.at.In {
			continue
		}
		if way == In && !l.at.In {
			l.at = Position{In: true}
		}
		more, err := l.list(ctx, way)
		if err != nil {
			return err
		}
		if !more {
			at := l.at
			l.next = &at
			return nil
		}
	}
	return nil
}

// list reads edges of one direction in pages until the page of the caller is
// full; then it returns false.
func (l *lister) list(ctx context.Context, way Direction) (bool, error) {
	for {
		p := page{ws: l.caller.Workspace, way: way, after: l.at.After, limit: min(l.k.Limit-len(l.items)+1, l.left+1)}
		if !l.plain() {
			p.limit = l.left + 1
		}
		steps, err := stepsOf(ctx, l.q, p, l.of.nid)
		if err != nil {
			return false, err
		}
		if more, err := l.take(ctx, steps); err != nil || !more {
			return false, err
		}
		if len(steps) < p.limit {
			return true, nil
		}
	}
}

// plain reports whether nearly every edge will be listed.
func (l *lister) plain() bool {
	return len(l.filter.Roles) == 0 && l.filter.On.IsZero() && l.k.DomainType == "" && len(l.caller.Projects) == 0
}

// take adds edges to the page. It returns false at the first one that does not
// fit or exceeds the budget.
func (l *lister) take(ctx context.Context, steps []step) (bool, error) {
	for i := range steps {
		s := &steps[i]
		if len(l.items) == l.k.Limit || l.left == 0 {
			return false, nil
		}
		l.left--
		l.at.After = s.nid
		if !l.filter.takes(s) || s.way == In && l.k.Direction == Both && s.near == s.far {
			continue // one to itself is listed among the outgoing
		}
		t, ok, err := l.target(ctx, s)
		if err != nil {
			return false, err
		}
		if !ok || l.k.DomainType != "" && t.DomainType != l.k.DomainType {
			continue
		}
		l.items = append(l.items, Neighbour{Edge: s.edge(l.of.DID, t.DID), Direction: s.way, Node: t.Twin})
	}
	return true, nil
}
