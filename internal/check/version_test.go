package check_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/check"
)

func TestIsVersion(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"0.0.0", "1.0.0", "10.20.30", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0a.b-c", "1.0.0-0", "1.0.0--5", "1.0.9999999999"} {
		if !check.IsVersion(v) {
			t.Errorf("%q refused", v)
		}
	}
	for _, v := range []string{"", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0+x", "1.0.0-a..b", "1.0.0 ", "-1.0.0", "1.0.0-é", "1.0.0-" + strings.Repeat("a", 60)} {
		if check.IsVersion(v) {
			t.Errorf("%q taken", v)
		}
	}
}

// From semver.org, and more: a part of digits is a number, -5 is a word, and
// words come after numbers.
func TestCompareVersions(t *testing.T) {
	t.Parallel()
	sorted := []string{
		"", "0.9.9", "1.0.0-0", "1.0.0-1", "1.0.0--5", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "1.10.99999999998", "1.10.99999999999", "2.0.0-a", "2.0.0",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := check.CompareVersions(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("CompareVersions(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}
