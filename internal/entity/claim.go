package entity

import (
	"cmp"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxClaims limits how many claims of one credential are looked at.
const maxClaims = 100

// isVerified reports whether somebody has vouched for a twin.
func isVerified(ctx context.Context, q db.Querier, ws string, nid int64) (bool, error) {
	r, err := findByNID(ctx, q, ws, nid)
	if err != nil {
		return false, err
	}
	e, err := r.Entity()
	if err != nil {
		return false, err
	}
	return e.Verification.Status == verdict.Verified, nil
}

// mayLapse refuses a change that takes the verdict from a claim while an active
// credential rests on it.
func (nd *needs) mayLapse(ctx context.Context, q db.Querier, r *Row) error {
	if r.DomainType != "claim" {
		return nil
	}
	return nd.checkDependants(ctx, q, r)
}

// checkProducing refuses to change what produces a claim once somebody has
// vouched for it, because the verdict did not take that into account.
func checkProducing(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship, at string) error {
	_, claim := p.Ends()
	if p.Row.Role != relationship.Produces || !p.Row.Mirror || claim == nil || Status(claim.Status) == StatusDeactivated {
		return nil
	}
	r, err := findByNID(ctx, tx, ws, claim.NID)
	if err != nil {
		return err
	}
	e, err := r.Entity()
	if err != nil || !verdict.Vouched(e.Verification) {
		return err
	}
	return verdict.Late(at)
}

// checkBecoming requires that the claim that is to become a credential is
// verified and has no other, and refuses to add what produces a claim after that.
func checkBecoming(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship, at string) error {
	if err := checkProducing(ctx, tx, ws, p, at+"/role"); err != nil {
		return err
	}
	if p.Row.Role != relationship.Becomes || !p.Row.Mirror {
		return nil
	}
	where := at + "/role"
	if p.Back {
		where = at + "/target"
	}
	return mayBecome(ctx, tx, ws, &p.Row, where)
}

// mayBecome requires that a claim is verified and that no other credential
// rests on it.
func mayBecome(ctx context.Context, tx *db.Tx, ws string, l *relationship.Row, pointer string) error {
	if ok, err := isVerified(ctx, tx, ws, l.Src); err != nil || !ok {
		return cmp.Or(err, claimNotVerified(pointer))
	}
	return relationship.Once(ctx, tx, l, pointer, func(project string) bool { return inside(web.CallerFrom(ctx), project) })
}

func claimNotVerified(pointer string) error {
	return fault.New(fault.Conflict, "CLAIM_NOT_VERIFIED", "Only a verified claim becomes a credential.").
		With(fault.Field{Pointer: pointer, Code: "not_verified", Detail: "The claim is not verified."})
}

// keepsVerifier refuses to end the relationship to the last oracle of a
// verified claim, or to one its verdict rests on. The relationship has already
// ended in tx.
func keepsVerifier(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship) error {
	oracle, claim := p.Ends()
	if p.Row.Role != relationship.Verifies || !p.Row.Mirror || Status(claim.Status) == StatusDeactivated {
		return nil
	}
	n, err := (relationship.Count{Role: relationship.Verifies, Most: 1}).In(ctx, tx, claim.NID)
	if err != nil {
		return err
	}
	r, err := findByNID(ctx, tx, ws, claim.NID)
	if err != nil {
		return err
	}
	e, err := r.Entity()
	if err != nil || e.Verification.Status != verdict.Verified || n > 0 && !verdict.Approves(e.Verification, oracle.DID) {
		return err
	}
	return relationship.Lacking([]string{relationship.VerifiedBy}, "The claim is verified and needs this relationship.")
}
