package api

import "time"

// EvaluationConsents says in whose name the server evaluates claims as an oracle.
type EvaluationConsents struct {
	Oracle string              `json:"oracle" doc:"DID of the oracle."`
	Items  []EvaluationConsent `json:"items" doc:"Those of its controllers who have agreed, the first to do so first."`
}

// EvaluationConsent records that a controller of an oracle lets the server evaluate in
// their name.
type EvaluationConsent struct {
	Principal string    `json:"principal" doc:"DID of the controller."`
	At        time.Time `json:"at" doc:"When they agreed."`
	Counts    bool      `json:"counts" doc:"Whether it counts now: they may evaluate claims, and the oracle is active."`
}
