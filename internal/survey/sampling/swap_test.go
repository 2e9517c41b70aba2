package sampling_test

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The list of the survey marks who was replaced, by whom and why.
func TestReplacedIsMarked(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		v.surveyed(t, "s")
		draft := small("d")
		draft.SurveyID = "s"
		must(v.s.Create(ctx, draft))(t)
		must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
		must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1"}))(t)
		units, _, err := v.s.Units(ctx, newest("d"), "", 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		next := must(v.s.Replace(ctx, "d", api.SampleReplacement{HouseholdID: units[0].HouseholdID, Reason: "Moved away"}))(t).Value
		for role, want := range map[string][]string{
			"manager":   {`"replacement":{"householdId":"` + next.HouseholdID + `","reason":"Moved away","by":"did:key:manager"`},
			"collector": {`"replacement":{"householdId":"` + next.HouseholdID},
		} {
			w := v.get(as(t, role), "/v1/surveys/s/households/"+url.PathEscape(units[0].HouseholdID))
			for _, part := range want {
				if w.Code != 200 || !strings.Contains(w.Body.String(), part) {
					t.Errorf("%s: %d %s", role, w.Code, w.Body)
				}
			}
		}
		if again, _, err := v.s.Units(ctx, newest("d"), "replaced", 0, 10); err != nil || len(again) != 1 || again[0].ReplacedBy != next.Unit || again[0].By != "did:key:manager" {
			t.Errorf("replaced %+v, %v", again, err)
		}
	})
}

// Without responses:pii nobody sees a household beside its name in the frame.
func TestNoDictionary(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	must(v.s.Create(manager(t), small("d")))(t)
	planner := web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:planner", Scopes: []string{"sampling:*", "surveys:*", "entities:read"}})
	for _, d := range []api.SampleFrameDraft{{CSV: csv(40)}, {Registry: &api.SampleQuery{}}} {
		_, err := v.s.PutFrame(planner, "d", d)
		wantCode(t, "a frame of households of one's own choice", err, "SCOPE_MISSING")
	}
	must(v.s.PutFrame(manager(t), "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	must(v.s.Draw(manager(t), "d", api.SampleDrawDraft{Seed: "1"}))(t)
	known, _, err := v.s.Units(manager(t), newest("d"), "", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	units, _, err := v.s.Units(planner, newest("d"), "", 0, 10)
	if err != nil || len(units) != 8 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	for _, u := range units {
		if u.HouseholdID != "" || u.Unit == "" {
			t.Errorf("the planner sees %+v", u)
		}
	}
	got := must(v.s.Replace(planner, "d", api.SampleReplacement{HouseholdID: known[0].HouseholdID, Reason: "Moved away"}))(t).Value
	if got.HouseholdID == "" || got.Unit != "" || got.Replaces != "" || got.Rank != "" || got.Place != 0 {
		t.Errorf("replaced by its DID: %+v", got)
	}
	got = must(v.s.Replace(planner, "d", api.SampleReplacement{Unit: known[1].Unit, Reason: "Moved away"}))(t).Value
	if got.HouseholdID != "" || got.Unit == "" || got.Replaces != known[1].Unit {
		t.Errorf("replaced by its unit: %+v", got)
	}
}

// The same draw asked for at once is made once, and everybody gets it.
func TestParallelDraws(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		for _, id := range []string{"sole", "both"} {
			v.surveyed(t, "s-"+id)
			draft := small(id)
			draft.SurveyID = "s-" + id
			must(v.s.Create(ctx, draft))(t)
			must(v.s.PutFrame(ctx, id, api.SampleFrameDraft{CSV: csv(40 + len(id))}))(t)
		}
		must(v.s.Commit(ctx, "both", api.SampleCommit{Second: api.SampleSecond{Source: "party"}, Reason: "Planned"}))(t)
		must(v.s.Contribute(auditor(t), "both", api.SampleContribution{Part: "x"}))(t)
		for id, in := range map[string]api.SampleDrawDraft{"sole": {Seed: "7", Reason: "Planned"}, "both": {}} {
			var wg sync.WaitGroup
			replies := make([]string, 4)
			for i := range replies {
				wg.Go(func() {
					r, err := v.s.Draw(ctx, id, in)
					if err != nil {
						replies[i] = err.Error()
					} else {
						replies[i] = fmt.Sprint(r.Value.DrawID, r.Value.State, r.Value.DrawnAt)
					}
				})
			}
			wg.Wait()
			for _, r := range replies[1:] {
				if r != replies[0] || !strings.Contains(r, "drw_") {
					t.Errorf("%s: %q", id, replies)
				}
			}
			if got := must(v.s.Verify(auditor(t), newest(id)))(t); !got.Verified {
				t.Errorf("%s: verify %+v", id, got)
			}
		}
		if list, _, err := v.s.Draws(ctx, project, "", 0, 10); err != nil || len(list) != 2 {
			t.Errorf("%d draws, %v", len(list), err)
		}
	})
}

// A file with semicolons is a file, and a limited key learns no ids of others.
func TestFrameSmall(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	must(v.s.Create(ctx, small("d")))(t)
	want := must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t).Value.Hash
	for _, sep := range []string{";", "\t"} {
		if got := must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: strings.ReplaceAll(csv(40), ",", sep)}))(t).Value.Hash; got != want {
			t.Errorf("with %q the hash is %s, want %s", sep, got, want)
		}
	}
	limited := web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:x", Scopes: []string{"*"}, Projects: []string{"did:ixo:project/two"}})
	for _, id := range []string{"d", "free"} {
		draft := small(id)
		draft.ProjectID = "did:ixo:project/two"
		_, err := v.s.Create(limited, draft)
		wantCode(t, id, err, "SAMPLING_PARAMETERS_INVALID")
	}
	stove := small("stove")
	stove.ProjectID = "did:ixo:household/1"
	_, err := v.s.Create(ctx, stove)
	if fields := fieldsOf(err); len(fields) != 1 || fields[0].Pointer != "/projectId" || fields[0].Code != "not_a_project" {
		t.Errorf("a design of no project: %v %+v", err, fields)
	}
	_, err = v.s.PutFrame(ctx, "d", api.SampleFrameDraft{Registry: &api.SampleQuery{Filter: "("}})
	wantCode(t, "a bad filter", err, "INVALID_FILTER")
	if fields := fieldsOf(err); len(fields) != 1 || fields[0].Pointer != "/registry/filter" {
		t.Errorf("a bad filter: %+v", fields)
	}
	got := must(v.s.Get(ctx, "d", 0))(t).Value
	if len(got.Warnings) != 2 { // no population is given, and 8 are fewer than the target needs
		t.Errorf("warnings %q", got.Warnings)
	}
	draft := small("p")
	draft.Stratification, draft.Population, draft.Precision, draft.MarginOfError = nil, f(5000), nil, f(.2)
	must(v.s.Create(ctx, draft))(t)
	must(v.s.PutFrame(ctx, "p", api.SampleFrameDraft{CSV: csv(40)}))(t)
	if got := must(v.s.Get(ctx, "p", 0))(t).Value; len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "the newest frame has 40 households") {
		t.Errorf("warnings %q", got.Warnings)
	}
}

// The form of a beacon is fixed before its value exists.
func TestBeaconForm(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	must(v.s.Create(ctx, small("d")))(t)
	must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	minute := v.now.Add(61 * 60e9)
	for _, tt := range []struct {
		name, at string
		second   api.SampleSecond
	}{
		{"no format", "/second/format", api.SampleSecond{Beacon: "Lottery", At: minute}},
		{"unknown format", "/second/format", api.SampleSecond{Beacon: "Lottery", At: minute, Format: "free"}},
		{"drand without a round", "/second/round", api.SampleSecond{Beacon: "drand/quicknet", At: minute}},
		{"a round that is over", "/second/round", api.SampleSecond{Beacon: "drand/quicknet", Round: 7}},
		{"a round at another time", "/second/at", api.SampleSecond{Beacon: "drand/quicknet", Round: 36000000, At: minute}},
		{"drand in another form", "/second/format", api.SampleSecond{Beacon: "drand/quicknet", Round: 36000000, Format: "numbers"}},
		{"NIST between its pulses", "/second/at", api.SampleSecond{Beacon: "nist/2.0", At: minute.Add(1e9)}},
		{"a round of no rounds", "/second/round", api.SampleSecond{Beacon: "nist/2.0", At: minute, Round: 3}},
		{"yesterday", "/second/at", api.SampleSecond{Beacon: "Lottery", At: v.now.Add(-24 * 3600e9), Format: "numbers"}},
	} {
		tt.second.Source = "beacon"
		_, err := v.s.Commit(ctx, "d", api.SampleCommit{Second: tt.second})
		wantCode(t, tt.name, err, "SAMPLE_DRAW_INVALID")
		if f := fieldsOf(err); len(f) != 1 || f[0].Pointer != tt.at {
			t.Errorf("%s: %+v", tt.name, f)
		}
	}
	got := must(v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "beacon", Beacon: "nist/2.0", At: minute}}))(t).Value
	if got.Second.Format != "hex128" {
		t.Errorf("second %+v", got.Second)
	}
	v.now = minute
	for part, code := range map[string]string{"abc": "SAMPLE_DRAW_INVALID", strings.Repeat("A", 128): "SAMPLE_DRAW_INVALID"} {
		_, err := v.s.Contribute(ctx, "d", api.SampleContribution{Part: part})
		wantCode(t, part, err, code)
	}
	must(v.s.Contribute(ctx, "d", api.SampleContribution{Part: strings.Repeat("a", 128)}))(t)
	must(v.s.Draw(ctx, "d", api.SampleDrawDraft{}))(t)
	if got := must(v.s.Verify(auditor(t), sampling.Which{Design: "d"}))(t); !got.Verified {
		t.Errorf("verify %+v", got)
	}
}

// What a frame says and the design has no use for is left out, and said.
func TestFrameSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	plain := small("plain")
	plain.Stratification = nil
	must(v.s.Create(ctx, plain))(t)
	must(v.s.PutFrame(ctx, "plain", api.SampleFrameDraft{CSV: csv(40)}))(t)
	got := strings.Join(must(v.s.Frame(ctx, "plain", ""))(t).Warnings, "; ")
	if !strings.Contains(got, "the stratum of households, but the design has no stratification") || !strings.Contains(got, "the cluster of households") {
		t.Errorf("warnings %q", got)
	}
}
