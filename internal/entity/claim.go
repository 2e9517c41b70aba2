package entity

import (
	"cmp"
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxClaims is how many claims of one credential are looked at.
const maxClaims = 100

// isVerified reports whether somebody has vouched for a twin.
func (s *Service) isVerified(ctx context.Context, q db.Querier, ws string, nid int64) (bool, error) {
	r, err := findByNID(ctx, q, ws, nid)
	if err != nil {
		return false, err
	}
	e, err := r.Entity()
	return err == nil && e.Verification.Status == verdict.Verified, err
}

// bench is where the caller judges claims.
func (s *Service) bench(ctx context.Context) verdict.Bench {
	c := web.CallerFrom(ctx)
	return verdict.Bench{Protocols: s.cfg.Protocols, Workspace: c.Workspace, Caller: c.DID, Known: []string{c.DID}, Now: s.cfg.Now()}
}

// weigh is the verification of a twin after a verdict. What a claim has become
// rests on its own.
func (s *Service) weigh(ctx context.Context, tx *db.Tx, r *Row, v Verdict) (Verification, error) {
	b := s.bench(ctx)
	if r.DomainType != "claim" {
		return b.Plain(v), nil
	}
	e, err := r.Entity()
	if err != nil {
		return Verification{}, err
	}
	if err := s.seat(ctx, tx, &b); err != nil {
		return Verification{}, err
	}
	next, err := b.Weigh(ctx, tx, r.NID, e, v)
	if err == nil && e.Verification.Status == verdict.Verified && next.Status != verdict.Verified {
		err = s.checkDependants(ctx, tx, r)
	}
	return next, err
}

// seat finds out for a bench as whom the caller judges, and as whom it may have a
// part in a claim: by any of its names, and whatever key it comes with.
func (s *Service) seat(ctx context.Context, q db.Querier, b *verdict.Bench) (err error) {
	c := web.CallerFrom(ctx)
	if b.As, err = s.cfg.ControlsAs(ctx, q, c); err != nil {
		return err
	}
	own, others, err := s.cfg.KnownAs(ctx, q, c)
	if err != nil {
		return err
	}
	b.Known = slices.Concat(own, others)
	for _, id := range own {
		parts, err := s.cfg.ControlsAs(ctx, q, web.Caller{Workspace: b.Workspace, DID: id})
		if err != nil {
			return err
		}
		b.Parts = append(b.Parts, parts...)
	}
	return nil
}

// mayLapse refuses a change that takes the verdict from a claim while an active
// credential rests on it.
func (s *Service) mayLapse(ctx context.Context, q db.Querier, r *Row) error {
	if r.DomainType != "claim" {
		return nil
	}
	return s.checkDependants(ctx, q, r)
}

// checkProducing refuses to change what produces a claim that somebody has
// vouched for: the verdict knew nothing of it.
func (s *Service) checkProducing(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship, at string) error {
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

// checkBecoming wants the claim verified that is to become a credential, its only
// one, and not yet where something is to produce it.
func (s *Service) checkBecoming(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship, at string) error {
	if err := s.checkProducing(ctx, tx, ws, p, at+"/role"); err != nil {
		return err
	}
	if p.Row.Role != relationship.Becomes || !p.Row.Mirror {
		return nil
	}
	where := at + "/role"
	if p.Back {
		where = at + "/target"
	}
	return s.mayBecome(ctx, tx, ws, &p.Row, where)
}

// mayBecome wants a claim verified, and no other credential that rests on it.
func (s *Service) mayBecome(ctx context.Context, tx *db.Tx, ws string, l *relationship.Row, pointer string) error {
	if ok, err := s.isVerified(ctx, tx, ws, l.Src); err != nil || !ok {
		return cmp.Or(err, claimNotVerified(pointer))
	}
	return relationship.Once(ctx, tx, l, pointer, func(project string) bool { return inside(web.CallerFrom(ctx), project) })
}

// checkClaims wants every claim verified that has become a credential, and no
// other credential of it. On PostgreSQL nobody takes that back until tx ends.
func (s *Service) checkClaims(ctx context.Context, tx *db.Tx, r *Row) error {
	if r.DomainType != "credential" {
		return nil
	}
	claims, err := relationship.Need{Role: relationship.Becomes, Now: s.cfg.Now().UnixMilli()}.Parents(ctx, tx, r.NID, maxClaims)
	if err != nil {
		return err
	}
	for _, nid := range claims {
		if err := s.lock(ctx, tx, &relationship.End{NID: nid, Shared: true}); err != nil {
			return err
		}
		if err := s.mayBecome(ctx, tx, r.Workspace, &relationship.Row{Src: nid, Dst: r.NID}, ""); err != nil {
			return err
		}
	}
	return nil
}

func claimNotVerified(pointer string) error {
	return fault.New(fault.Conflict, "CLAIM_NOT_VERIFIED", "Only a verified claim becomes a credential.").
		With(fault.Field{Pointer: pointer, Code: "not_verified", Detail: "The claim is not verified."})
}

// keepsVerifier refuses to end the edge to the last oracle of a verified claim,
// or to one its verdict rests on. The edge has ended in tx.
func (s *Service) keepsVerifier(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship) error {
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
