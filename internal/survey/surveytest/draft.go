package surveytest

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey"
)

// Documented is the request of the interface document.
const Documented = `{"type":"BaselineSurvey","projectId":"did:ixo:entity:123",
	"template":{"eligibilityCriteria":true,"socioEconomicData":true,"cookingPatterns":true,"stovePerceptions":true},
	"sampling":{"method":"stratified","size":100,"confidence":0.95}}`

// Draft reads a draft.
func Draft(t testing.TB, text string) survey.Draft {
	t.Helper()
	var d survey.Draft
	if err := json.Unmarshal([]byte(text), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("draft %.200s: %v", text, err)
	}
	return d
}

// With is the documented request with some members changed: "" as a value
// removes the member.
func With(t testing.TB, pairs ...string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(Documented), &m); err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		at := m
		parts := strings.Split(pairs[i], ".")
		for _, p := range parts[:len(parts)-1] {
			at, _ = at[p].(map[string]any)
		}
		last := parts[len(parts)-1]
		if pairs[i+1] == "" {
			delete(at, last)
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(pairs[i+1]), &v); err != nil {
			t.Fatal(err)
		}
		at[last] = v
	}
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
