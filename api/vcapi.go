package api

// CredentialIssue asks the test issuer to sign a credential.
type CredentialIssue struct {
	Credential map[string]any         `json:"credential" doc:"A credential without a proof, in the data model VC 2.0, or VC 1.1. Without issuer it gets that of the test issuer; another one is refused."`
	Options    CredentialIssueOptions `json:"options,omitzero"`
}

// CredentialIssueOptions say how to sign a credential.
type CredentialIssueOptions struct {
	Cryptosuite string `json:"cryptosuite,omitzero" enum:"eddsa-jcs-2022,eddsa-rdfc-2022" doc:"Of the embedded proof; eddsa-jcs-2022 by default."`
	Envelope    string `json:"envelope,omitzero" enum:"application/vc+jwt" doc:"Sign the credential as a JWS instead, and answer with the object that holds it."`
}

// CredentialVerify asks whether a credential is valid.
type CredentialVerify struct {
	VerifiableCredential map[string]any          `json:"verifiableCredential" doc:"A credential with proofs, or an EnvelopedVerifiableCredential. At most 256 KiB, 32 levels and 8,192 names and values."`
	Options              CredentialVerifyOptions `json:"options,omitzero"`
}

// PresentationVerify asks whether a presentation and everything in it is valid.
type PresentationVerify struct {
	VerifiablePresentation map[string]any          `json:"verifiablePresentation" doc:"A presentation with the holder's proof, or an EnvelopedVerifiablePresentation, with at most 16 credentials."`
	Options                CredentialVerifyOptions `json:"options,omitzero"`
}

// CredentialCheck asks what is wrong with a credential or a presentation: one of the two.
type CredentialCheck struct {
	VerifiableCredential   map[string]any          `json:"verifiableCredential,omitzero" doc:"A credential with proofs, or an EnvelopedVerifiableCredential. At most 256 KiB, 32 levels and 8,192 names and values."`
	VerifiablePresentation map[string]any          `json:"verifiablePresentation,omitzero" doc:"A presentation with the holder's proof, or an EnvelopedVerifiablePresentation, with at most 16 credentials."`
	Options                CredentialVerifyOptions `json:"options,omitzero"`
}

// CredentialVerifyOptions say what to check.
type CredentialVerifyOptions struct {
	Checks    []string `json:"checks,omitzero" enum:"proof,validity,status" doc:"What to check beside the structure; everything by default."`
	Domain    string   `json:"domain,omitzero" maxLength:"1024" doc:"The domain that a proof must name."`
	Challenge string   `json:"challenge,omitzero" maxLength:"1024" doc:"The challenge that a proof must answer. Give the one you have sent: without it a presentation may be a repetition."`
}

// CredentialVerification is the result of a verification. A document without
// reasons against it is verified.
type CredentialVerification struct {
	Verified    bool                     `json:"verified"`
	Form        string                   `json:"form,omitzero" enum:"data-integrity,jose,legacy" doc:"How the document is secured."`
	Issuer      string                   `json:"issuer,omitzero" doc:"Of a credential."`
	Holder      string                   `json:"holder,omitzero" doc:"Of a presentation: whose proof it has."`
	TestIssuer  bool                     `json:"testIssuer,omitzero" doc:"A credential is by the test issuer: it proves nothing about the world."`
	Checked     []string                 `json:"checked,omitzero" enum:"proof,validity,status" doc:"What was looked at beside the structure: all three, unless checks of the request has narrowed it. Warnings say what was not."`
	Reasons     []CredentialReason       `json:"reasons,omitzero" doc:"What speaks against it. Of a presentation, what speaks against its credentials is among them."`
	Warnings    []CredentialReason       `json:"warnings,omitzero" doc:"What was not checked, or is worth knowing."`
	Credentials []CredentialVerification `json:"credentials,omitzero" doc:"Those of a presentation, in its order, each with its own reasons."`
}

// CredentialReason is one finding: where, a stable code, and a sentence.
type CredentialReason struct {
	Pointer string `json:"pointer,omitzero" example:"/credentialStatus"`
	Code    string `json:"code" example:"status_unchecked"`
	Detail  string `json:"detail"`
}

// DirectIssuer is the issuer of the VC-API, which only serves to test software.
type DirectIssuer struct {
	ID                 string `json:"id" example:"did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"`
	VerificationMethod string `json:"verificationMethod"`
	Enabled            bool   `json:"enabled" doc:"Whether HEARTH_VC_DIRECT_ISSUE is on. Without it nothing is signed."`
}
