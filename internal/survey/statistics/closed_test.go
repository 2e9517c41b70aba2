package statistics_test

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
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

// A household that was replaced and answers after all counts as itself, and its
// replacement in no figure.
func TestLateAnswerOfTheReplaced(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		homes := twenty()
		late := homes[0]
		homes[0].answers = nil
		v.start(t, "s", drawnTwo, homes)
		v.ask(t, "s", 1, homes)
		ctx := web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:owner", Scopes: []string{"*"}})
		err := d.InTx(ctx, func(tx *db.Tx) error {
			return v.Surveys.AddDrawn(ctx, tx, "s", []survey.DrawnHome{{Household: "did:ixo:household/next", Stratum: late.Stratum, Replaces: late.ID, Reason: "Nobody at home"}})
		})
		if err != nil {
			t.Fatal(err)
		}
		next := late
		next.ID, next.answers = "did:ixo:household/next", map[string]any{"uses": true, "fuel": 1000., "size": 3}
		v.ask(t, "s", 100, []home{next})
		with := v.get(t, "owner", "s", "question=home/fuel")
		if c := with.Counted; c.Sample != 21 || c.Replacements != 1 || c.Answered != 18 {
			t.Errorf("with the replacement %+v", c)
		}
		v.ask(t, "s", 200, []home{late})
		got := v.get(t, "owner", "s", "question=home/fuel")
		if c := got.Counted; c.Sample != 20 || c.Replacements != 0 || c.Answered != 18 || c.OffList != 0 || !strings.Contains(c.Words, "answered after all, excluded from all figures: 1.") {
			t.Errorf("after the late answer %+v", c)
		}
		if of(t, got, "").Estimate == nil || number(of(t, got, "").Estimate) >= number(of(t, with, "").Estimate) {
			t.Errorf("the figure was %v and is %v", number(of(t, with, "").Estimate), number(of(t, got, "").Estimate))
		}
	})
}
