package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Emissions calculates emissions and reductions by versioned modules. Nothing is
// stored.
type Emissions struct{ c *Client }

// Types of package api.
type (
	EmissionDraft          = api.EmissionDraft
	EmissionPeriod         = api.EmissionPeriod
	EmissionAmount         = api.EmissionAmount
	EmissionInput          = api.EmissionInput
	EmissionMember         = api.EmissionMember
	EmissionEstimate       = api.EmissionEstimate
	EmissionInterval       = api.EmissionInterval
	EmissionOptions        = api.EmissionOptions
	EmissionCalculation    = api.EmissionCalculation
	EmissionStep           = api.EmissionStep
	EmissionTerm           = api.EmissionTerm
	EmissionDecision       = api.EmissionDecision
	EmissionResult         = api.EmissionResult
	EmissionYear           = api.EmissionYear
	EmissionModule         = api.EmissionModule
	EmissionField          = api.EmissionField
	EmissionPlain          = api.EmissionPlain
	EmissionConstant       = api.EmissionConstant
	HouseholdAnalysisDraft = api.HouseholdAnalysisDraft
	HouseholdAnalysis      = api.HouseholdAnalysis
	HouseholdPeriod        = api.HouseholdPeriod
	HouseholdReductions    = api.HouseholdReductions
	DeviceContribution     = api.DeviceContribution
	DeviceEvidence         = api.DeviceEvidence
)

// Calculate calculates by a module, with every step. Codes:
// EMISSION_MODULE_UNKNOWN, EMISSION_INPUT_INVALID.
func (e Emissions) Calculate(ctx context.Context, d EmissionDraft, opts ...Option) (*EmissionCalculation, error) {
	return do[EmissionCalculation](ctx, e.c, post("/v1/emissions:calculate", d), opts)
}

// Modules walks over the available modules, with their inputs and constants.
func (e Emissions) Modules(ctx context.Context, opts ...Option) iter.Seq2[EmissionModule, error] {
	return pages[EmissionModule](ctx, e.c, "/v1/emissions/modules", url.Values{}, opts)
}

// Analyse calculates what a household has saved, according to its devices.
// Codes: ENTITY_NOT_FOUND, BASELINE_MISSING, READINGS_MISSING.
func (h Households) Analyse(ctx context.Context, d HouseholdAnalysisDraft, opts ...Option) (*HouseholdAnalysis, error) {
	return do[HouseholdAnalysis](ctx, h.c, post("/v1/analysis/household", d), opts)
}
