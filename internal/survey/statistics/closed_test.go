package statistics_test

import (
	"fmt"
	"net/url"
	"reflect"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// The figures of a round that is over stay, whatever is noted or listed later.
func TestClosedRoundStays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		homes := twenty()
		v.start(t, "s", drawnTwo, homes)
		note := func(i int, outcome string) {
			t.Helper()
			v.Must(t, "ws ann", fmt.Sprintf("POST /v1/surveys/s/households/%s/outcome", url.PathEscape(homes[i].ID)), fmt.Sprintf(`{"outcome":%q}`, outcome), nil)
		}
		for i, outcome := range []string{"refused", "ineligible", "unreachable"} {
			homes[i].answers = nil
			note(i, outcome)
		}
		v.ask(t, "s", 1, homes)
		const first = "question=home/fuel&round=1"
		before := v.get(t, "owner", "s", first)
		if c := before.Counted; c.Ineligible == 0 || c.Missing < 2 {
			t.Fatalf("round 1 counts %+v", c)
		}
		v.Must(t, "ws owner", "POST /v1/surveys/s/rounds", `{}`, nil)
		for step, change := range []func(){
			func() {},
			func() { note(0, "contacted"); note(1, "contacted"); note(2, "refused") },
			func() { v.ask(t, "s", 2, twenty()[1:3]) },
			func() {
				v.Must(t, "ws owner", "POST /v1/surveys/s/households", `{"items":[{"householdId":"did:ixo:household/late","stratum":"a"}]}`, nil)
			},
			func() { v.Must(t, "ws owner", "POST /v1/surveys/s/rounds", `{}`, nil) },
			func() { note(1, "unreachable") },
		} {
			change()
			if after := v.get(t, "owner", "s", first); !reflect.DeepEqual(after, before) {
				t.Errorf("step %d: round 1 was\n%+v\nand is\n%+v", step, before, after)
			}
		}
	})
}
