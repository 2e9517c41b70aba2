package tool

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// rightsFresh is how long the tools of a run go by the same answer to what its
// user may do. To ask is about a tenth of a turn with tools, and a turn asks for
// each call. A run may last ten minutes, so it cannot be once for all of it; with
// a second a right that is taken away is noticed with the next answer of any
// real model, and what a tool shows until then it could have shown the moment
// before. Other runs of the user ask for themselves.
const rightsFresh = time.Second

// Rights keep what the user of one run may do, for a short while.
type Rights struct {
	now    func() time.Time
	busy   chan struct{} // cap 1: held by the one who asks; the others wait for the answer
	asked  time.Time     // zero: never
	caller web.Caller
}

// NewRights makes the rights of one run.
func NewRights(now func() time.Time) *Rights { return &Rights{now: now, busy: make(chan struct{}, 1)} }

// Caller is the user with all rights that find gives them, as they were at most
// a second ago. It is for tools that only read: one that changes something asks
// for itself, each time. Nobody may change what it gives.
func (c Context) Caller(ctx context.Context, find func(ctx context.Context, user string) (web.Caller, error)) (web.Caller, error) {
	r := c.Rights
	if r == nil {
		return find(ctx, c.User)
	}
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return web.Caller{}, ctx.Err()
	}
	defer func() { <-r.busy }()
	now := r.now() // before we ask: from then on the answer gets old
	if age := now.Sub(r.asked); !r.asked.IsZero() && 0 <= age && age < rightsFresh {
		return r.caller, nil
	}
	found, err := find(ctx, c.User)
	if err != nil {
		return web.Caller{}, err
	}
	r.asked, r.caller = now, found
	return found, nil
}
