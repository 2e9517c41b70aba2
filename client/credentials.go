package client

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
)

// Credentials verifies credentials and presentations by the W3C VC-API.
type Credentials struct{ c *Client }

// Nouns of package api.
type (
	CredentialIssue         = api.CredentialIssue
	CredentialIssueOptions  = api.CredentialIssueOptions
	CredentialVerify        = api.CredentialVerify
	CredentialVerifyOptions = api.CredentialVerifyOptions
	PresentationVerify      = api.PresentationVerify
	CredentialVerification  = api.CredentialVerification
	CredentialReason        = api.CredentialReason
	DirectIssuer            = api.DirectIssuer
)

const vcPath = "/v1/vc-api"

// Verify verifies a credential. The code of one that is not verified is
// CREDENTIAL_NOT_VERIFIED; the fields of the error are the reasons.
func (s Credentials) Verify(ctx context.Context, v CredentialVerify, opts ...Option) (*CredentialVerification, error) {
	return do[CredentialVerification](ctx, s.c, post(vcPath+"/credentials/verify", v), opts)
}

// VerifyPresentation verifies a presentation and the credentials in it. Code:
// CREDENTIAL_NOT_VERIFIED.
func (s Credentials) VerifyPresentation(ctx context.Context, v PresentationVerify, opts ...Option) (*CredentialVerification, error) {
	return do[CredentialVerification](ctx, s.c, post(vcPath+"/presentations/verify", v), opts)
}

// IssueDirect has the test issuer sign a credential. Codes: DIRECT_ISSUE_OFF,
// CREDENTIAL_INVALID.
func (s Credentials) IssueDirect(ctx context.Context, v CredentialIssue, opts ...Option) (map[string]any, error) {
	out, err := do[map[string]any](ctx, s.c, post(vcPath+"/credentials/issue", v), opts)
	if err != nil {
		return nil, err
	}
	return *out, nil
}

// DirectIssuer tells who the test issuer is.
func (s Credentials) DirectIssuer(ctx context.Context, opts ...Option) (*DirectIssuer, error) {
	return do[DirectIssuer](ctx, s.c, get(vcPath+"/issuer", nil), opts)
}
