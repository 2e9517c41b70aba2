package api

import "time"

// RubricTrial is a claim and facts to try a rubric with. Nothing is stored.
type RubricTrial struct {
	Claim TriedClaim           `json:"claim,omitzero" doc:"What the rules may know of the claim."`
	Facts map[string]KnownFact `json:"facts,omitzero" doc:"Fact → what is known of it. One that is left out is missing."`
}

// TriedClaim is the part of a claim that rules see.
type TriedClaim struct {
	Amount      float64   `json:"amount,omitzero" example:"12.5" doc:"How much is claimed; nothing by default."`
	Unit        string    `json:"unit,omitzero" example:"t"`
	Subject     string    `json:"subject,omitzero" doc:"DID of what it is about."`
	Claimant    string    `json:"claimant,omitzero" doc:"DID of the claimant."`
	PeriodStart time.Time `json:"periodStart,omitzero"`
	PeriodEnd   time.Time `json:"periodEnd,omitzero"`
	Evidence    int       `json:"evidence,omitzero" doc:"How many pieces of evidence there are."`
	Submitted   time.Time `json:"submitted,omitzero"`
}

// KnownFact is a fact and how it was found.
type KnownFact struct {
	Value      any      `json:"value" doc:"Of the type the rubric declares; null is missing."`
	Confidence *float64 `json:"confidence,omitzero" doc:"From 0 to 1. Below what the rubric asks for the fact counts as missing." example:"0.9"`
}

// RubricDecision is what a rubric says.
type RubricDecision struct {
	Protocol   string       `json:"protocol"`
	Version    string       `json:"version"`
	RubricHash string       `json:"rubricHash" doc:"SHA-256 of the rubric in canonical JSON."`
	Outcome    string       `json:"outcome" enum:"approved,partial_success,rejected,flagged,manual_review_required"`
	ReasonCode string       `json:"reasonCode" doc:"Of the rule that decided; NO_RULE, RULE_UNDECIDED or AMOUNT_INVALID where people must decide because no rule could." example:"IN_USE"`
	Rule       string       `json:"rule,omitzero" doc:"Id of the rule that decided." example:"in-use"`
	Amount     float64      `json:"amount" doc:"How much is approved; never more than was claimed."`
	Missing    []string     `json:"missing" doc:"Facts that are missing, or not certain enough."`
	Steps      []RubricStep `json:"steps" doc:"The rules that were asked, in their order."`
}

// RubricStep is a rule that was evaluated.
type RubricStep struct {
	Rule  string `json:"rule"`
	Stage string `json:"stage" enum:"admissibility,veto,missing_evidence,conflict,manual_review,partial,approval"`
	Held  bool   `json:"held"`
	Why   string `json:"why,omitzero" doc:"Why it could not be decided."`
}
