package judge

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxRevisions is how many revisions of one claim are looked at.
const maxRevisions = 1000

// independent refuses a caller who has a part in a claim: who has made it or
// ever changed it, owns it, or controls it or what produces it, now or when it
// was made.
func (b Bench) independent(ctx context.Context, q db.Querier, nid int64, claim *twin.Entity, producers []producer) error {
	if err := Independent(claim, b.Caller); err != nil {
		return err
	}
	if claim.Revision > maxRevisions+1 {
		return fault.New(fault.Conflict, "TOO_MANY_REVISIONS", fmt.Sprintf("A claim that was changed more than %d times cannot be judged. Make it anew.", maxRevisions))
	}
	if changed, err := hasChanged(ctx, q, nid, b.Caller); err != nil {
		return err
	} else if changed {
		return Claimant("You have changed the claim.")
	}
	if now, then, err := b.held(ctx, q, nid, claim.Created.UnixMilli()); err != nil {
		return err
	} else if now.controls {
		return Claimant("You control the claim.")
	} else if then.controls {
		return Claimant("You controlled the claim when it was made.")
	}
	for _, p := range producers {
		now, then, err := b.held(ctx, q, p.nid, p.since)
		switch {
		case err != nil:
			return err
		case now.controls:
			return Claimant("You control what produces it.")
		case now.owns:
			return Claimant("What produces it belongs to you.")
		case then.controls || then.owns:
			return Claimant("You owned or controlled what produces it when it was said to.")
		}
	}
	return nil
}

// hold is what the caller has of a twin.
type hold struct{ controls, owns bool }

// held tells what the caller has of a twin now, and had at a moment, in ms. In
// the moment itself the twin may have changed hands: both count.
func (b Bench) held(ctx context.Context, q db.Querier, nid, at int64) (now, then hold, err error) {
	h, since, err := findHands(ctx, q, b.Workspace, nid)
	now = b.hold(h)
	if err != nil || since < at {
		return now, now, err
	}
	for _, t := range []int64{at - 1, at} {
		if h, err = findHandsAt(ctx, q, nid, t); err != nil {
			return now, then, err
		}
		was := b.hold(h)
		then = hold{then.controls || was.controls, then.owns || was.owns}
	}
	return now, then, nil
}

func (b Bench) hold(h hands) hold {
	acts := func(d string) bool { return d == b.Caller || slices.Contains(b.As, d) }
	return hold{slices.ContainsFunc(h.Controllers, acts), h.Owner == b.Caller}
}

// controls tells whether the caller controls a twin, as itself or through a
// group.
func (b Bench) controls(ctx context.Context, q db.Querier, nid int64) (bool, error) {
	h, _, err := findHands(ctx, q, b.Workspace, nid)
	return b.hold(h).controls, err
}
