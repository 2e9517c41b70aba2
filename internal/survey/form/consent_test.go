package form_test

import (
	"strings"
	"testing"
)

// TestConsentIsNotAvoided: no answer that is left out, and no list that is empty,
// makes an interview whole without consent.
func TestConsentIsNotAvoided(t *testing.T) {
	t.Parallel()
	const (
		hidden   = `{"id":"adult","type":"boolean"},{"id":"ok","type":"consent","relevant":"s.adult == true"},{"id":"fuel","type":"text"}`
		repeated = `{"id":"people","type":"repeat","questions":[{"id":"ok","type":"consent"}]},{"id":"fuel","type":"text"}`
	)
	for _, tt := range []struct {
		name, list, answers string
		complete            bool
		missing             string
	}{
		{"agreed", hidden, `{"s":{"adult":true,"ok":true,"fuel":"wood"}}`, true, ""},
		{"not answered", hidden, `{"s":{"adult":true,"fuel":"wood"}}`, false, "/responses/s/ok"},
		{"hidden by what is not said", hidden, `{"s":{"fuel":"wood"}}`, false, "/responses/s/ok"},
		{"hidden by an answer", hidden, `{"s":{"adult":false,"fuel":"wood"}}`, false, "/responses/s/ok"},
		{"an empty list", repeated, `{"s":{"people":[],"fuel":"wood"}}`, false, "/responses/s"},
		{"a list", repeated, `{"s":{"people":[{"ok":true}],"fuel":"wood"}}`, true, ""},
	} {
		r := check(compile(t, questions(tt.list)), tt.answers)
		if !r.OK() || r.Complete != tt.complete || strings.Join(r.NoConsent, " ") != tt.missing {
			t.Errorf("%s: complete %v without %v, want %v without %q (wrong %s)", tt.name, r.Complete, r.NoConsent, tt.complete, tt.missing, said(r.Wrong))
		}
	}
}
