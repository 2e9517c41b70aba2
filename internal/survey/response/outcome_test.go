package response_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// judge decides about a response, whatever a verifier may.
func (v *env) judge(t *testing.T, id, to string) {
	t.Helper()
	o, err := v.surveys.Open(as(t, "owner"), "s")
	if err != nil {
		t.Fatal(err)
	}
	err = v.d.InTx(t.Context(), func(tx *db.Tx) error {
		r, err := v.s.FindForUpdate(as(t, "owner"), tx, o, id)
		if err != nil {
			return err
		}
		_, deltas, err := v.s.MoveTx(as(t, "owner"), tx, o, r, response.Move{To: to, Reason: "test"})
		if err != nil {
			return err
		}
		return v.surveys.Count(as(t, "owner"), tx, o, deltas...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOutcomeFollows: whatever happens to the responses of a household, its
// outcome is what they say, and the figures of the round count every household
// once.
func TestOutcomeFollows(t *testing.T) {
	t.Parallel()
	one := strings.Replace(homeSurvey, `"sampling"`, `"eligibility":{"expression":"home.size < 10"},"sampling"`, 1)
	many := strings.Replace(one, `"sampling"`, `"onePerHousehold":false,"sampling"`, 1)
	redact := func(id string) func(*testing.T, *env) {
		return func(t *testing.T, v *env) {
			t.Helper()
			if _, err := v.s.Redact(as(t, "owner"), id, "*", "asked to"); err != nil {
				t.Fatal(err, codes(err))
			}
		}
	}
	judge := func(id, to string) func(*testing.T, *env) {
		return func(t *testing.T, v *env) { t.Helper(); v.judge(t, id, to) }
	}
	send := func(id string, answers ...string) func(*testing.T, *env) {
		return func(t *testing.T, v *env) {
			t.Helper()
			d := draft(id, 1, answers...)
			d.Partial = true
			if before, after, ok := strings.Cut(id, ">"); ok {
				d.ResponseID, d.Supersedes = after, before
			}
			v.submit(t, "ann", d)
		}
	}
	correct := func(id, patch string) func(*testing.T, *env) {
		return func(t *testing.T, v *env) {
			t.Helper()
			if _, err := v.s.Correct(as(t, "owner"), id, response.Correction{IfMatch: "*", Reason: "test", Patch: []byte(patch)}); err != nil {
				t.Fatal(err, codes(err))
			}
		}
	}
	note := func(outcome string) func(*testing.T, *env) {
		return func(t *testing.T, v *env) {
			t.Helper()
			if _, err := v.surveys.SetOutcome(as(t, "owner"), "s", "did:ixo:household/1", survey.OutcomeChange{Outcome: outcome}); err != nil {
				t.Fatal(err, codes(err))
			}
		}
	}
	type step struct {
		do   func(*testing.T, *env)
		want string // outcome, and contacted, completed, partial, refused, ineligible, rejected
	}
	for _, tt := range []struct {
		name, survey string
		steps        []step
	}{
		{"redacted", one, []step{
			{send("a"), "completed 1 1 0 0 0 0"},
			{redact("a"), "contacted 1 0 0 0 0 0"},
			{note("unreachable"), "unreachable 0 0 0 0 0 0"},
			{send("b"), "completed 1 1 0 0 0 0"},
		}},
		{"partial", one, []step{
			{note("contacted"), "contacted 1 0 0 0 0 0"},
			{send("a", "home.size="), "partial 1 0 1 0 0 0"},
			{note("refused"), "partial 1 0 1 0 0 0"},
			{correct("a", `{"responses":{"home":{"size":3}}}`), "completed 1 1 0 0 0 0"},
			{correct("a", `{"responses":{"home":{"size":20}}}`), "ineligible 1 1 0 0 1 0"},
			{correct("a", `{"responses":{"consent":{"ok":false}}}`), "refused 1 0 0 1 0 0"},
			{redact("a"), "contacted 1 0 0 0 0 0"},
		}},
		{"rejected", one, []step{
			{send("a", "home.size=12"), "ineligible 1 1 0 0 1 0"},
			{judge("a", response.Rejected), "contacted 1 1 0 0 1 1"},
			{note("refused"), "contacted 1 1 0 0 1 1"}, // the response is still there
			{judge("a", response.Pending), "ineligible 1 1 0 0 1 0"},
			{correct("a", `{"responses":{"home":{"size":4}}}`), "completed 1 1 0 0 0 0"},
			{judge("a", response.Verified), "completed 1 1 0 0 0 0"},
			{judge("a", response.Rejected), "contacted 1 1 0 0 0 1"},
			{redact("a"), "contacted 1 0 0 0 0 0"},
		}},
		{"rejected and corrected", one, []step{
			{send("a"), "completed 1 1 0 0 0 0"},
			{judge("a", response.Rejected), "contacted 1 1 0 0 0 1"},
			{correct("a", `{"responses":{"home":{"size":5}}}`), "completed 1 1 0 0 0 0"},
		}},
		{"invalidated and replaced", one, []step{
			{send("a"), "completed 1 1 0 0 0 0"},
			{judge("a", response.Invalidated), "contacted 1 0 0 0 0 0"},
			{send("b"), "completed 1 1 0 0 0 0"},
			{send("b>c", "consent.ok=false", "home.size=", "home.fuel="), "refused 1 0 0 1 0 0"},
			{redact("b"), "refused 1 0 0 1 0 0"}, // it was replaced before
			{redact("c"), "contacted 1 0 0 0 0 0"},
		}},
		{"noted", one, []step{
			{note("ineligible"), "ineligible 1 0 0 0 1 0"},
			{note("contacted"), "contacted 1 0 0 0 0 0"},
			{note("ineligible"), "ineligible 1 0 0 0 1 0"},
			{send("a"), "completed 1 1 0 0 0 0"},
		}},
		{"another counts", many, []step{
			{send("a"), "completed 1 1 0 0 0 0"},
			{send("b", "home.size="), "partial 2 1 1 0 0 0"},
			{judge("b", response.Rejected), "completed 2 1 1 0 0 1"},
			{redact("a"), "contacted 1 0 1 0 0 1"}, // of b, which is rejected
			{judge("b", response.Pending), "partial 1 0 1 0 0 0"},
			{redact("b"), "contacted 1 0 0 0 0 0"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				v := newEnv(t, d)
				v.start(t, tt.survey)
				up := survey.Upload{Items: []survey.HouseholdDraft{{HouseholdID: "did:ixo:household/1"}}}
				if _, err := v.surveys.AddHouseholds(as(t, "owner"), "s", up); err != nil {
					t.Fatal(err)
				}
				for i, s := range tt.steps {
					s.do(t, v)
					h, err := v.surveys.GetHousehold(as(t, "owner"), "s", "did:ixo:household/1")
					if err != nil {
						t.Fatal(err)
					}
					p := v.tally(t)
					got := fmt.Sprint(h.Value.Outcome, " ", p.Contacted, p.Completed, p.Partial, p.Refused, p.Ineligible, p.Rejected)
					if got != s.want {
						t.Errorf("after step %d: %s, want %s", i, got, s.want)
					}
					if w := v.send(t, "owner", "GET /v1/surveys/s/households?outcome="+h.Value.Outcome, ""); !strings.Contains(w.Body.String(), "household/1") {
						t.Errorf("the list with outcome %s = %d %s", h.Value.Outcome, w.Code, w.Body)
					}
				}
			})
		})
	}
}

// TestTooFast: once 20 interviews are in, one that takes less than a third of
// their median is flagged, and every one of a collector whose median is below half
// of it. The counters it goes by are those of the responses that count, whatever
// becomes of them.
func TestTooFast(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		n := 0
		send := func(by string, seconds float64) *response.Record {
			t.Helper()
			n++
			one := draft(fmt.Sprint("r", n), n)
			one.DurationSec = seconds
			return v.submit(t, by, one)
		}
		has := func(r *response.Record, rule string) bool { return strings.Contains(" "+rules(r)+" ", " "+rule+" ") }
		same := func(when string) {
			t.Helper()
			const stored = `SELECT count(*) FROM (SELECT 1 FROM responses WHERE status = 'complete' AND vstatus NOT IN ('superseded', 'invalidated', 'rejected')) AS n`
			var responses, all, own int
			if err := d.QueryRow(t.Context(), stored).Scan(&responses); err != nil {
				t.Fatal(err)
			}
			err := d.QueryRow(t.Context(), `SELECT CAST(coalesce(sum(CASE collector WHEN '' THEN n ELSE 0 END), 0) AS BIGINT), CAST(coalesce(sum(CASE collector WHEN '' THEN 0 ELSE n END), 0) AS BIGINT) FROM survey_lengths`).Scan(&all, &own)
			if err != nil || all != responses || own != responses {
				t.Errorf("%s: %d and %d lengths of %d responses, %v", when, all, own, responses, err)
			}
		}
		for range 19 {
			send("owner", 900)
		}
		if r := send("ann", 120); has(r, "duration_short") {
			t.Errorf("before 20 are in: %s", rules(r))
		}
		if r := send("ann", 120); !has(r, "duration_short") {
			t.Errorf("120 s of 900: %s", rules(r))
		}
		if r := send("ann", 350); has(r, "duration_short") {
			t.Errorf("350 s of 900: %s", rules(r))
		}
		same("sent")
		for range 7 {
			send("ann", 350)
		}
		if r := send("ann", 900); !has(r, "collector_fast") || has(r, "duration_short") {
			t.Errorf("the next of a collector with ten at 350 s: %s", rules(r))
		}
		if r := send("owner", 350); has(r, "collector_fast") {
			t.Errorf("the next of another collector: %s", rules(r))
		}
		if r := v.submit(t, "ann", draft("untimed", 999)); has(r, "collector_fast") || has(r, "duration_short") {
			t.Errorf("of no known length: %s", rules(r))
		}
		if _, err := v.s.Correct(as(t, "owner"), "untimed", response.Correction{IfMatch: "*", Patch: []byte(`{"durationSec":700}`)}); err != nil {
			t.Fatal(err, codes(err))
		}
		same("corrected")
		if _, err := v.s.Correct(as(t, "owner"), "r1", response.Correction{IfMatch: "*", Patch: []byte(`{"durationSec":7000}`)}); err != nil {
			t.Fatal(err, codes(err))
		}
		v.judge(t, "r2", response.Verified)
		v.judge(t, "r3", response.Rejected)
		v.judge(t, "r4", response.Rejected)
		v.judge(t, "r4", response.Pending)
		v.judge(t, "r5", response.Invalidated)
		if _, err := v.s.Redact(as(t, "owner"), "r6", "*", "asked to"); err != nil {
			t.Fatal(err)
		}
		next := draft("r7b", 7)
		next.Supersedes, next.DurationSec = "r7", 800
		v.submit(t, "owner", next)
		v.submit(t, "owner", next)
		if _, err := v.s.Correct(as(t, "owner"), "r8", response.Correction{IfMatch: "*", Patch: []byte(`{"responses":{"consent":{"ok":false}}}`)}); err != nil {
			t.Fatal(err, codes(err))
		}
		same("changed")
		var left int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT bucket FROM survey_lengths GROUP BY survey, collector, bucket HAVING sum(n) < 0) AS odd`).Scan(&left); err != nil || left > 0 {
			t.Errorf("%d buckets are below zero: %v", left, err)
		}
	})
}
