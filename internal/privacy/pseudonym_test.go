package privacy_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/privacy"
)

func names(id string) string { return "hh_<" + id + ">" }

func TestNames(t *testing.T) {
	t.Parallel()
	n := privacy.Names(names)
	seen := map[string]bool{}
	for _, name := range []string{n.Household("x"), n.Person("x"), n.Device("x")} {
		if seen[name] {
			t.Errorf("%q names two things", name)
		}
		seen[name] = true
	}
	for _, name := range []string{n.Household(""), n.Person(""), n.Device("")} {
		if name != "" {
			t.Errorf("nobody is called %q", name)
		}
	}
}
