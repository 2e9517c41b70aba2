package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Claims is claims and what becomes of them.
type Claims struct{ c *Client }

// Nouns of package api.
type (
	Claim       = api.Claim
	ClaimAmount = api.ClaimAmount
	ClaimDraft  = api.ClaimDraft

	ClaimEvaluationDraft = api.ClaimEvaluationDraft
	ClaimEvaluation      = api.ClaimEvaluation
	ClaimRecomputation   = api.ClaimRecomputation
	ClaimDispute         = api.ClaimDispute
	ClaimAdjudication    = api.ClaimAdjudication
	CredentialRequest    = api.CredentialRequest
	IssuedCredential     = api.IssuedCredential
)

const claimsPath = "/v1/claims"

func claimPath(id string) string { return claimsPath + "/" + url.PathEscape(id) }

// Submit submits a claim. Codes: CLAIM_INVALID, CLAIM_OVERLAPS, CLAIM_DUPLICATE,
// CLAIM_NOT_SUMMABLE, CLAIM_DISPUTED, NOT_CONTROLLER.
func (s Claims) Submit(ctx context.Context, d ClaimDraft, opts ...Option) (*Claim, error) {
	return do[Claim](ctx, s.c, post(claimsPath, d), opts)
}

// Get reads a claim by DID or CID. Code: CLAIM_NOT_FOUND.
func (s Claims) Get(ctx context.Context, id string, opts ...Option) (*Claim, error) {
	return do[Claim](ctx, s.c, get(claimPath(id), nil), opts)
}

// ClaimQuery narrows a list of claims; empty members do not.
type ClaimQuery struct {
	Status, Kind, Subject, Claimant, ProjectID string
}

// List walks over claims, newest first.
func (s Claims) List(ctx context.Context, q ClaimQuery, opts ...Option) iter.Seq2[Claim, error] {
	v := url.Values{}
	for name, value := range map[string]string{"status": q.Status, "kind": q.Kind, "subject": q.Subject, "claimant": q.Claimant, "projectId": q.ProjectID} {
		set(v, name, value)
	}
	return pages[Claim](ctx, s.c, claimsPath, v, opts)
}

// Of walks over the claims about an entity, newest first. Code: ENTITY_NOT_FOUND.
func (s Claims) Of(ctx context.Context, did string, opts ...Option) iter.Seq2[Claim, error] {
	return pages[Claim](ctx, s.c, entityPath(did)+"/claims", url.Values{}, opts)
}

// Withdraw ends a claim that nobody has decided. Codes: CLAIM_DECIDED,
// NOT_CONTROLLER.
func (s Claims) Withdraw(ctx context.Context, id, reason string, opts ...Option) (*Claim, error) {
	return do[Claim](ctx, s.c, post(claimPath(id)+"/withdraw", api.ClaimWithdrawal{Reason: reason}), opts)
}

// Evaluate enters facts about a claim and has the rubric decide, or decides where that
// is left to people. Codes: RUBRIC_DECIDES, CLAIM_DECIDED, CLAIM_FACTS_INVALID,
// VERIFIER_IS_CLAIMANT, VERIFIER_NOT_ORACLE.
func (s Claims) Evaluate(ctx context.Context, id string, e ClaimEvaluationDraft, opts ...Option) (*ClaimEvaluation, error) {
	return do[ClaimEvaluation](ctx, s.c, post(claimPath(id)+"/evaluations", e), opts)
}

// Evaluations walks over the evaluations of a claim, newest first.
func (s Claims) Evaluations(ctx context.Context, id string, opts ...Option) iter.Seq2[ClaimEvaluation, error] {
	return pages[ClaimEvaluation](ctx, s.c, claimPath(id)+"/evaluations", url.Values{}, opts)
}

// Recompute decides about a claim again and compares. Code: RUBRIC_INVALID.
func (s Claims) Recompute(ctx context.Context, id string, opts ...Option) (*ClaimRecomputation, error) {
	return do[ClaimRecomputation](ctx, s.c, post(claimPath(id)+"/evaluations:recompute", nil), opts)
}

// Dispute disputes a claim, which suspends its credential. Codes: CLAIM_DECIDED,
// CLAIM_DISPUTED, CREDENTIAL_RETIRED.
func (s Claims) Dispute(ctx context.Context, id, reason string, opts ...Option) (*ClaimDispute, error) {
	return do[ClaimDispute](ctx, s.c, post(claimPath(id)+"/disputes", api.ClaimDisputeDraft{Reason: reason}), opts)
}

// Disputes walks over the disputes of a claim, newest first.
func (s Claims) Disputes(ctx context.Context, id string, opts ...Option) iter.Seq2[ClaimDispute, error] {
	return pages[ClaimDispute](ctx, s.c, claimPath(id)+"/disputes", url.Values{}, opts)
}

// Adjudicate decides a dispute. Codes: DISPUTE_NOT_FOUND, DISPUTE_DECIDED,
// ADJUDICATOR_HAS_PART, VERIFIER_IS_CLAIMANT.
func (s Claims) Adjudicate(ctx context.Context, id, dispute string, a ClaimAdjudication, opts ...Option) (*ClaimDispute, error) {
	return do[ClaimDispute](ctx, s.c, post(claimPath(id)+"/disputes/"+url.PathEscape(dispute)+"/decision", a), opts)
}

// Issue makes the credential of an approved claim. Codes: CREDENTIAL_NEEDS_CLAIM,
// CLAIM_NOT_APPROVED, CREDENTIAL_DISAGREES, CLAIM_ALREADY_CREDENTIAL, NOT_CONTROLLER.
func (s Claims) Issue(ctx context.Context, d CredentialRequest, opts ...Option) (*IssuedCredential, error) {
	return do[IssuedCredential](ctx, s.c, post("/v1/credentials", d), opts)
}
