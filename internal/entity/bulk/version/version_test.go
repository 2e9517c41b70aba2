package version_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity/bulk/version"
)

func TestNewer(t *testing.T) {
	t.Parallel()
	inOrder := []string{"0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.2.0", "1.10.0", "2.0.0"}
	for i, a := range inOrder {
		for k, b := range inOrder {
			if got := version.Newer(a, b); got != (i > k) {
				t.Errorf("Newer(%s, %s) = %v, want %v", a, b, got, i > k)
			}
		}
	}
}
