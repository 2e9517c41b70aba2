package quality_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// copyResponse makes a superseded one of a response, as many would be there of a
// survey with earlier rounds.
const copyResponse = `INSERT INTO responses (nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files,
		collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked, sealed, imported_by)
	SELECT nid - $1, ws, $2, survey, round, household, nid - $1, stratum, grp, status, 'superseded', verifier, verified_at, reviews, flags, files,
		collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked, sealed, imported_by
	FROM responses WHERE response_id = 'r1'`

// TestLiveIsBounded: what is counted for an answer is bounded by all responses
// of the survey, not by those that count.
func TestLiveIsBounded(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.Start(t, "ws", "s", 1)
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "r1", Household: 1, Answers: surveytest.Home(nil)})
		if r := v.report(t); !r.Live || r.Responses != 1 {
			t.Errorf("report = %+v", r)
		}
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			for i := range int64(1000) {
				if _, err := tx.Exec(t.Context(), copyResponse, i+1, fmt.Sprintf("old-%d", i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := v.report(t); r.Live || r.Responses != 1 || r.Complete != 1 || len(r.Notes) == 0 {
			t.Errorf("live %v, %+v, notes %v: want what the counters say", r.Live, r.QualityTally, r.Notes)
		}
	})
}

// TestFlagQueries: what cannot be asked for is named.
func TestFlagQueries(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.Start(t, "ws", "s", 1)
	for query, code := range map[string]int{"": 200, "rule=outlier": 200, "rule=outliers": 400, "round=1": 200, "round=2": 404, "round=-1": 404} {
		if w := v.Send(t, "ws reader", "GET /v1/surveys/s/flags?"+query, ""); w.Code != code {
			t.Errorf("%s = %d %s, want %d", query, w.Code, w.Body, code)
		}
	}
}

// TestRunOfOthers: while a run of a round is unfinished everybody who asks for
// one gets it and can read it, so that no two of them fill the queue in turns;
// also a key of one project, and many at once.
func TestRunOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.Start(t, "ws", "s", 1)
		ask := func(as, survey string) string {
			var j job.Job
			v.Must(t, "ws "+as, "POST /v1/surveys/"+survey+"/quality/runs", "{}", &j)
			return j.ID
		}
		var group sync.WaitGroup
		got := make([]string, 8)
		for i := range got {
			group.Go(func() { got[i] = ask([]string{"vera", "rolf", "project", "owner"}[i%4], "s") })
		}
		group.Wait()
		if slices.Sort(got); len(slices.Compact(got)) != 1 {
			t.Fatalf("runs = %v, want one", got)
		}
		jobs, _, err := v.jobs.List(surveytest.As(t.Context(), "ws", "owner"), job.Filter{Kind: quality.RunKind}, 0, 100)
		if err != nil || len(jobs) != 1 {
			t.Errorf("%d runs are stored, want 1: %v", len(jobs), err)
		}
		for as, want := range map[string]string{"vera": "", "rolf": "", "project": "", "owner": "", "reader": "SCOPE_MISSING", "stranger": "JOB_NOT_FOUND"} {
			if _, err := v.jobs.Show(surveytest.As(t.Context(), "ws", as), got[0]); fault.CodeOf(err) != want {
				t.Errorf("%s reads the run: %v, want %q", as, err, want)
			}
		}
		if _, err := v.jobs.Show(surveytest.As(t.Context(), "else", "vera"), got[0]); fault.CodeOf(err) != "SCOPE_MISSING" {
			t.Errorf("another workspace reads the run: %v", err)
		}
		v.work(t)
		v.await(t, got[0])
		if again := ask("rolf", "s"); again == got[0] {
			t.Error("a run that has ended is given again")
		}
	})
}
