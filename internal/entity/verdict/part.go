package verdict

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// vouches reports whether the caller is the one who vouched for a claim.
func (b Bench) vouches(v twin.Verification) bool {
	said := func(a twin.Approval) bool { return slices.Contains(b.Known, a.Verifier) }
	return Vouched(v) && (slices.Contains(b.Known, v.Verifier) || slices.ContainsFunc(v.Approvals, said))
}

// refused reports whether somebody else has said that a claim is not valid.
func (b Bench) refused(v twin.Verification) bool {
	return slices.Contains([]string{Rejected, Revoked, Expired}, v.Status) && !slices.Contains(b.Known, v.Verifier)
}

// parts are the ways in which a caller can have a part in a claim.
type parts struct {
	producers []producer // all that produce it, or once did
	back      bool       // a verdict is taken back
}

// unwritten refuses a caller who has made a claim or ever changed it.
func (b Bench) unwritten(ctx context.Context, q db.Querier, nid int64, claim *twin.Entity) error {
	for _, who := range b.Known {
		switch changed, err := hasChanged(ctx, q, nid, who); {
		case err != nil:
			return err
		case who == claim.CreatedBy:
			return claimant("You have made the claim.")
		case who == claim.StatedBy:
			return claimant("You have changed what the claim says.")
		case changed:
			return claimant("You have changed the claim.")
		}
	}
	return nil
}

// Independent refuses a caller who has a part in a claim; with back, who withdraws a
// verdict. The fault is VERIFIER_IS_CLAIMANT.
func (b Bench) Independent(ctx context.Context, q db.Querier, nid int64, claim *twin.Entity, back bool) error {
	producers, err := listProducers(ctx, q, nid, maxEnds)
	if err != nil {
		return err
	}
	earlier, err := listEarlier(ctx, q, nid, maxEnds)
	if err != nil {
		return err
	}
	return b.independent(ctx, q, nid, claim, parts{producers: slices.Concat(producers, earlier), back: back})
}

// independent refuses a caller who has a part in a claim: who has made it or ever
// changed it, owns it, or controls it or what produces it or once did, now or
// when it was made. What the caller holds of it now does not prevent withdrawing
// a verdict: otherwise a claimant could stop every judge by giving them a part.
func (b Bench) independent(ctx context.Context, q db.Querier, nid int64, claim *twin.Entity, part parts) error {
	if b.Caller == "" {
		return claimant("Your request names no person.")
	}
	if err := b.unwritten(ctx, q, nid, claim); err != nil {
		return err
	}
	made := claim.Created.UnixMilli()
	switch now, then, err := b.held(ctx, q, nid, made); {
	case err != nil:
		return err
	case now.controls && !part.back:
		return claimant("You control the claim.")
	case now.owns && !part.back:
		return claimant("The claim belongs to you.")
	case then.controls || then.owns:
		return claimant("You owned or controlled the claim when it was made.")
	}
	for _, p := range part.producers {
		switch now, then, err := b.held(ctx, q, p.nid, made, p.since); {
		case err != nil:
			return err
		case now.controls && !part.back:
			return claimant("You control what produces it.")
		case now.owns && !part.back:
			return claimant("What produces it belongs to you.")
		case then.controls || then.owns:
			return claimant("You owned or controlled what produces it when the claim was made or linked to it.")
		}
	}
	return nil
}

// hold is the part a caller has in a twin.
type hold struct{ controls, owns bool }

// held returns what the caller holds of a twin now, and held at some moments,
// in ms. In such a moment the twin may have changed hands: both states count.
func (b Bench) held(ctx context.Context, q db.Querier, nid int64, moments ...int64) (now, then hold, err error) {
	h, since, err := findHands(ctx, q, b.Workspace, nid)
	if err != nil {
		return now, then, err
	}
	now = b.hold(h)
	for _, at := range moments {
		if since < at {
			continue // the state then was the same as now
		}
		for _, t := range []int64{at - 1, at} {
			if h, err = findHandsAt(ctx, q, nid, t); err != nil {
				return now, then, err
			}
			was := b.hold(h)
			then = hold{then.controls || was.controls, then.owns || was.owns}
		}
	}
	return now, then, nil
}

func (b Bench) hold(h hands) hold {
	acts := func(d string) bool { return slices.Contains(b.Known, d) || slices.Contains(b.Parts, d) }
	return hold{slices.ContainsFunc(h.Controllers, acts), acts(h.Owner)}
}

// controls reports whether the caller controls a twin, as itself or through a
// group.
func (b Bench) controls(ctx context.Context, q db.Querier, nid int64) (bool, error) {
	h, _, err := findHands(ctx, q, b.Workspace, nid)
	return slices.ContainsFunc(h.Controllers, func(d string) bool { return d == b.Caller || slices.Contains(b.As, d) }), err
}
