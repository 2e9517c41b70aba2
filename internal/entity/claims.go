package entity

import (
	"context"
	"errors"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Claims keeps what claims say, from the moment they are submitted, and makes
// the final decision about them. Everything is done in the transaction of the
// change itself.
type Claims interface {
	// Submit fixes what a claim says once it has become active.
	Submit(ctx context.Context, tx *db.Tx, r *Row, e *Entity) error
	// Follow notes that a submitted claim has another project or status, and refuses
	// to end one that must stay. For other twins it notes that they lost a
	// controller.
	Follow(ctx context.Context, tx *db.Tx, old, next *Row) error
	// Joined notes a new relationship: a claim about one end may cover the other.
	Joined(ctx context.Context, tx *db.Tx, ws string, l *relationship.Row) error
	// Rules returns the protocol and version that apply to a submitted claim; "" for a
	// claim that was not submitted.
	Rules(ctx context.Context, q db.Querier, ws string, nid int64) (protocol, version string, err error)
	// Judge makes the final decision about a verdict whose author is entitled
	// to give it.
	Judge(ctx context.Context, tx *db.Tx, j Judgement) error
}

// Judgement is a verdict about a claim, and the verification it would lead to.
type Judgement struct {
	Row     *Row
	Verdict Verdict
	Next    *Verification
}

// joined tells the keeper of claims about a new relationship.
func (rv *reviser) joined(ctx context.Context, tx *db.Tx, ws string, l *relationship.Row) error {
	if rv.claims == nil {
		return nil
	}
	return rv.claims.Joined(ctx, tx, ws, l)
}

// handed tells the keeper of claims that a twin has lost a controller.
func (rv *reviser) handed(ctx context.Context, tx *db.Tx, rev *revision) error {
	if rv.claims == nil || rev.speaks == nil || !rev.speaks.Left || rev.next.DomainType == "claim" {
		return nil
	}
	return rv.claims.Follow(ctx, tx, rev.old, rev.next)
}

// judge asks the keeper of claims about a verdict.
func (s *Service) judge(ctx context.Context, tx *db.Tx, j Judgement) error {
	if s.claims == nil || j.Row.DomainType != "claim" {
		return nil
	}
	return s.claims.Judge(ctx, tx, j)
}

// MayJudge reports whether the caller may decide about a claim, as which oracle. Faults:
// those of a verdict.
func (s *Service) MayJudge(ctx context.Context, q db.Querier, r *Row, v Verdict) (string, error) {
	v.Status, v.Revision = "verified", &r.Revision
	next, err := s.verdicts.weigh(ctx, q, r, v)
	if err != nil || len(next.Approvals) == 0 {
		return "", err
	}
	return next.Approvals[len(next.Approvals)-1].Oracle, nil
}

// Names returns the DIDs under which the caller may have acted before.
func (s *Service) Names(ctx context.Context, q db.Querier) ([]string, error) {
	own, others, err := s.verdicts.knownAs(ctx, q, web.CallerFrom(ctx))
	return slices.Concat(own, others), err
}

// Independent refuses a caller who has a part in a claim: VERIFIER_IS_CLAIMANT. With
// back the caller withdraws the claim, and a part that others have given it since is no
// obstacle.
func (s *Service) Independent(ctx context.Context, q db.Querier, r *Row, back bool) error {
	e, err := r.Entity()
	if err != nil {
		return err
	}
	b := s.verdicts.bench(ctx)
	if err := s.verdicts.seat(ctx, q, &b); err != nil {
		return err
	}
	return b.Independent(ctx, q, r.NID, e, back)
}

// RejudgeTx gives a claim another status because of a dispute. It keeps the record of
// who has vouched for it.
func (s *Service) RejudgeTx(ctx context.Context, tx *db.Tx, id, status, reason string) error {
	r, err := s.FindForUpdate(ctx, tx, id)
	if err != nil {
		return err
	}
	act := Action{Name: "verify", Reason: reason, Event: "entity.verified", Data: map[string]any{"status": status}}
	_, err = s.Mutate(ctx, tx, r, act, func(e *Entity) error {
		if e.Verification.Status == status {
			return errUnchanged
		}
		e.Verification.Status = status
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
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

// followClaim submits a claim that becomes active, and reports its later steps.
// A credential begins when it is issued, and one that was retired stays
// retired.
func (rv *reviser) followClaim(ctx context.Context, tx *db.Tx, old, next *Row) error {
	switch {
	case rv.claims == nil:
		return nil
	case next.DomainType == verdict.Credential && old.Status == StatusDraft && next.Status == StatusActive:
		return needsClaim()
	case next.DomainType == verdict.Credential && old.Status == StatusCompleted && next.Status == StatusDeactivated:
		return fault.New(fault.Conflict, "CREDENTIAL_RETIRED", "The credential is retired: it has been counted, and cannot be issued again.")
	case next.DomainType == verdict.Credential && rv.certified != nil:
		return rv.certified(ctx, tx, old, next)
	case next.DomainType != "claim":
		return nil
	case old.Status == StatusDraft && next.Status == StatusActive:
		return rv.submit(ctx, tx, next)
	case old.Status != next.Status || old.Project != next.Project:
		return rv.claims.Follow(ctx, tx, old, next)
	}
	return nil
}

// mayRestate refuses to change what a submitted claim or a credential says.
func (rv *reviser) mayRestate(before *Entity) error {
	switch {
	case rv.claims == nil:
		return nil
	case before.DomainType == verdict.Credential:
		return fault.New(fault.Conflict, "CREDENTIAL_FIXED", "What a credential says comes from its claim and does not change. Deactivate it and issue another one.")
	case before.DomainType == "claim" && before.Status != StatusDraft:
		return fault.New(fault.Conflict, "CLAIM_SUBMITTED", "The claim was submitted, and what it says is fixed. Withdraw it and submit another one.")
	}
	return nil
}

// Issued is a credential that an approved claim has become, for the package that
// signs it.
type Issued struct {
	Row       *Row                  // its twin
	Claim     int64                 // number of the claim
	Subject   int64                 // number of the twin it is about
	Issuer    *Row                  // the oracle
	Says      *api.IssuedCredential // what it says; the signer adds the address
	Claimed   []byte                // the claim's document in canonical JSON
	Evaluated []byte                // the approval in canonical JSON
	Evidence  []string
	Options   api.CredentialIssueOptions
}

// StepTx takes a credential to another status because of its claim, whoever controls
// it. Faults: ENTITY_NOT_FOUND, STATE_TRANSITION_INVALID.
func (s *Service) StepTx(ctx context.Context, tx *db.Tx, id string, t Transition) error {
	if err := s.lockAround(ctx, tx, id, t.To); err != nil {
		return err
	}
	r, err := s.FindForUpdate(ctx, tx, id)
	if err != nil {
		return err
	}
	if err := r.Status.Check(t.To); err != nil {
		return err
	}
	act := Action{Name: "transition", Reason: t.Reason, Event: "entity.status_changed", Data: map[string]any{"from": r.Status, "to": t.To}}
	_, err = s.Mutate(ctx, tx, r, act, func(e *Entity) error {
		e.Status = t.To
		return nil
	})
	return err
}

type issuingKey struct{}

// Issuing returns the context in which the keeper of claims makes the credential
// of an approved claim. No other credential can be made.
func Issuing(ctx context.Context) context.Context { return context.WithValue(ctx, issuingKey{}, true) }

func issuing(ctx context.Context) bool { return ctx.Value(issuingKey{}) != nil }

// mayIssue refuses a credential that is made by hand.
func (rv *reviser) mayIssue(ctx context.Context, credential bool) error {
	if rv.claims == nil || !credential || issuing(ctx) {
		return nil
	}
	return needsClaim()
}

func needsClaim() error {
	return fault.New(fault.Forbidden, "CREDENTIAL_NEEDS_CLAIM", "A credential is issued from an approved claim, with POST /v1/credentials, and in no other way.")
}
