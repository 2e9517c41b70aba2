package entity

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Claims keeps what claims say, from the moment they are submitted, and has the
// last word about them. All is done in the transaction of the change itself.
type Claims interface {
	// Submit fixes what a claim says that has become active.
	Submit(ctx context.Context, tx *db.Tx, r *Row, e *Entity) error
	// Follow notes that a submitted claim has another project or status, and
	// refuses to end one that must stay.
	Follow(ctx context.Context, tx *db.Tx, old, next *Row) error
}

// submitNew submits a claim that is active from the start.
func (cr *creator) submitNew(ctx context.Context, tx *db.Tx, r *Row) error {
	if cr.claims == nil || r.DomainType != "claim" || r.Status != StatusActive {
		return nil
	}
	return cr.submit(ctx, tx, r)
}

func (rv *reviser) submit(ctx context.Context, tx *db.Tx, r *Row) error {
	e, err := r.Entity()
	if err != nil {
		return err
	}
	return rv.claims.Submit(ctx, tx, r, e)
}

// followClaim submits a claim that becomes active, and has later steps noted.
func (rv *reviser) followClaim(ctx context.Context, tx *db.Tx, old, next *Row) error {
	switch {
	case rv.claims == nil || next.DomainType != "claim":
		return nil
	case old.Status == StatusDraft && next.Status == StatusActive:
		return rv.submit(ctx, tx, next)
	case old.Status != next.Status || old.Project != next.Project:
		return rv.claims.Follow(ctx, tx, old, next)
	}
	return nil
}

// mayRestate refuses to change what a submitted claim says.
func (rv *reviser) mayRestate(before *Entity) error {
	if rv.claims == nil || before.DomainType != "claim" || before.Status == StatusDraft {
		return nil
	}
	return fault.New(fault.Conflict, "CLAIM_SUBMITTED", "The claim was submitted, and what it says is fixed. Withdraw it and submit another one.")
}
