package api

import "time"

// CredentialRequest asks for the credential of an approved claim. Every member except
// claim is optional, and must agree with the claim.
type CredentialRequest struct {
	Claim             string                 `json:"claim,omitzero" doc:"DID or CID of the approved claim; without it the request is refused with 403." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
	Type              []string               `json:"type,omitzero"`
	Issuer            string                 `json:"issuer,omitzero" doc:"DID of the oracle that approved the claim."`
	CredentialSubject map[string]any         `json:"credentialSubject,omitzero" doc:"id, kind, periodStart, periodEnd and amount; they must equal those of the claim and its evaluation."`
	Options           CredentialIssueOptions `json:"options,omitzero"`
}

// IssuedCredential is the credential of an approved claim. What it says never changes.
type IssuedCredential struct {
	ID          string       `json:"id" doc:"DID of the credential's twin."`
	Kind        string       `json:"kind" example:"fuel-saved"`
	Issuer      string       `json:"issuer" doc:"DID of the oracle that approved the claim."`
	Subject     string       `json:"subject" doc:"DID of what it is about. The signed document has a pseudonym instead."`
	PeriodStart string       `json:"periodStart,omitzero" example:"2026-01-01"`
	PeriodEnd   string       `json:"periodEnd,omitzero" example:"2026-01-31"`
	Amount      *ClaimAmount `json:"amount,omitzero" doc:"What was approved."`
	Claim       string       `json:"claim" doc:"DID of the claim."`
	CID         string       `json:"claimCid" doc:"CID of the claim's document."`
	Project     string       `json:"project,omitzero"`
	Status      string       `json:"status" enum:"active,suspended,revoked,retired"`
	IssuedAt    time.Time    `json:"issuedAt"`
	Page        string       `json:"page,omitzero" doc:"Where everybody can look at it and have it verified, without a login." example:"https://hearth.example.org/c/9f86d081884c7d659a2feaa0c55ad015"`
	Links       ClaimLinks   `json:"links"`

	VerifiableCredential map[string]any `json:"verifiableCredential,omitzero" doc:"The signed document (W3C VC 2.0), or the envelope that holds it; only when one credential is read."`
}

// CredentialStep says why a credential is suspended, reinstated, revoked or retired.
type CredentialStep struct {
	Reason string `json:"reason,omitzero" doc:"Why, for the history; one line of at most 1,000 characters." example:"The readings were of another stove."`
}

// IssuerKey is a key that an issuer signs credentials with.
type IssuerKey struct {
	ID                 string    `json:"id" doc:"The verification method of its proofs."`
	Issuer             string    `json:"issuer" doc:"The issuer's id in documents: a did:web, or a did:key where this server has no public name."`
	PublicKeyMultibase string    `json:"publicKeyMultibase" example:"z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"`
	Status             string    `json:"status" enum:"current,ended,compromised"`
	Created            time.Time `json:"created"`
	Ended              time.Time `json:"ended,omitzero" doc:"When another key replaced it. Credentials it had signed stay valid."`
	CompromisedSince   time.Time `json:"compromisedSince,omitzero" doc:"Credentials it signed are valid only if they were issued here before this time."`
}

// IssuerKeyRotation asks for a new key.
type IssuerKeyRotation struct {
	CompromisedSince time.Time `json:"compromisedSince,omitzero" doc:"Since when somebody else may have had the key. Only credentials that were issued here before that time verify."`
	Key              string    `json:"key,omitzero" doc:"Which key that is; the current one when absent."`
	Reason           string    `json:"reason,omitzero" doc:"Why, for the history; one line of at most 1,000 characters." example:"Yearly change."`
}

// IssuerKeys are the keys of an issuer.
type IssuerKeys struct {
	Items []IssuerKey `json:"items" doc:"The newest first, at most 50."`
}
