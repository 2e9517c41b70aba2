package app

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/secret"
)

// TestEventSource: two servers have two sources, one server always the same.
func TestEventSource(t *testing.T) {
	t.Parallel()
	var one, two secret.Key
	for key, seed := range map[*secret.Key]string{&one: "a", &two: "b"} {
		k, err := secret.Parse(strings.Repeat(seed, 64))
		if err != nil {
			t.Fatal(err)
		}
		*key = k
	}
	if a, b := eventSource(one), eventSource(two); a == b || a != eventSource(one) || !strings.HasPrefix(a, "urn:hearth:") {
		t.Errorf("sources = %q and %q, want two names that stay", a, b)
	}
}
