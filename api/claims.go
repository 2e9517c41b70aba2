package api

import "time"

// ClaimAmount is how much is claimed.
type ClaimAmount struct {
	Value float64 `json:"value" required:"false" example:"1.2"`
	Unit  string  `json:"unit" maxLength:"64" example:"t"`
}

// ClaimDraft describes a claim to make: the general members, or those of the
// documented claims of kitchen performance tests (type KPTClaim) and redemptions.
type ClaimDraft struct {
	Type        string         `json:"type,omitzero" doc:"What the twin is; Claim by default." example:"Claim"`
	Kind        string         `json:"kind,omitzero" doc:"The claim type of the subject's protocol; the type when absent." example:"fuel-saved"`
	Subject     string         `json:"subject,omitzero" doc:"DID of the device, household or asset that produces the claim. Without one the claim stays a draft."`
	PeriodStart string         `json:"periodStart,omitzero" format:"date" doc:"First day. Without it the claim's period has no beginning." example:"2026-01-01"`
	PeriodEnd   string         `json:"periodEnd,omitzero" format:"date" doc:"Last day. Without it the claim's period has no end." example:"2026-01-31"`
	Amount      *ClaimAmount   `json:"amount,omitzero"`
	Evidence    []any          `json:"evidence,omitzero" doc:"Links, or hashes of responses, readings, tests, calculations and files: texts, or objects that identify each." maxItems:"100"`
	Claims      []string       `json:"claims,omitzero" doc:"DIDs of the claims that this one sums, where its claim type aggregates." maxItems:"100"`
	Collection  string         `json:"collection,omitzero" doc:"Id of the collection it is submitted to; the protocol version pinned there decides." example:"col_7310428377145344"`
	Data        map[string]any `json:"data,omitzero" doc:"Anything else the claim is based on."`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Oracle      string         `json:"oracle,omitzero" doc:"DID of the oracle that is to verify it; you must control it, or have entities:verify."`
	Protocol    string         `json:"protocol,omitzero" doc:"Protocol of the claim's twin; did:ixo:protocol/claim by default."`

	HouseholdID      string              `json:"householdId,omitzero" doc:"For a KPTClaim: its subject."`
	TestGroup        string              `json:"testGroup,omitzero" enum:"reference,intervention"`
	TestPeriod       *KitchenTestPeriod  `json:"testPeriod,omitzero" doc:"For a KPTClaim: its period."`
	FuelMeasurements *KitchenTestFuel    `json:"fuelMeasurements,omitzero" doc:"For a KPTClaim: total is its amount, in kg unless unit says otherwise."`
	ExternalFactors  *KitchenTestFactors `json:"externalFactors,omitzero"`
	CookingSessions  []any               `json:"cookingSessions,omitzero"`

	RedemptionID         string         `json:"redemptionId,omitzero" maxLength:"500" doc:"For the redemption of a voucher: it can be claimed once in the workspace."`
	VerifiableCredential map[string]any `json:"verifiableCredential,omitzero" doc:"The credential that is redeemed."`
}

// Claim is a submitted claim.
type Claim struct {
	ID           string       `json:"id" doc:"DID of the claim's twin." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
	CID          string       `json:"cid,omitzero" doc:"CIDv1 (raw, SHA-256) of the document in canonical JSON; a draft has none." example:"bafkreicecnx2gvntm6fbcrvnc336qze6st5u7qq7457igegamd3bzkx7ri"`
	Type         string       `json:"type"`
	Kind         string       `json:"kind" example:"fuel-saved"`
	Subject      string       `json:"subject,omitzero" doc:"DID of what it is about."`
	PeriodStart  string       `json:"periodStart,omitzero" example:"2026-01-01"`
	PeriodEnd    string       `json:"periodEnd,omitzero" doc:"Last day." example:"2026-01-31"`
	Amount       *ClaimAmount `json:"amount,omitzero"`
	Approved     *ClaimAmount `json:"approvedAmount,omitzero" doc:"How much was approved; never more than was claimed."`
	Claimant     string       `json:"claimant" doc:"DID of the claimant."`
	Project      string       `json:"project,omitzero"`
	Collection   string       `json:"collection,omitzero" doc:"Id of the collection it was submitted to."`
	Status       string       `json:"status" enum:"draft,pending,flagged,disputed,approved,rejected,invalidated,withdrawn"`
	Verification string       `json:"verification" enum:"unverified,pending,verified,rejected,revoked" doc:"The same as a status of the twin."`
	SummedBy     string       `json:"summedBy,omitzero" doc:"DID of the claim that sums this one, which therefore cannot become a credential itself."`
	Submitted    time.Time    `json:"submittedAt,omitzero"`

	ClaimedElsewhere bool `json:"claimedElsewhere,omitzero" doc:"Another workspace, which is not named, has a live claim of this kind for the same serial number and days. Shown to callers with claims:evaluate who read one claim or the queue."`

	Document *ClaimBody `json:"document,omitzero" doc:"The submitted document that the CID is computed from; only when one claim is read."`
	Links    ClaimLinks `json:"links"`
}

// ClaimBody is the document of a claim. It never changes.
type ClaimBody struct {
	ID          string       `json:"id"`
	Type        string       `json:"type"`
	Kind        string       `json:"kind"`
	Subject     string       `json:"subject"`
	PeriodStart string       `json:"periodStart,omitzero"`
	PeriodEnd   string       `json:"periodEnd,omitzero"`
	Amount      *ClaimAmount `json:"amount,omitzero"`
	Evidence    []string     `json:"evidence,omitzero"`
	Claims      []string     `json:"claims,omitzero"`
	Data        any          `json:"data,omitzero" doc:"What else was submitted, such as the measurements of a kitchen test."`
	Collection  string       `json:"collection,omitzero"`
	Protocol    string       `json:"protocol,omitzero" doc:"Protocol whose claim types decide about it: the protocol of the subject."`
	Version     string       `json:"version,omitzero" doc:"Version of the protocol: the one of the collection, or else the subject's when the claim was submitted."`
	Claimant    string       `json:"claimant"`
	Date        string       `json:"date" format:"date-time" example:"2026-02-01T08:00:00.000Z"`
}

// ClaimLinks are addresses of a claim.
type ClaimLinks struct {
	Self   string `json:"self"`
	Entity string `json:"entity"`
}

// ClaimWithdrawal says why a claim is withdrawn.
type ClaimWithdrawal struct {
	Reason string `json:"reason,omitzero" doc:"Why, for the history; one line of at most 1,000 characters." example:"The period was wrong."`
}

// ClaimDisputeDraft disputes a claim.
type ClaimDisputeDraft struct {
	Reason string `json:"reason" doc:"What is wrong with it; one line of at most 1,000 characters. Name nobody: the text is kept."`
}

// ClaimAdjudication decides a dispute.
type ClaimAdjudication struct {
	Outcome string `json:"outcome" enum:"upheld,dismissed"`
	Reason  string `json:"reason" doc:"Why; one line of at most 1,000 characters."`
}

// ClaimDispute is an objection to a claim, and the decision about it.
type ClaimDispute struct {
	ID        string     `json:"id" example:"disp_7310428377145344"`
	At        time.Time  `json:"at"`
	Disputer  string     `json:"disputer" doc:"DID of the person who disputes."`
	Reason    string     `json:"reason" doc:"In the words of the person who disputes; empty once these were erased."`
	ClaimWas  string     `json:"claimWas" enum:"pending,flagged,approved" doc:"Status of the claim before."`
	Status    string     `json:"status" enum:"open,upheld,dismissed"`
	DecidedAt *time.Time `json:"decidedAt,omitzero"`
	DecidedBy string     `json:"decidedBy,omitzero" doc:"DID of the person who decided."`
	Decision  string     `json:"decision,omitzero" doc:"Why, in the words of the person who decided."`

	ReasonErased bool `json:"reasonErased,omitzero" doc:"Words here were erased with the person the claim is about: the reason, and the decision if there was one by then. A decision that is here was written afterwards."`
}

// ClaimEvaluationDraft is what a caller found out about a claim, and a decision
// where the rubric leaves it to people.
type ClaimEvaluationDraft struct {
	Facts    map[string]KnownFact `json:"facts,omitzero" doc:"Fact → what is known of it, beside what was entered before."`
	Oracle   string               `json:"oracle,omitzero" doc:"DID of the oracle you speak for; one that you control and that verifies the claim when absent."`
	Decision string               `json:"decision,omitzero" enum:"approved,rejected,flagged" doc:"Only where the outcome of the rubric is manual_review_required, or there is no rubric. Otherwise the rubric decides, and a different decision is refused with 409 RUBRIC_DECIDES."`
	Amount   *float64             `json:"amount,omitzero" doc:"With a decision: how much is approved, at most the amount claimed." example:"10"`
	Reason   string               `json:"reason,omitzero" doc:"Why; required with a decision. One of the reasonCodes of the claim type, where those are listed." example:"IN_USE"`
}

// ClaimEvaluation is a decision about a claim, or a record that none was
// possible yet.
type ClaimEvaluation struct {
	ID         string               `json:"id" example:"eval_7310428377145344"`
	At         time.Time            `json:"at"`
	Evaluator  string               `json:"evaluator" doc:"DID of the person who entered the facts or decided; empty where the server acted for nobody."`
	Oracle     string               `json:"oracle,omitzero" doc:"DID of the oracle in whose name it was evaluated."`
	Protocol   string               `json:"protocol" doc:"Protocol whose claim types applied."`
	Version    string               `json:"version"`
	RubricHash string               `json:"rubricHash,omitzero" doc:"SHA-256 of the rubric; without a rubric people decide."`
	Facts      map[string]KnownFact `json:"facts"`
	Outcome    string               `json:"outcome" enum:"approved,partial_success,rejected,flagged,manual_review_required" doc:"Outcome of the rubric."`
	ReasonCode string               `json:"reasonCode" example:"IN_USE"`
	Rule       string               `json:"rule,omitzero" doc:"Id of the rule that decided."`
	Amount     float64              `json:"amount" doc:"How much this evaluation approves."`
	Status     string               `json:"status" enum:"pending,flagged,disputed,approved,rejected" doc:"Of the claim, afterwards. It stays pending until as many oracles agree as the protocol asks for."`
	Reason     string               `json:"reason,omitzero" doc:"In the words of the person who decided."`

	ReasonErased bool `json:"reasonErased,omitzero" doc:"The words of the person who decided were erased with the person the claim is about. No recomputation needs them."`

	Automatic bool `json:"automatic,omitzero" doc:"The server evaluated by the rubric, in the name of the oracle's controller, who is in evaluator."`
}

// ProcessedClaims is the result of processing claims that were due.
type ProcessedClaims struct {
	Items []ProcessedClaim `json:"items"`
	More  bool             `json:"more" doc:"More may be due: ask again."`
}

// ProcessedClaim is the result of processing one claim.
type ProcessedClaim struct {
	Claim      string `json:"claim" doc:"DID of the claim."`
	Kind       string `json:"kind"`
	Status     string `json:"status" enum:"pending,flagged,approved,rejected" doc:"Of the claim, now."`
	Outcome    string `json:"outcome,omitzero" enum:"approved,partial_success,rejected,flagged,manual_review_required" doc:"Outcome of the rubric."`
	ReasonCode string `json:"reasonCode,omitzero"`
	Words      string `json:"words" doc:"What happened and why."`
}

// ClaimExplanation describes the newest outcome of a claim in words, from the
// record.
type ClaimExplanation struct {
	Claim      string           `json:"claim"`
	Status     string           `json:"status" enum:"pending,flagged,disputed,approved,rejected,invalidated,withdrawn"`
	Words      string           `json:"words" example:"The rule some (stage partial) of the rubric held: LOW_USE. 6 of 12 kg are approved."`
	Evaluation *ClaimEvaluation `json:"evaluation,omitzero" doc:"The newest one."`
}

// ClaimRecomputation is the result of deciding about a claim again.
type ClaimRecomputation struct {
	CID   string                 `json:"cid" doc:"Of the stored document, computed now."`
	Same  bool                   `json:"same" doc:"There is at least one evaluation, and the CID, every evaluation and the approved amount are recomputed to the recorded values."`
	Items []RecomputedEvaluation `json:"items" doc:"The newest 100 evaluations."`
}

// RecomputedEvaluation is an evaluation that was repeated with the same facts.
type RecomputedEvaluation struct {
	ID         string  `json:"id"`
	Same       bool    `json:"same"`
	Outcome    string  `json:"outcome"`
	ReasonCode string  `json:"reasonCode"`
	RubricHash string  `json:"rubricHash,omitzero"`
	Amount     float64 `json:"amount"`
}
