package claim

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	tag       = "claims"
	readScope = web.Scope("claims:read")
	onePath   = "/v1/claims/{claimId}"
)

const submitting = "A claim is about one device, household or asset, which you control. A claim with a subject is submitted: its document and CID no longer change; to correct it, " +
	"withdraw it and submit another one. A claim without a subject stays a draft. A claim is refused (409) when a claim of the same kind exists for days of its period, about the subject, about anything the subject is part of (its household, its project) " +
	"or about a part of it, unless the claim type aggregates and claims lists what is summed."

const evaluating = "The rubric of the claim type, in the protocol of the claim's subject, decides by the facts; where its outcome is manual_review_required, or there is no rubric, you decide, with a reason. " +
	"You control an oracle that verifies the claim and have no part in it. The verification route of the entity obeys the same rules. partial_success approves a smaller amount."

// Routes adds claims to the API.
func (s *Service) Routes(a *web.API) {
	web.Post(a, "/v1/claims", s.serveCreate, web.Doc{
		Summary: "Submit a claim", Status: http.StatusCreated, Scope: "claims:write", Tag: tag, Once: true, Description: submitting,
		Example: Draft{
			Kind: "fuel-saved", Subject: "did:ixo:entity:175d7824ba25002e4ec206365e206236", PeriodStart: "2026-01-01", PeriodEnd: "2026-01-31",
			Amount: &api.ClaimAmount{Value: 12, Unit: "kg"}, Evidence: []any{"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
		},
		Codes: []string{
			invalidCode, "CLAIM_TYPE_UNKNOWN", "CLAIM_OVERLAPS", "CLAIM_DUPLICATE", "CLAIM_BEFORE_INSTALLED", "CLAIM_SUBJECTS_MANY", "CLAIM_NOT_SUMMABLE", "CLAIM_DISPUTED", "CLAIM_COVERS_TOO_MUCH", "RELATIONSHIP_TARGET_NOT_FOUND",
			"RELATIONSHIP_CLASS_MISMATCH", "NOT_CONTROLLER", "PROPERTY_SCHEMA_VIOLATION", "EXTERNAL_ID_EXISTS", "KEY_RESTRICTED",
			"COLLECTION_NOT_FOUND", "COLLECTION_MISMATCH", "COLLECTION_NOT_OPEN", "COLLECTION_NOT_STARTED", "COLLECTION_ENDED", "COLLECTION_QUOTA_REACHED",
		},
	})
	web.Get(a, "/v1/claims", s.serveList, web.Doc{
		Summary: "List claims, newest first", Scope: readScope, Tag: tag, Codes: []string{"INVALID_PARAMETER"}, Description: "Drafts are not among them. A page may be short: follow hasMore.",
	})
	web.Get(a, onePath, s.serveGet, web.Doc{
		Summary: "Read a claim with its document", Scope: readScope, Tag: tag, Codes: []string{"CLAIM_NOT_FOUND"},
		Description: "The CID is that of document in canonical JSON (RFC 8785): version 1, raw, SHA-256.",
	})
	web.Post(a, onePath+"/withdraw", s.serveWithdraw, web.Doc{
		Summary: "Withdraw a claim", Scope: "claims:write", Tag: tag, Once: true, Example: api.ClaimWithdrawal{Reason: "The period was wrong."},
		Description: "It stays readable; its twin is deactivated, and its period is free again. An approved or disputed claim cannot be withdrawn.",
		Codes:       []string{"CLAIM_NOT_FOUND", "CLAIM_DECIDED", "NOT_CONTROLLER", "ENTITY_INVALID"},
	})
	web.Post(a, onePath+"/evaluations", s.serveEvaluate, web.Doc{
		Summary: "Evaluate a claim", Status: http.StatusCreated, Scope: "claims:evaluate", Tag: tag, Once: true, Description: evaluating,
		Example: api.ClaimEvaluationDraft{Decision: Approved, Reason: "The readings show it."},
		Codes: []string{
			"CLAIM_NOT_FOUND", invalidCode, "CLAIM_FACTS_INVALID", "CLAIM_DECIDED", "CLAIM_DISPUTED", "CLAIM_LEASED", "RUBRIC_DECIDES", "RUBRIC_INVALID", "VERIFIER_IS_CLAIMANT", "VERIFIER_NOT_ORACLE",
			"MISSING_RELATIONSHIPS", "CLAIM_TYPE_UNKNOWN", "ENTITY_INVALID", "ENTITY_DEACTIVATED",
		},
	})
	web.Get(a, onePath+"/evaluations", s.serveEvaluations, web.Doc{Summary: "List the evaluations of a claim, newest first", Scope: readScope, Tag: tag, Codes: []string{"CLAIM_NOT_FOUND"}})
	web.Post(a, onePath+"/evaluations:recompute", s.serveRecompute, web.Doc{
		Summary: "Decide about a claim again, and compare", Scope: readScope, Tag: tag, Codes: []string{"CLAIM_NOT_FOUND", "RUBRIC_INVALID"},
		Description: "Nothing is stored. The server computes the CID from the document, and makes every evaluation again with its facts and the rubric of its version.",
	})
	s.disputeRoutes(a)
	NewSimulations(s).routes(a)
	NewQueue(s).routes(a)
	(&Collections{cfg: s.cfg, db: s.db}).routes(a)
	NewEngine(s).routes(a)
	web.Post(a, "/v1/credentials", s.serveIssue, web.Doc{
		Summary: "Issue the credential of an approved claim", Status: http.StatusCreated, Scope: "credentials:write", Tag: tag, Once: true,
		Description: "Kind, subject and period come from the claim, the amount from its evaluation, and the issuer is the oracle that approved it, which you control. Members that you send as well must agree with these. " +
			"A claim has one credential at a time; to correct it, deactivate it and issue another one. A retired credential (status completed) cannot be replaced.",
		Example: api.CredentialRequest{Claim: "did:ixo:entity:175d7824ba25002e4ec206365e206236"},
		Codes:   []string{"CREDENTIAL_NEEDS_CLAIM", "CLAIM_NOT_FOUND", "CLAIM_NOT_APPROVED", "CREDENTIAL_DISAGREES", "CREDENTIAL_INVALID", "NOT_CONTROLLER", "CLAIM_ALREADY_CREDENTIAL", "STALE_REVISION", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/entities/{did}/claims", s.serveOf, web.Doc{
		Summary: "List the claims about an entity, newest first", Scope: readScope, Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"}, Description: "Those it produces. A page may be short: follow hasMore.",
	})
}

func (s *Service) serveCreate(ctx context.Context, in *struct{ Body Draft }) (web.Reply[*api.Claim], error) {
	return s.Create(ctx, in.Body)
}

// of names a claim.
type of struct {
	ID string `path:"claimId" doc:"DID or CID of the claim." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
}

func (s *Service) serveGet(ctx context.Context, in *of) (*api.Claim, error) { return s.Get(ctx, in.ID) }

func (s *Service) serveWithdraw(ctx context.Context, in *struct {
	of
	Body *api.ClaimWithdrawal
},
) (web.Reply[*api.Claim], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	return s.Withdraw(ctx, in.ID, reason)
}

// place is where a list continues.
type place struct {
	Before int64 `json:"b"`
}

func (s *Service) page(ctx context.Context, in web.Paging, f Filter) (web.Reply[web.Page[*api.Claim]], error) {
	var at place
	return web.List(ctx, s.cfg.Cursors, in, &at, func(limit int) ([]*api.Claim, place, error) {
		items, next, err := s.List(ctx, f, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Service) serveList(ctx context.Context, in *struct {
	Status   string `query:"status" enum:"pending,flagged,disputed,approved,rejected,invalidated,withdrawn"`
	Kind     string `query:"kind" doc:"Only claims of this kind."`
	Subject  string `query:"subject" doc:"Only claims about this twin, by its DID."`
	Claimant string `query:"claimant" doc:"Only claims of this DID."`
	Project  string `query:"projectId" doc:"Only claims of this project."`
	In       string `query:"collection" doc:"Only claims of this collection, by its id."`
	web.Paging
},
) (web.Reply[web.Page[*api.Claim]], error) {
	var c fault.Checks
	check.OneOf(&c, "query/status", in.Status, Pending, Flagged, Disputed, Approved, Rejected, Invalidated, Withdrawn)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return web.Reply[web.Page[*api.Claim]]{}, err
	}
	return s.page(ctx, in.Paging, Filter{Status: in.Status, Kind: in.Kind, Subject: in.Subject, Claimant: in.Claimant, Project: in.Project, Collection: in.In})
}

func (s *Service) serveOf(ctx context.Context, in *struct {
	DID string `path:"did" doc:"DID of the entity." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
	web.Paging
},
) (web.Reply[web.Page[*api.Claim]], error) {
	r, err := s.cfg.Entities.Find(ctx, s.db, in.DID)
	if err != nil {
		return web.Reply[web.Page[*api.Claim]]{}, err
	}
	return s.page(ctx, in.Paging, Filter{Subject: r.DID})
}

var _ entity.Claims = (*Ledger)(nil)

func (s *Service) serveEvaluate(ctx context.Context, in *struct {
	of
	Body api.ClaimEvaluationDraft
},
) (web.Reply[*api.ClaimEvaluation], error) {
	return s.Evaluate(ctx, in.ID, in.Body)
}

func (s *Service) serveEvaluations(ctx context.Context, in *struct {
	of
	web.Paging
},
) (web.Reply[web.Page[*api.ClaimEvaluation]], error) {
	r, err := find(ctx, s.db, in.ID)
	if err != nil {
		return web.Reply[web.Page[*api.ClaimEvaluation]]{}, err
	}
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*api.ClaimEvaluation, place, error) {
		items, next, err := s.evaluations(ctx, s.db, r.nid, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Service) serveRecompute(ctx context.Context, in *of) (*api.ClaimRecomputation, error) {
	return s.Recompute(ctx, in.ID)
}

func (s *Service) serveIssue(ctx context.Context, in *struct{ Body api.CredentialRequest }) (web.Reply[*api.IssuedCredential], error) {
	return s.Issue(ctx, in.Body)
}
