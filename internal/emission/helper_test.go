package emission_test

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/emission"
)

// draft reads a request.
func draft(t testing.TB, text string) api.EmissionDraft {
	t.Helper()
	var d api.EmissionDraft
	if err := json.Unmarshal([]byte(text), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	return d
}

// calculate calculates what must be valid.
func calculate(t testing.TB, d api.EmissionDraft) *api.EmissionCalculation {
	t.Helper()
	c, err := emission.Calculate(d)
	if err != nil {
		t.Fatal(err, fields(err))
	}
	return c
}

// value is the value of a step.
func value(t testing.TB, c *api.EmissionCalculation, symbol string) float64 {
	t.Helper()
	for _, s := range c.Steps {
		if s.Symbol == symbol {
			return s.Value
		}
	}
	t.Fatalf("there is no step %s", symbol)
	return 0
}

// wants compares steps with golden values, to 1e-8.
func wants(t *testing.T, c *api.EmissionCalculation, golden map[string]float64) {
	t.Helper()
	for symbol, want := range golden {
		if got := value(t, c, symbol); math.Abs(got-want) > 1e-8 {
			t.Errorf("%s = %.12f, want %.12f", symbol, got, want)
		}
	}
}

// decided is what came of a rule about a symbol, "" when it was not asked.
func decided(c *api.EmissionCalculation, rule, symbol string) string {
	for _, d := range c.Decisions {
		if d.Rule == rule && d.Symbol == symbol {
			return d.Outcome
		}
	}
	return ""
}
