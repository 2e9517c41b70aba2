package quality_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// standing is the settlement of the only flag of a check, nil while it is open.
func (v *env) standing(t testing.TB, rule string) *flag.Settlement {
	t.Helper()
	var p struct {
		Items []quality.FlagRecord `json:"items"`
	}
	v.Must(t, "ws owner", "GET /v1/surveys/s/flags?rule="+rule, "", &p)
	if len(p.Items) != 1 {
		t.Fatalf("%d flags of %s, want 1: %+v", len(p.Items), rule, p.Items)
	}
	return p.Items[0].Settled
}

// TestSettledFlags: a settlement is replaced and taken back by its revision only,
// outlives a run that finds the same, ends with what the flag says, and loses its
// note with the household.
func TestSettledFlags(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.Start(t, "ws", "s", 1)
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "r", Household: 1, Seconds: 20, Answers: surveytest.Home(nil)})
		ctx := surveytest.As(t.Context(), "ws", "owner")
		settle := func(outcome, note string, revision int64) (*flag.Settlement, error) {
			r, err := v.s.SettleFlag(ctx, "s", quality.FlagOutcome{ResponseID: "r", Rule: flag.DurationShort, Outcome: outcome, Note: note, Revision: revision})
			if err != nil {
				return nil, err
			}
			return r.Value.Settled, nil
		}
		first, err := settle("explained", "one", 0)
		if err != nil {
			t.Fatal(err)
		}
		second, err := settle("confirmed", "two", first.Revision)
		if err != nil || second.Revision <= first.Revision || second.By != "did:key:owner" {
			t.Fatalf("second = %+v, %v", second, err)
		}
		if _, err := settle("explained", "late", first.Revision); fault.KindOf(err) != fault.Stale {
			t.Errorf("with the old revision: %v", err)
		}
		if _, err := settle("open", "", first.Revision); fault.KindOf(err) != fault.Stale {
			t.Errorf("opened with the old revision: %v", err)
		}
		v.work(t)
		v.run(t)
		if got := v.standing(t, flag.DurationShort); got == nil || got.Note != "two" || got.Outcome != "confirmed" {
			t.Errorf("after a run: %+v", got)
		}
		if none, err := settle("open", "", second.Revision); err != nil || none != nil {
			t.Errorf("opened: %+v, %v", none, err)
		}
		if _, err := settle("explained", "again", second.Revision); fault.KindOf(err) != fault.Stale {
			t.Errorf("with the revision of what was taken back: %v", err)
		}
		if _, err := settle("explained", "Otieno was away", 0); err != nil {
			t.Fatal(err)
		}
		surveytest.Erase(t, d, "ws", "did:ixo:household/1", v.Responses.Erase)
		if got := v.standing(t, flag.DurationShort); got == nil || got.Note != "" || got.Outcome != "explained" {
			t.Errorf("after the erasure: %+v", got)
		}
		if _, err := d.Exec(t.Context(), `UPDATE response_flags SET data = '{"rule":"duration_short","detail":"another"}'`); err != nil {
			t.Fatal(err)
		}
		if got := v.standing(t, flag.DurationShort); got != nil {
			t.Errorf("a flag that says something else is settled: %+v", got)
		}
	})
}
