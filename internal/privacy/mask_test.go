package privacy_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/privacy"
)

func TestWithout(t *testing.T) {
	t.Parallel()
	names := []string{"name"}
	for _, tt := range []struct{ in, want string }{
		{`{"properties":{"name":"x"}}`, `{"properties":{},"withheld":["name"]}`},
		{`{"properties":{"name":"x","b":1}}`, `{"properties":{"b":1},"withheld":["name"]}`},
		{`{"properties":{"n\u0061me":"x"}}`, `{"properties":{},"withheld":["name"]}`},
		{`{"properties":{"b":{"name":1}},"name":"x"}`, `{"properties":{"b":{"name":1}},"name":"x"}`},
		{`{"properties":null,"metadata":[]}`, `{"properties":null,"metadata":[]}`},
		{`{}`, `{}`},
		{`{"properties":{"name":`, ``},
		{``, ``},
	} {
		got, err := privacy.Without([]byte(tt.in), names)
		if tt.want == "" && err == nil || tt.want != "" && string(got) != tt.want {
			t.Errorf("Without(%s) = %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
	if got, err := privacy.Without([]byte("not JSON"), nil); string(got) != "not JSON" || err != nil {
		t.Errorf("nothing to hide: %s, %v", got, err)
	}
}

// FuzzWithout: whatever a record is, what is withheld is not in it any more and
// the rest is.
func FuzzWithout(f *testing.F) {
	f.Add(`{"did":"did:x:1","properties":{"a":{"name":[1,"}"]},"name":"Wanjiru","phone":"+254","z/\"q":1.50},"services":[{"name":"s"}],"metadata":{"name":"W","phone2":"x"},"revision":7}`)
	f.Add(`{"properties":{"name":"x"},"metadata":{"name":{}}}`)
	f.Add(`{"properties":{"phone":[`)
	f.Fuzz(func(t *testing.T, text string) {
		var in, out map[string]any
		got, err := privacy.Without([]byte(text), []string{"name", "phone"})
		if err != nil || json.Unmarshal([]byte(text), &in) != nil {
			return
		}
		if err := json.Unmarshal(got, &out); err != nil {
			if _, taken := in["withheld"]; taken {
				return // stored records have no such member
			}
			t.Fatalf("%s to %s: %v", text, got, err)
		}
		for _, of := range []string{"properties", "metadata"} {
			before, _ := in[of].(map[string]any)
			after, _ := out[of].(map[string]any)
			for name := range before {
				if _, kept := after[name]; kept == slices.Contains([]string{"name", "phone"}, name) {
					t.Fatalf("%s to %s: %s.%s kept: %v", text, got, of, name, kept)
				}
			}
		}
	})
}
