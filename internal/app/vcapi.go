package app

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/resolve"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/vc/vcapi"
)

// vcAPI makes the service of the W3C VC-API.
func vcAPI(a *App) *vcapi.Service {
	issued := a.twins.issued
	return vcapi.New(vcapi.Config{
		Key: a.Key, Fleet: a.fleet, Enabled: a.cfg.VC.DirectIssue, Lookup: a.twins.methodOf, Status: issued.Status, History: issued.History,
		Issued: func(ctx context.Context, id string) (map[string]any, error) {
			c, err := issued.Get(ctx, id)
			if err != nil {
				return nil, err
			}
			return c.VerifiableCredential, nil
		},
	})
}

// methodOf finds a verification method among the keys of issuers, and in the public
// document of a did:web of this server. No other host is asked.
func (t *twins) methodOf(ctx context.Context, method string) (vc.Method, bool, error) {
	if m, ok, err := t.issued.Method(ctx, method); err != nil || ok {
		return m, ok, err
	}
	id, _, _ := strings.Cut(method, "#")
	if did.DID(id).Method() != "web" {
		return vc.Method{}, false, nil
	}
	found, err := t.resolve.ResolvePublic(ctx, id, resolve.Version{})
	if fault.As(err) != nil {
		return vc.Method{}, false, nil // not ours, or not there
	} else if err != nil {
		return vc.Method{}, false, err
	}
	var doc api.DIDDocument
	if err := json.Unmarshal(found.DIDDocument.Value, &doc); err != nil || found.DocumentMetadata.Deactivated {
		return vc.Method{}, false, err
	}
	i := slices.IndexFunc(doc.VerificationMethod, func(m api.DIDMethod) bool { return m.ID == method && m.Controller == id })
	if i < 0 {
		return vc.Method{}, false, nil
	}
	key, err := did.DID("did:key:" + doc.VerificationMethod[i].PublicKeyMultibase).PublicKey()
	if err != nil {
		return vc.Method{}, false, nil // of a kind that is not verified here
	}
	m := vc.Method{Controller: id, Key: key, Purposes: []string{}}
	for purpose, methods := range map[string][]string{vc.Assertion: doc.AssertionMethod, vc.Authentication: doc.Authentication} {
		if slices.Contains(methods, method) {
			m.Purposes = append(m.Purposes, purpose)
		}
	}
	return m, true, nil
}

// kindIssue is the job that issues the credential of an approved claim.
const kindIssue = "credential.issue"

type issueJob struct {
	Claim string `json:"claim"`
}

// issueLater issues the credential of a claim once tx is done. A job that failed
// because the claim was disputed then does not prevent another; two of them make one
// credential.
func issueLater(jobs *job.Service) func(ctx context.Context, tx *db.Tx, claim string) error {
	return func(ctx context.Context, tx *db.Tx, claim string) error {
		_, err := jobs.Enqueue(ctx, tx, job.Draft{Kind: kindIssue, Payload: issueJob{claim}, About: "/v1/claims/" + url.PathEscape(claim)})
		return err
	}
}

// issueApproved is the job that issueLater makes.
func (t *twins) issueApproved(ctx context.Context, r *job.Run) error {
	var p issueJob
	if err := r.Decode(&p); err != nil {
		return err
	}
	return t.claims.IssueApproved(ctx, p.Claim)
}
