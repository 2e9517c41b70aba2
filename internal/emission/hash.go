package emission

import (
	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
)

// Calculate makes a calculation, with the hashes that identify it. Faults:
// EMISSION_MODULE_UNKNOWN, EMISSION_INPUT_INVALID.
func Calculate(d api.EmissionDraft) (*api.EmissionCalculation, error) {
	out, err := calculate(d)
	if err != nil {
		return nil, err
	}
	if out.InputHash, err = check.Hash(out.Asked); err != nil {
		return nil, err
	}
	out.TraceHash, err = check.Hash(*out) // still without the member itself
	return out, err
}
