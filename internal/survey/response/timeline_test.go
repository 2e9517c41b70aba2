package response_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestTimeline: interviews with a household, newest first, whose places go on without
// a gap where all are of the same time; hidden for those who may not know them, and gone
// when the household is erased.
func TestTimeline(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.start(t, strings.NewReplacer(`"s"`, `"s2"`, "project/one", "project/two").Replace(homeSurvey))
		v.submit(t, "ann", draft("a", 1))
		v.submit(t, "ann", draft("c", 2))
		if _, err := v.s.Submit(as(t, "ann"), "s2", draft("d", 1)); err != nil {
			t.Fatal(err)
		}
		shown := func(role string, limit int) string {
			t.Helper()
			var out []string
			l := web.Look{DID: "did:ixo:household/1", Below: web.Mark{At: math.MaxInt64}, Limit: limit}
			for {
				list, err := v.s.Timeline(as(t, role), l)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range list {
					l.Below = h.Mark
					if !h.Hidden {
						out = append(out, h.Survey+"/"+h.ID+"/"+h.Verdict)
					}
				}
				if len(list) < limit {
					return strings.Join(out, " ")
				}
			}
		}
		for _, tt := range []struct {
			role  string
			limit int
			want  string
		}{
			{"owner", 50, "s2/d/pending s/a/pending"},
			{"owner", 1, "s2/d/pending s/a/pending"},
			{"reader", 50, ""},
			{"ann", 1, "s2/d/pending s/a/pending"},
			{"project", 1, "s/a/pending"},
			{"elsewhere", 2, "s2/d/pending"},
		} {
			if got := shown(tt.role, tt.limit); got != tt.want {
				t.Errorf("%s by %d = %s, want %s", tt.role, tt.limit, got, tt.want)
			}
		}
		surveytest.Erase(t, d, "ws", "did:ixo:household/1", v.s.Erase)
		for _, role := range []string{"owner", "ann"} {
			if got := shown(role, 50); got != "" {
				t.Errorf("%s sees %s of a household that was erased", role, got)
			}
		}
	})
}
