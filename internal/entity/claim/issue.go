package claim

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	credentialProtocol = "did:ixo:protocol/credential"
	selectApproval     = `SELECT nid, at, evaluator, oracle, protocol, version, rubric_hash, facts, outcome, reason_code, rule, amount, status, reason, automatic, erased FROM claim_evaluations
		WHERE claim = $1 AND status = 'approved' ORDER BY nid DESC LIMIT 1`
	selectEverBecame = `SELECT 1 FROM relationships WHERE src = $1 AND role = 'becomes' LIMIT 1`
)

// Credentials signs the credentials of claims, and keeps their state, in the
// transaction of the claim.
type Credentials interface {
	Issue(ctx context.Context, tx *db.Tx, i entity.Issued) error
	// Suspend, Reinstate and Revoke are for disputes; the claim is named by its number.
	Suspend(ctx context.Context, tx *db.Tx, claim int64) error
	Reinstate(ctx context.Context, tx *db.Tx, claim int64) error
	Revoke(ctx context.Context, tx *db.Tx, claim int64) error
}

// Issue makes the credential of an approved claim. Everything in it comes from the
// claim and its evaluation. Faults: CREDENTIAL_NEEDS_CLAIM, CLAIM_NOT_FOUND,
// CLAIM_NOT_APPROVED, CREDENTIAL_DISAGREES, NOT_CONTROLLER, CLAIM_ALREADY_CREDENTIAL.
func (s *Service) Issue(ctx context.Context, d api.CredentialRequest) (web.Reply[*api.IssuedCredential], error) {
	if d.Claim == "" {
		return web.Reply[*api.IssuedCredential]{}, fault.New(fault.Forbidden, "CREDENTIAL_NEEDS_CLAIM", "A credential is issued from an approved claim. Name it.").
			With(fault.Field{Pointer: "/claim", Code: "required", Detail: "Give the DID or the CID of the claim."})
	}
	// A credential is prepared and then stored. The caller named no revision that it
	// could read again, so a claim that changed in between is read anew.
	out, err := issueNow(ctx, s, d)
	for again := 0; again < 4 && fault.KindOf(err) == fault.Stale; again++ {
		out, err = issueNow(ctx, s, d)
	}
	return out, err
}

// issueNow issues the credential of a claim in its present state.
func issueNow(ctx context.Context, s *Service, d api.CredentialRequest) (web.Reply[*api.IssuedCredential], error) {
	var none web.Reply[*api.IssuedCredential]
	r, err := find(ctx, s.db, d.Claim)
	if err != nil {
		return none, err
	}
	i, draft, err := s.credential(ctx, s.db, r)
	if err == nil {
		err = byOracle(s.cfg.Entities.MayUpdate(ctx, s.db, i.Issuer), i.Says.Issuer)
	}
	if err == nil {
		err = agree(&d, r, i.Says)
	}
	if err != nil {
		return once.Refuse[*api.IssuedCredential](ctx, s.cfg.Idem, err)
	}
	i.Options = d.Options
	ctx = entity.Issuing(ctx)
	p, err := s.cfg.Entities.Prepare(ctx, draft)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.IssuedCredential], error) {
		if err := s.issue(ctx, tx, r, p, i); err != nil {
			return none, err
		}
		return web.Reply[*api.IssuedCredential]{Value: i.Says, Status: http.StatusCreated, Location: i.Says.Links.Self}, nil
	})
}

// byOracle names the oracle that approved the claim in the refusal of a caller who does not
// control it.
func byOracle(err error, oracle string) error {
	if fault.CodeOf(err) == "NOT_CONTROLLER" {
		return fault.New(fault.Forbidden, "NOT_CONTROLLER", "Only a controller of the oracle that approved the claim can have its credential issued.").
			With(fault.Field{Pointer: "/claim", Code: "not_controller", Detail: "The oracle is " + oracle + "."})
	}
	return err
}

// IssueApproved makes the credential of a claim whose type says that approval issues it.
// It does nothing when the credential exists, or the claim is no longer approved.
func (s *Service) IssueApproved(ctx context.Context, id string) error {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return err
	}
	i, draft, err := s.credential(ctx, s.db, r)
	if fault.CodeOf(err) == notApproved {
		return nil
	} else if err != nil {
		return err
	}
	ctx = entity.Issuing(ctx)
	p, err := s.cfg.Entities.Prepare(ctx, draft)
	if err != nil {
		return err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error { return s.issue(ctx, tx, r, p, i) })
	if fault.CodeOf(err) == "CLAIM_ALREADY_CREDENTIAL" {
		return nil
	}
	return err
}

// issues arranges the credential of a claim that was just approved, where its type says
// so. The issue follows later, because the claim's twin is not verified yet.
func (l *Ledger) issues(ctx context.Context, tx *db.Tx, r *row) error {
	if r.status != Approved || l.Issue == nil {
		return nil
	}
	form, err := l.form(ctx, tx, r)
	if err != nil || !form.Issues {
		return err
	}
	return l.Issue(ctx, tx, r.did)
}

// issuesFirst is issues for a claim that is approved again after a dispute, unless it has
// had a credential: a revoked one does not come back.
func (l *Ledger) issuesFirst(ctx context.Context, tx *db.Tx, r *row) error {
	became, err := db.Exists(tx.QueryRow(ctx, selectEverBecame, r.nid), "look for a credential")
	if err != nil || became {
		return err
	}
	return l.issues(ctx, tx, r)
}

// issue stores and signs a credential that was prepared.
func (s *Service) issue(ctx context.Context, tx *db.Tx, r *row, p *entity.Prepared, i *entity.Issued) error {
	if tx.Dialect() == db.Postgres { // on SQLite nobody can change its twin meanwhile
		if _, err := s.cfg.Entities.FindForUpdate(ctx, tx, r.did); err != nil {
			return err
		}
	}
	again, err := held(ctx, tx, r.ws, r.nid)
	if err != nil {
		return err
	}
	if again == nil || !sees(web.CallerFrom(ctx), again.project) {
		return notFound()
	}
	if again.status != Approved || again.approved != r.approved || again.summed != r.summed {
		return web.Overtaken()
	}
	if i.Row, err = s.cfg.Entities.StoreTx(ctx, tx, p); err != nil {
		return check.Moved(err, "/relationships/0/target", "/claim")
	}
	return s.cfg.Credentials.Issue(ctx, tx, *i)
}

// notApproved is the code for a claim that cannot become a credential.
const notApproved = "CLAIM_NOT_APPROVED"

// credential makes the credential of a claim, and the draft of its twin.
func (s *Service) credential(ctx context.Context, q db.Querier, r *row) (*entity.Issued, entity.Draft, error) {
	var none entity.Draft
	if r.status != Approved || r.summed != 0 {
		detail := "The claim is " + r.status + "."
		if r.summed != 0 {
			detail = "Another claim has summed it; that claim becomes the credential."
		}
		return nil, none, fault.New(fault.Conflict, notApproved, "Only an approved claim becomes a credential.").
			With(fault.Field{Pointer: "/claim", Code: "not_approved", Detail: detail})
	}
	c := &api.IssuedCredential{Kind: r.kind, Subject: r.subjectDID, Claim: r.did, CID: r.cid, Project: r.project, IssuedAt: s.cfg.Ledger.Now().UTC().Truncate(time.Millisecond)}
	i := &entity.Issued{Claim: r.nid, Subject: r.subject, Says: c, Claimed: []byte(r.body)}
	if err := s.approval(ctx, q, r, i); err != nil {
		return nil, none, err
	}
	shown, err := r.view(true)
	if err != nil {
		return nil, none, err
	}
	i.Evidence = shown.Document.Evidence
	c.PeriodStart, c.PeriodEnd, c.Amount = shown.PeriodStart, shown.PeriodEnd, shown.Approved
	props := map[string]any{"kind": c.Kind, "issuer": c.Issuer, "issuedAt": c.IssuedAt.Format(time.DateOnly)}
	if c.Amount != nil {
		props["amount"] = c.Amount
	}
	properties, err := json.Marshal(props, json.Deterministic(true))
	if err != nil {
		return nil, none, err
	}
	metadata, err := json.Marshal(map[string]any{"claim": c.Claim, "claimCid": c.CID, "periodStart": c.PeriodStart, "periodEnd": c.PeriodEnd}, json.Deterministic(true))
	if err != nil {
		return nil, none, err
	}
	out := entity.Draft{
		Type: "Credential", Protocol: credentialProtocol, Controller: c.Issuer, Properties: entity.Object{Value: properties}, Metadata: entity.Object{Value: metadata},
		Relationships: []entity.RelationDraft{{Role: relationship.BecameFrom, Target: r.did}},
	}
	if r.project != "" {
		out.Relationships = append(out.Relationships, entity.RelationDraft{Role: relationship.Project, Target: r.project})
	}
	return i, out, nil
}

// approval finds the evaluation a credential rests on, and the oracle that issues it.
func (s *Service) approval(ctx context.Context, q db.Querier, r *row, i *entity.Issued) error {
	var e evaluation
	if err := e.scan(q.QueryRow(ctx, selectApproval, r.nid)); errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.Conflict, notApproved, "Nobody has evaluated the claim.")
	} else if err != nil {
		return db.Wrap("find approval", err)
	}
	shown, err := e.view()
	if err != nil {
		return err
	}
	if i.Evaluated, err = lasting(*shown); err != nil {
		return err
	}
	i.Says.Issuer = e.oracle
	i.Issuer, err = s.cfg.Entities.Find(ctx, q, e.oracle)
	return err
}

// lasting renders an evaluation for the hash in a credential: as the API gives it, in
// canonical form, without what people wrote. The document with the hash never changes,
// and people's words may be erased.
func lasting(e api.ClaimEvaluation) (jsontext.Value, error) {
	e.Reason, e.ReasonErased = "", false
	raw, err := web.Encode(e)
	if err != nil {
		return nil, err
	}
	out := jsontext.Value(raw)
	return out, out.Canonicalize()
}

// agree requires that everything in a request agrees with the claim.
func agree(d *api.CredentialRequest, r *row, c *api.IssuedCredential) error {
	var wrong []fault.Field
	differs := func(at string) {
		wrong = append(wrong, fault.Field{Pointer: at, Code: "mismatch", Detail: "The value differs from the claim and its evaluation. Leave it out: it is taken from them."})
	}
	if d.Issuer != "" && d.Issuer != c.Issuer {
		differs("/issuer")
	}
	types := []string{"VerifiableCredential", c.Kind, strings.TrimSuffix(r.typ, "Claim") + "Credential"}
	if slices.ContainsFunc(d.Type, func(t string) bool { return !slices.Contains(types, t) }) {
		differs("/type")
	}
	says := map[string]any{"id": c.Subject, "kind": c.Kind, "periodStart": c.PeriodStart, "periodEnd": c.PeriodEnd, "amount": c.Amount}
	for name, given := range d.CredentialSubject {
		ours, known := says[name]
		a, err := canonical(given)
		b, other := canonical(ours)
		if !known || err != nil || other != nil || string(a) != string(b) {
			differs("/credentialSubject/" + check.Escape(name))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	order.Sort(wrong, func(a, b fault.Field) int { return strings.Compare(a.Pointer, b.Pointer) })
	return fault.New(fault.Conflict, "CREDENTIAL_DISAGREES", "The credential would contradict its claim.").With(wrong...)
}
