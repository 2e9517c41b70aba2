package api

import "time"

// QueuedClaim is a claim that waits for people.
type QueuedClaim struct {
	Claim
	LeasedUntil time.Time `json:"leasedUntil,omitzero" doc:"You have taken it until then."`
}

// ClaimLease keeps a claim for one reviewer.
type ClaimLease struct {
	Claim string    `json:"claim" doc:"DID of the claim."`
	Until time.Time `json:"until,omitzero" doc:"When it ends by itself; absent when nobody has taken the claim."`
}
