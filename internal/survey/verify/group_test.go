package verify_test

import (
	"context"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestWorkOfAGroup: who belongs to the group that has collected a response does
// not decide about it, alone or about many at once.
func TestWorkOfAGroup(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := &env{Env: surveytest.New(t, d)}
		v.s = verify.New(verify.Config{
			DB: d, Surveys: v.Surveys, Responses: v.Responses, Events: v.Log, Idem: v.Idem,
			ActsFor: func(ctx context.Context) ([]string, error) {
				if web.CallerFrom(ctx).DID == "did:key:vera" {
					return []string{"did:ixo:group/other", "did:key:ann"}, nil
				}
				return nil, nil
			},
		})
		v.fill(t, "ws", 1, 2)
		for _, to := range []string{"verified", "rejected", "flagged"} {
			if got := codeOf(v.decide(t, "vera", "r0", to)); got != "VERIFIER_IS_COLLECTOR" {
				t.Errorf("%s = %q, want VERIFIER_IS_COLLECTOR", to, got)
			}
		}
		out := v.bulk(t, "vera", verify.Bulk{Draft: verify.Draft{Status: "verified"}, Responses: v.named(t, "r0", "r1")})
		if out.Refused != 2 || out.Items[0].Code != "VERIFIER_IS_COLLECTOR" {
			t.Errorf("many at once = %+v", out)
		}
		if err := v.decide(t, "zoe", "r0", "verified"); err != nil {
			t.Errorf("somebody else: %v", err)
		}
	})
}
