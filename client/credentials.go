package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Credentials verifies credentials and presentations by the W3C VC-API.
type Credentials struct{ c *Client }

// Types of package api.
type (
	CredentialIssue         = api.CredentialIssue
	CredentialIssueOptions  = api.CredentialIssueOptions
	CredentialVerify        = api.CredentialVerify
	CredentialCheck         = api.CredentialCheck
	CredentialVerifyOptions = api.CredentialVerifyOptions
	PresentationVerify      = api.PresentationVerify
	CredentialVerification  = api.CredentialVerification
	CredentialReason        = api.CredentialReason
	DirectIssuer            = api.DirectIssuer
)

const vcPath = "/v1/vc-api"

// Verify verifies a credential. If it is not verified, the code is
// CREDENTIAL_NOT_VERIFIED and the fields of the error are the reasons.
func (s Credentials) Verify(ctx context.Context, v CredentialVerify, opts ...Option) (*CredentialVerification, error) {
	return do[CredentialVerification](ctx, s.c, post(vcPath+"/credentials/verify", v), opts)
}

// VerifyPresentation verifies a presentation and the credentials in it. Code:
// CREDENTIAL_NOT_VERIFIED.
func (s Credentials) VerifyPresentation(ctx context.Context, v PresentationVerify, opts ...Option) (*CredentialVerification, error) {
	return do[CredentialVerification](ctx, s.c, post(vcPath+"/presentations/verify", v), opts)
}

// IssueDirect makes the test issuer sign a credential. Codes: DIRECT_ISSUE_OFF,
// CREDENTIAL_INVALID.
func (s Credentials) IssueDirect(ctx context.Context, v CredentialIssue, opts ...Option) (map[string]any, error) {
	out, err := do[map[string]any](ctx, s.c, post(vcPath+"/credentials/issue", v), opts)
	if err != nil {
		return nil, err
	}
	return *out, nil
}

// DirectIssuer reads the identity of the test issuer.
func (s Credentials) DirectIssuer(ctx context.Context, opts ...Option) (*DirectIssuer, error) {
	return do[DirectIssuer](ctx, s.c, get(vcPath+"/issuer", nil), opts)
}

// Types of package api.
type (
	CredentialStep    = api.CredentialStep
	IssuerKey         = api.IssuerKey
	IssuerKeys        = api.IssuerKeys
	IssuerKeyRotation = api.IssuerKeyRotation
)

const credentialsPath = "/v1/credentials"

func credentialPath(id string) string { return credentialsPath + "/" + url.PathEscape(id) }

// CheckIssued says whether a credential that was issued here is valid now.
// Code: CREDENTIAL_NOT_FOUND.
func (s Credentials) CheckIssued(ctx context.Context, id string, opts ...Option) (*CredentialVerification, error) {
	return do[CredentialVerification](ctx, s.c, post(credentialPath(id)+"/verify", nil), opts)
}

// Check says whether a credential or a presentation is valid, and why not.
func (s Credentials) Check(ctx context.Context, v CredentialCheck, opts ...Option) (*CredentialVerification, error) {
	return do[CredentialVerification](ctx, s.c, post(credentialsPath+":verify", v), opts)
}

// Get reads an issued credential with its signed document. Code: CREDENTIAL_NOT_FOUND.
func (s Credentials) Get(ctx context.Context, id string, opts ...Option) (*IssuedCredential, error) {
	return do[IssuedCredential](ctx, s.c, get(credentialPath(id), nil), opts)
}

// CredentialQuery narrows a list of credentials; empty members are ignored.
type CredentialQuery struct {
	Status, Kind, ProjectID string
}

// List walks over issued credentials, newest first.
func (s Credentials) List(ctx context.Context, q CredentialQuery, opts ...Option) iter.Seq2[IssuedCredential, error] {
	v := url.Values{}
	for name, value := range map[string]string{"status": q.Status, "kind": q.Kind, "projectId": q.ProjectID} {
		set(v, name, value)
	}
	return pages[IssuedCredential](ctx, s.c, credentialsPath, v, opts)
}

// Of walks over the credentials of an entity, newest first. Code: ENTITY_NOT_FOUND.
func (s Credentials) Of(ctx context.Context, did string, opts ...Option) iter.Seq2[IssuedCredential, error] {
	return pages[IssuedCredential](ctx, s.c, entityPath(did)+"/credentials", url.Values{}, opts)
}

// Revoke ends a credential for good. Codes: NOT_CONTROLLER, CREDENTIAL_RETIRED.
func (s Credentials) Revoke(ctx context.Context, id, reason string, opts ...Option) (*IssuedCredential, error) {
	return s.step(ctx, id, "revoke", reason, opts)
}

// Suspend suspends a credential. Code: NOT_CONTROLLER.
func (s Credentials) Suspend(ctx context.Context, id, reason string, opts ...Option) (*IssuedCredential, error) {
	return s.step(ctx, id, "suspend", reason, opts)
}

// Reinstate reverses Suspend. Codes: NOT_CONTROLLER, CREDENTIAL_DISPUTED.
func (s Credentials) Reinstate(ctx context.Context, id, reason string, opts ...Option) (*IssuedCredential, error) {
	return s.step(ctx, id, "reinstate", reason, opts)
}

// Retire notes that a credential has been used up. Code: NOT_CONTROLLER.
func (s Credentials) Retire(ctx context.Context, id, reason string, opts ...Option) (*IssuedCredential, error) {
	return s.step(ctx, id, "retire", reason, opts)
}

func (s Credentials) step(ctx context.Context, id, verb, reason string, opts []Option) (*IssuedCredential, error) {
	return do[IssuedCredential](ctx, s.c, post(credentialPath(id)+"/"+verb, CredentialStep{Reason: reason}), opts)
}

// StatusList reads a public status list by the id that credentials name.
func (s Credentials) StatusList(ctx context.Context, id string, opts ...Option) (map[string]any, error) {
	out, err := do[map[string]any](ctx, s.c, get("/v1/status-lists/"+url.PathEscape(id), nil), opts)
	if err != nil {
		return nil, err
	}
	return *out, nil
}

// Shown reads the signed document of a public page, by the page's id. Code:
// CREDENTIAL_NOT_FOUND.
func (s Credentials) Shown(ctx context.Context, page string, opts ...Option) (map[string]any, error) {
	out, err := do[map[string]any](ctx, s.c, get("/c/"+url.PathEscape(page)+"/credential", nil), opts)
	if err != nil {
		return nil, err
	}
	return *out, nil
}

// Keys reads the keys that an oracle issues with.
func (s Credentials) Keys(ctx context.Context, did string, opts ...Option) (*IssuerKeys, error) {
	return do[IssuerKeys](ctx, s.c, get(entityPath(did)+"/issuer-keys", nil), opts)
}

// RotateKey gives an oracle a new key to issue with. Codes: NOT_CONTROLLER,
// NOT_AN_ORACLE, ISSUER_KEY_INVALID.
func (s Credentials) RotateKey(ctx context.Context, did string, d IssuerKeyRotation, opts ...Option) (*IssuerKey, error) {
	return do[IssuerKey](ctx, s.c, post(entityPath(did)+"/issuer-keys", d), opts)
}
