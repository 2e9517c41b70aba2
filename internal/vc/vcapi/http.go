package vcapi

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	tag  = "credentials"
	base = "/v1/vc-api"
)

// maxBody leaves room for what stands around a document.
const maxBody = vc.MaxBytes + 16<<10

// Routes adds the VC-API to a.
func (s *Service) Routes(a *web.API) {
	web.Get(a, base+"/issuer", s.serveIssuer, web.Doc{
		Summary: "Read the DID of the test issuer", Scope: "credentials:read", Tag: tag,
		Description: "Its key signs only what is sent to POST /v1/vc-api/credentials/issue. Every verification here names it as the test issuer.",
	})
	web.Post(a, base+"/credentials/issue", s.serveIssue, web.Doc{
		Summary: "Have the test issuer sign a credential", Status: http.StatusCreated, Scope: "credentials:issue-direct", Tag: tag, MaxBody: maxBody,
		Example: api.CredentialIssue{Credential: map[string]any{
			"@context": []any{vc.ContextV2}, "type": []any{"VerifiableCredential"}, "credentialSubject": map[string]any{"id": "did:example:subject"},
		}},
		Codes: []string{"DIRECT_ISSUE_OFF", "CREDENTIAL_INVALID", "KEY_RESTRICTED", "RATE_LIMITED", "VERIFIER_BUSY"},
		Description: "For public test suites of the W3C VC-API, off unless HEARTH_VC_DIRECT_ISSUE is on. Such a credential is not based on a claim, and verification reports that. " +
			"Terms must be defined by contexts known here, which are never fetched.",
	})
	web.Post(a, base+"/credentials/verify", s.serveVerify, web.Doc{
		Summary: "Verify a credential", Scope: "credentials:read", Tag: tag, MaxBody: maxBody, Refusal: refusal{},
		Example: api.CredentialVerify{VerifiableCredential: exampleCredential()},
		Codes:   []string{"CREDENTIAL_NOT_VERIFIED", "RATE_LIMITED", "VERIFIER_BUSY"},
		Description: "Accepts credentials of any issuer with a did:key, or a did:web of this server: embedded proofs (eddsa-jcs-2022, eddsa-rdfc-2022, sets and chains), JOSE envelopes (EdDSA, ES256), and Ed25519Signature2018 of VC 1.1. " +
			"200 says that it is verified, with warnings about what was not checked; 400 names each reason in `errors`: signature_invalid, issuer_mismatch, expired, revoked and so on (docs/credentials.md lists them). Nothing is fetched.",
	})
	web.Post(a, "/v1/credentials:verify", s.serveCheck, web.Doc{
		Summary: "Report whether a credential or a presentation is valid", Scope: "credentials:read", Tag: tag, MaxBody: maxBody,
		Example:     api.CredentialCheck{VerifiablePresentation: examplePresentation(), Options: api.CredentialVerifyOptions{Domain: "hearth.example.org", Challenge: "c0ffee"}},
		Codes:       []string{"CREDENTIAL_NOT_VERIFIED", "RATE_LIMITED", "VERIFIER_BUSY"},
		Description: "Like the verify routes of the VC-API, for callers who want an answer rather than a refusal: always 200, with `verified` and each of the `reasons` against it; for a presentation also for each of its credentials.",
	})
	web.Post(a, "/v1/credentials/{credentialId}/verify", s.serveCheckIssued, web.Doc{
		Summary: "Report whether a credential that was issued here is valid", Scope: "credentials:read", Tag: tag, Codes: []string{"CREDENTIAL_NOT_FOUND", "RATE_LIMITED", "VERIFIER_BUSY"},
		Description: "Verifies the signed document as POST /v1/credentials:verify does: its signature, its time and its status now.",
	})
	web.Post(a, base+"/presentations/verify", s.serveVerifyPresentation, web.Doc{
		Summary: "Verify a presentation", Scope: "credentials:read", Tag: tag, MaxBody: maxBody, Refusal: refusal{},
		Example:     api.PresentationVerify{VerifiablePresentation: examplePresentation(), Options: api.CredentialVerifyOptions{Domain: "hearth.example.org", Challenge: "c0ffee"}},
		Codes:       []string{"CREDENTIAL_NOT_VERIFIED", "RATE_LIMITED", "VERIFIER_BUSY"},
		Description: "The holder's proof, for the domain and the challenge you give, and each credential in it by itself. Answers as POST /v1/vc-api/credentials/verify.",
	})
}

func (s *Service) serveIssuer(context.Context, *struct{}) (api.DirectIssuer, error) {
	return s.Issuer(), nil
}

func (s *Service) serveIssue(ctx context.Context, in *struct{ Body api.CredentialIssue }) (web.Reply[map[string]any], error) {
	signed, err := s.Issue(ctx, in.Body)
	return web.Reply[map[string]any]{Raw: signed}, err
}

func (s *Service) serveVerify(ctx context.Context, in *struct{ Body api.CredentialVerify }) (*api.CredentialVerification, error) {
	return s.Verify(ctx, in.Body)
}

func (s *Service) serveVerifyPresentation(ctx context.Context, in *struct{ Body api.PresentationVerify }) (*api.CredentialVerification, error) {
	return s.VerifyPresentation(ctx, in.Body)
}

func (s *Service) serveCheck(ctx context.Context, in *struct{ Body api.CredentialCheck }) (*api.CredentialVerification, error) {
	return s.Check(ctx, in.Body)
}

func (s *Service) serveCheckIssued(ctx context.Context, in *struct {
	ID string `path:"credentialId" doc:"DID of the credential's twin, or the id of its page." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
},
) (*api.CredentialVerification, error) {
	return s.CheckIssued(ctx, in.ID)
}
