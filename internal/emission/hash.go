package emission

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Calculate makes a calculation, with the hashes that identify it. Faults:
// EMISSION_MODULE_UNKNOWN, EMISSION_INPUT_INVALID.
func Calculate(d api.EmissionDraft) (*api.EmissionCalculation, error) {
	out, err := calculate(d)
	if err != nil {
		return nil, err
	}
	if out.InputHash, err = Hash(out.Asked); err != nil {
		return nil, err
	}
	out.TraceHash, err = Hash(*out) // still without the member itself
	return out, err
}

// Hash is the SHA-256 of a value in the canonical form of RFC 8785.
func Hash(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode calculation: %w", err)
	}
	value := jsontext.Value(text)
	if err := value.Canonicalize(); err != nil {
		return "", fmt.Errorf("canonical form of a calculation: %w", err)
	}
	sum := sha256.Sum256(value)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
