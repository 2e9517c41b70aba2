package api

import "time"

// ClaimSimulationDraft asks what a rubric would say about past claims.
type ClaimSimulationDraft struct {
	Kind         string                 `json:"kind" doc:"The claim type of the claims." example:"fuel-saved"`
	Protocol     string                 `json:"protocol,omitzero" doc:"Only claims of this protocol, in all its versions. Its rubric is tried when verification is absent." example:"did:ixo:protocol/clean-cooking"`
	Version      string                 `json:"version,omitzero" doc:"Version whose rubric is tried; the newest published one when absent." example:"1.1.0"`
	Verification *ClaimSimulationRubric `json:"verification,omitzero" doc:"The rubric to try, instead of the rubric of a version."`
	Project      string                 `json:"projectId,omitzero" doc:"Only claims of this project."`
	Collection   string                 `json:"collection,omitzero" doc:"Only claims of this collection, by its id." example:"col_7310428377145344"`
}

// ClaimSimulationRubric is a rubric in the form of a claim type's verification.
type ClaimSimulationRubric struct {
	Facts  []any `json:"facts,omitzero" doc:"Facts that the rules may use: {id, type, …}." maxItems:"100"`
	Rubric []any `json:"rubric" doc:"The rules in their order: {id, stage, when, then, text}." maxItems:"100"`
}

// ClaimSimulation says what a rubric would change.
type ClaimSimulation struct {
	ID         string                `json:"id" doc:"The same as the id of its job."`
	Status     string                `json:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled"`
	Errors     []JobError            `json:"errors,omitempty" doc:"Why it failed."`
	Kind       string                `json:"kind"`
	Protocol   string                `json:"protocol,omitzero"`
	Version    string                `json:"version,omitzero"`
	RubricHash string                `json:"rubricHash" doc:"SHA-256 of the rubric in canonical JSON."`
	Project    string                `json:"projectId,omitzero"`
	Collection string                `json:"collection,omitzero"`
	Counts     ClaimSimulationCounts `json:"counts" doc:"So far, while the job runs."`
	CreatedBy  string                `json:"createdBy"`
	CreatedAt  time.Time             `json:"createdAt"`
	FinishedAt time.Time             `json:"finishedAt,omitzero"`
	Links      ClaimSimulationLinks  `json:"links"`
}

// ClaimSimulationCounts counts claims by the outcome they would have.
type ClaimSimulationCounts struct {
	Claims   int64              `json:"claims" doc:"Claims that were tried."`
	Changed  int64              `json:"changed" doc:"Claims whose outcome or amount would change."`
	Listed   int64              `json:"listed" doc:"How many of those can be listed."`
	Outcomes []SimulatedOutcome `json:"outcomes"`
}

// SimulatedOutcome counts the claims of one actual outcome by the outcome they
// would have.
type SimulatedOutcome struct {
	Before  string `json:"before" enum:"not_evaluated,approved,partial_success,rejected,flagged,manual_review_required" doc:"Of the newest evaluation. A claim that nobody has evaluated changes nothing."`
	After   string `json:"after" enum:"approved,partial_success,rejected,flagged,manual_review_required"`
	Claims  int64  `json:"claims"`
	Changed int64  `json:"changed"`
}

// ClaimSimulationResult is the result of a simulation's job.
type ClaimSimulationResult struct {
	ClaimSimulationCounts
	Links ClaimSimulationLinks `json:"links"`
}

// ClaimSimulationLinks are the addresses of a simulation.
type ClaimSimulationLinks struct {
	Self   string `json:"self"`
	Claims string `json:"claims" doc:"The claims that would change."`
	Job    string `json:"job"`
}

// SimulatedClaim is a claim whose outcome would differ.
type SimulatedClaim struct {
	Line         int64   `json:"line" doc:"Its place in the list."`
	Claim        string  `json:"claim" doc:"DID of the claim."`
	Before       string  `json:"before" enum:"approved,partial_success,rejected,flagged,manual_review_required"`
	BeforeReason string  `json:"beforeReason" doc:"reasonCode of the newest evaluation." example:"IN_USE"`
	BeforeAmount float64 `json:"beforeAmount" doc:"How much it approves."`
	After        string  `json:"after" enum:"approved,partial_success,rejected,flagged,manual_review_required"`
	AfterReason  string  `json:"afterReason" example:"LOW_USE"`
	AfterRule    string  `json:"afterRule,omitzero" doc:"Id of the rule that would decide."`
	AfterAmount  float64 `json:"afterAmount"`
}
