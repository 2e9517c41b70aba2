package entity

import (
	"bytes"
	"cmp"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/edge"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/entity/plan"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// verified is the status of a verification that somebody has vouched for.
const verified = "verified"

// maxClaims is how many claims of one credential are looked at.
const maxClaims = 100

// isVerified tells whether somebody has vouched for a twin.
func (s *Service) isVerified(ctx context.Context, q db.Querier, ws string, nid int64) (bool, error) {
	r, err := findByNID(ctx, q, ws, nid)
	if err != nil {
		return false, err
	}
	e, err := r.Entity()
	return err == nil && e.Verification.Status == verified, err
}

// mayJudge holds a verdict about a claim against the domain model: an oracle
// verifies it, and what it has become rests on that.
func (s *Service) mayJudge(ctx context.Context, tx *db.Tx, r *Row, v Verdict) error {
	if r.DomainType != "claim" {
		return nil
	}
	if v.Status == verified {
		_, found, err := link.Need{Role: edge.Verifies, Now: s.cfg.Now().UnixMilli()}.Parent(ctx, tx, r.NID)
		if err != nil || found {
			return err
		}
		return missingFault([]string{edge.VerifiedBy}, "A claim is verified by an oracle, and none is named.")
	}
	was, err := s.isVerified(ctx, tx, r.Workspace, r.NID)
	if err != nil || !was {
		return err
	}
	return s.checkDependants(ctx, tx, r)
}

// outlived tells that what somebody has vouched for is not what the twin says
// now: the verdict was about other properties.
func outlived(act Action, before, e *Entity) bool {
	return before.Verification.Status == verified && e.Verification == before.Verification && act.Event != "entity.erased" &&
		(e.Type != before.Type || !bytes.Equal(e.Properties.Value, before.Properties.Value))
}

// mayLapse refuses a change that takes the verdict from a claim while an active
// credential rests on it.
func (s *Service) mayLapse(ctx context.Context, q db.Querier, r *Row) error {
	if r.DomainType != "claim" {
		return nil
	}
	return s.checkDependants(ctx, q, r)
}

// checkBecoming wants the claim verified that is to become a credential.
func (s *Service) checkBecoming(ctx context.Context, tx *db.Tx, ws string, p *plan.Plan, at string) error {
	if p.Link.Role != edge.Becomes || !p.Link.Mirror {
		return nil
	}
	from, _ := p.Ends()
	ok, err := s.isVerified(ctx, tx, ws, from.NID)
	if err != nil || ok {
		return err
	}
	if p.Back {
		return claimNotVerified(at + "/target")
	}
	return claimNotVerified(at + "/role")
}

// checkClaims wants every claim verified that has become a credential. On
// PostgreSQL nobody takes that back until tx ends.
func (s *Service) checkClaims(ctx context.Context, tx *db.Tx, r *Row) error {
	if r.DomainType != "credential" {
		return nil
	}
	claims, err := link.Need{Role: edge.Becomes, Now: s.cfg.Now().UnixMilli()}.Parents(ctx, tx, r.NID, maxClaims)
	if err != nil {
		return err
	}
	for _, nid := range claims {
		if err := s.lock(ctx, tx, &link.End{NID: nid, Shared: true}); err != nil {
			return err
		}
		if ok, err := s.isVerified(ctx, tx, r.Workspace, nid); err != nil || !ok {
			return cmp.Or(err, claimNotVerified(""))
		}
	}
	return nil
}

func claimNotVerified(pointer string) error {
	return fault.New(fault.Conflict, "CLAIM_NOT_VERIFIED", "Only a verified claim becomes a credential.").
		With(fault.Field{Pointer: pointer, Code: "not_verified", Detail: "The claim is not verified."})
}

// keepsVerifier refuses to end the edge to the last oracle of a verified claim.
// The edge has ended in tx.
func (s *Service) keepsVerifier(ctx context.Context, tx *db.Tx, ws string, p *plan.Plan) error {
	_, claim := p.Ends()
	if p.Link.Role != edge.Verifies || !p.Link.Mirror || Status(claim.Status) == StatusDeactivated {
		return nil
	}
	if n, err := (link.Count{Role: edge.Verifies, Most: 1}).In(ctx, tx, claim.NID); err != nil || n > 0 {
		return err
	}
	was, err := s.isVerified(ctx, tx, ws, claim.NID)
	if err != nil || !was {
		return err
	}
	return missingFault([]string{edge.VerifiedBy}, "The claim is verified and needs this relationship.")
}
