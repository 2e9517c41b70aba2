package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Claims calls the routes of claims and their credentials.
type Claims struct{ c *Client }

// Types of package api.
type (
	Claim       = api.Claim
	ClaimAmount = api.ClaimAmount
	ClaimDraft  = api.ClaimDraft

	ClaimEvaluationDraft = api.ClaimEvaluationDraft
	ClaimEvaluation      = api.ClaimEvaluation
	ClaimLease           = api.ClaimLease
	EvaluationConsent    = api.EvaluationConsent
	EvaluationConsents   = api.EvaluationConsents
	ClaimRecomputation   = api.ClaimRecomputation
	QueuedClaim          = api.QueuedClaim
	ClaimEvidence        = api.ClaimEvidence
	ClaimEvidenceList    = api.ClaimEvidenceList
	ClaimChain           = api.ClaimChain
	ChainStep            = api.ChainStep
	ClaimDispute         = api.ClaimDispute
	ProcessedClaims      = api.ProcessedClaims
	SimulatedClaim       = api.SimulatedClaim
	ClaimSimulation      = api.ClaimSimulation
	ClaimSimulationDraft = api.ClaimSimulationDraft
	ClaimExplanation     = api.ClaimExplanation
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

// ClaimQuery narrows a list of claims; empty members are ignored.
type ClaimQuery struct {
	Status, Kind, Subject, Claimant, ProjectID, Collection string
}

// List walks over claims, newest first.
func (s Claims) List(ctx context.Context, q ClaimQuery, opts ...Option) iter.Seq2[Claim, error] {
	return pages[Claim](ctx, s.c, claimsPath, q.values(), opts)
}

func (q ClaimQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"status": q.Status, "kind": q.Kind, "subject": q.Subject, "claimant": q.Claimant, "projectId": q.ProjectID, "collection": q.Collection} {
		set(v, name, value)
	}
	return v
}

// Of walks over the claims about an entity, newest first. Code: ENTITY_NOT_FOUND.
func (s Claims) Of(ctx context.Context, did string, opts ...Option) iter.Seq2[Claim, error] {
	return pages[Claim](ctx, s.c, entityPath(did)+"/claims", url.Values{}, opts)
}

// Withdraw ends a claim that is not decided. Codes: CLAIM_DECIDED,
// NOT_CONTROLLER.
func (s Claims) Withdraw(ctx context.Context, id, reason string, opts ...Option) (*Claim, error) {
	return do[Claim](ctx, s.c, post(claimPath(id)+"/withdraw", api.ClaimWithdrawal{Reason: reason}), opts)
}

// Evaluate enters facts about a claim and lets the rubric decide, or decides where the
// rubric leaves that to people. Codes: RUBRIC_DECIDES, CLAIM_DECIDED,
// CLAIM_FACTS_INVALID, VERIFIER_IS_CLAIMANT, VERIFIER_NOT_ORACLE.
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

// Process evaluates claims that are due, of types whose mode is auto or hybrid.
func (s Claims) Process(ctx context.Context, opts ...Option) (*ProcessedClaims, error) {
	return do[ProcessedClaims](ctx, s.c, post(claimsPath+":process", nil), opts)
}

// Consent lets the server evaluate in the caller's name as an oracle, of which the caller is
// a controller. Codes: NOT_AN_ORACLE, NOT_CONTROLLER.
func (s Claims) Consent(ctx context.Context, oracle string, opts ...Option) (*EvaluationConsents, error) {
	return do[EvaluationConsents](ctx, s.c, post(entityPath(oracle)+"/evaluation-consent", nil), opts)
}

// Retract withdraws a Consent.
func (s Claims) Retract(ctx context.Context, oracle string, opts ...Option) (*EvaluationConsents, error) {
	return do[EvaluationConsents](ctx, s.c, remove(entityPath(oracle)+"/evaluation-consent"), opts)
}

// Consents lists in whose name the server evaluates as an oracle.
func (s Claims) Consents(ctx context.Context, oracle string, opts ...Option) (*EvaluationConsents, error) {
	return do[EvaluationConsents](ctx, s.c, get(entityPath(oracle)+"/evaluation-consent", nil), opts)
}

// Queue walks over the claims that wait for the caller, the oldest first: of a status, a
// kind, a project or a collection.
func (s Claims) Queue(ctx context.Context, q ClaimQuery, opts ...Option) iter.Seq2[QueuedClaim, error] {
	return pages[QueuedClaim](ctx, s.c, "/v1/claim-queue", q.values(), opts)
}

// Take reserves a claim for the caller for ten minutes, or renews that. Codes:
// CLAIM_LEASED, CLAIM_DECIDED, VERIFIER_IS_CLAIMANT, VERIFIER_NOT_ORACLE.
func (s Claims) Take(ctx context.Context, id string, opts ...Option) (*ClaimLease, error) {
	return do[ClaimLease](ctx, s.c, post(claimPath(id)+"/lease", nil), opts)
}

// Release returns a claim to the queue.
func (s Claims) Release(ctx context.Context, id string, opts ...Option) (*ClaimLease, error) {
	return do[ClaimLease](ctx, s.c, remove(claimPath(id)+"/lease"), opts)
}

// Simulate starts a job that asks a rubric about past claims. Codes:
// SIMULATION_INVALID, PROTOCOL_NOT_FOUND, RUBRIC_NOT_FOUND.
func (s Claims) Simulate(ctx context.Context, d ClaimSimulationDraft, opts ...Option) (*Job, error) {
	return do[Job](ctx, s.c, post(claimsPath+":simulate", d), opts)
}

func simulationPath(id string) string { return "/v1/claim-simulations/" + url.PathEscape(id) }

// Simulation reads what a rubric would change. Code: SIMULATION_NOT_FOUND.
func (s Claims) Simulation(ctx context.Context, id string, opts ...Option) (*ClaimSimulation, error) {
	return do[ClaimSimulation](ctx, s.c, get(simulationPath(id), nil), opts)
}

// Simulated walks over the claims that a rubric would change.
func (s Claims) Simulated(ctx context.Context, id string, opts ...Option) iter.Seq2[SimulatedClaim, error] {
	return pages[SimulatedClaim](ctx, s.c, simulationPath(id)+"/claims", url.Values{}, opts)
}

// Explain describes in words what became of a claim. Code: CLAIM_NOT_FOUND.
func (s Claims) Explain(ctx context.Context, id string, opts ...Option) (*ClaimExplanation, error) {
	return do[ClaimExplanation](ctx, s.c, get(claimPath(id)+"/explanation", nil), opts)
}

// Evidence looks up the evidence behind a claim.
func (s Claims) Evidence(ctx context.Context, id string, opts ...Option) (*ClaimEvidenceList, error) {
	return do[ClaimEvidenceList](ctx, s.c, get(claimPath(id)+"/evidence", nil), opts)
}

// Chain walks from the credential of a claim to the evidence behind it.
func (s Claims) Chain(ctx context.Context, id string, opts ...Option) (*ClaimChain, error) {
	return do[ClaimChain](ctx, s.c, get(claimPath(id)+"/chain", nil), opts)
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
