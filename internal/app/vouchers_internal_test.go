package app

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Whoever names a credential that does not stand learns why: a suspended one can come
// back, a retired one has counted.
func TestStanding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status       entity.Status
		verification string
		want         string // "" when it stands
	}{
		{entity.StatusActive, "verified", ""},
		{entity.StatusActive, "revoked", "revoked"},
		{entity.StatusActive, "expired", "expired"},
		{entity.StatusSuspended, "verified", "suspended"},
		{entity.StatusSuspended, "revoked", "revoked"},
		{entity.StatusCompleted, "verified", "retired"},
		{entity.StatusDeactivated, "verified", "revoked"},
	} {
		err := standing(tt.status, tt.verification)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s and %s: %v", tt.status, tt.verification, err)
			}
			continue
		}
		f := fault.As(err)
		if f == nil || f.Code != "CERTIFICATE_REVOKED" || !strings.Contains(f.Message, tt.want) || !strings.Contains(f.Fields[0].Detail, "is "+tt.want+".") {
			t.Errorf("%s and %s: %+v, want %s", tt.status, tt.verification, f, tt.want)
		}
	}
}
