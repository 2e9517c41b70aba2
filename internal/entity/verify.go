package entity

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// verifier decides what verdicts about twins lead to.
type verifier struct {
	needs
	controlsAs func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
	knownAs    func(ctx context.Context, q db.Querier, c web.Caller) (own, others []string, err error)
	claims     Claims // nil: claims are not kept
}

// bench returns the rules by which the caller judges claims.
func (vf *verifier) bench(ctx context.Context) verdict.Bench {
	c := web.CallerFrom(ctx)
	return verdict.Bench{Protocols: vf.protocols, Workspace: c.Workspace, Caller: c.DID, Known: []string{c.DID}, Now: vf.now(), Bound: vf.claims != nil}
}

// seat finds out for a bench as whom the caller judges, and under which names it
// may have a part in a claim, with whatever key it comes.
func (vf *verifier) seat(ctx context.Context, q db.Querier, b *verdict.Bench) (err error) {
	c := web.CallerFrom(ctx)
	if b.As, err = vf.controlsAs(ctx, q, c); err != nil {
		return err
	}
	own, others, err := vf.knownAs(ctx, q, c)
	if err != nil {
		return err
	}
	b.Known = slices.Concat(own, others)
	for _, id := range own {
		parts, err := vf.controlsAs(ctx, q, web.Caller{Workspace: b.Workspace, DID: id})
		if err != nil {
			return err
		}
		b.Parts = append(b.Parts, parts...)
	}
	return nil
}

// rules returns the protocol that was fixed for a claim; nil for none.
func (vf *verifier) rules(ctx context.Context, q db.Querier, r *Row) (*protocol.Protocol, error) {
	if vf.claims == nil {
		return nil, nil
	}
	id, version, err := vf.claims.Rules(ctx, q, r.Workspace, r.NID)
	if err != nil || id == "" {
		return nil, err
	}
	return vf.protocols.FindAnyIn(ctx, q, r.Workspace, id, version)
}

// weigh computes the verification of a twin after a verdict. Where a claim has
// become a credential, that depends on the claim's own verification.
func (vf *verifier) weigh(ctx context.Context, q db.Querier, r *Row, v Verdict) (Verification, error) {
	b := vf.bench(ctx)
	if r.DomainType != "claim" {
		return b.Plain(v), nil
	}
	e, err := r.Entity()
	if err != nil {
		return Verification{}, err
	}
	if err := vf.seat(ctx, q, &b); err != nil {
		return Verification{}, err
	}
	if b.Rules, err = vf.rules(ctx, q, r); err != nil {
		return Verification{}, err
	}
	next, err := b.Weigh(ctx, q, r.NID, e, v)
	if err == nil && e.Verification.Status == verdict.Verified && next.Status != verdict.Verified {
		err = vf.checkDependants(ctx, q, r)
	}
	return next, err
}

// VerifyTx notes the caller's verdict about a twin. The verdict names the
// revision it is about, by ifMatch or in its body; later verdicts are no
// obstacle. The same verdict again changes nothing. Faults: ENTITY_NOT_FOUND,
// ENTITY_INVALID, ENTITY_DEACTIVATED, those of web.Judged, and for a claim
// ACTIVE_DEPENDANTS and those of verdict.Bench. A caller with only
// claims:evaluate judges claims alone: SCOPE_MISSING.
func (s *Service) VerifyTx(ctx context.Context, tx *db.Tx, id, ifMatch string, v Verdict) (*Row, error) {
	if err := verdict.Validate(v); err != nil {
		return nil, err
	}
	r, err := s.inUse(ctx, tx, id, "")
	if err != nil {
		return nil, err
	}
	if c := web.CallerFrom(ctx); r.DomainType != "claim" && !c.May("entities:verify") {
		return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "This entity is not a claim. A verdict on it needs the scope entities:verify.")
	}
	judged, err := web.Judged{IfMatch: ifMatch, Revision: v.Revision}.Check(r.stated, r.Revision)
	if err != nil {
		return nil, err
	}
	v.Revision = &judged
	if said, err := s.verdicts.bench(ctx).Said(ctx, tx, r.NID, v); err != nil || said {
		return r, err
	}
	next, err := s.verdicts.weigh(ctx, tx, r, v)
	if err != nil {
		return nil, err
	}
	if err := s.judge(ctx, tx, Judgement{Row: r, Verdict: v, Next: &next}); err != nil {
		return nil, err
	}
	act := Action{Name: "verify", Reason: v.Reason, Event: "entity.verified", Data: map[string]any{"status": next.Status}}
	return s.Mutate(ctx, tx, r, act, func(e *Entity) error {
		e.Verification = next
		return nil
	})
}

// Verify is VerifyTx in a transaction of its own.
func (s *Service) Verify(ctx context.Context, id, ifMatch string, v Verdict) (web.Reply[*Entity], error) {
	if e, err := visibleEnd(ctx, s.db, id); err != nil {
		return web.Reply[*Entity]{}, err
	} else if e != nil && e.DomainType == "claim" {
		if err := s.verdicts.bench(ctx).Warm(ctx, s.db, e.NID); err != nil {
			return web.Reply[*Entity]{}, err
		}
	}
	return s.once(ctx, func(tx *db.Tx) (*Row, error) { return s.VerifyTx(ctx, tx, id, ifMatch, v) })
}
