package sampling_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/sampling"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const project = "did:ixo:project/one"

type env struct {
	*surveytest.Env
	s    *sampling.Service
	jobs *job.Service
	api  *web.API
	now  time.Time
	done chan struct{}  // a job has ended
	rows []sampling.Row // of the registry
	as   []string       // whom callers act for
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	v := &env{Env: surveytest.New(t, d), now: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), done: make(chan struct{}, 1000)}
	v.jobs = job.New(job.Config{DB: d, Cursors: eventtest.Cursors(), Record: func(_ context.Context, tx *db.Tx, _, _ string, _ int64) error {
		tx.AfterCommit(func() { v.done <- struct{}{} })
		return nil
	}})
	v.s = sampling.New(sampling.Config{
		DB: d, Surveys: v.Surveys, Vault: vault.New(vault.Config{Key: v.Key}), Key: v.Key, Jobs: v.jobs, Exchange: exchange.New(exchange.Config{DB: d, Jobs: v.jobs}), Events: v.Log, Idem: v.Idem, Cursors: eventtest.Cursors(), Now: func() time.Time { return v.now },
		ActsFor: func(context.Context) ([]string, error) { return v.as, nil },
		Project: func(_ context.Context, _ db.Querier, _, did string) (bool, bool, error) {
			return did == project || strings.HasPrefix(did, "did:ixo:household/"), did == project, nil
		},
		CheckQuery: func(_ context.Context, q api.SampleQuery) error {
			if q.Filter == "(" {
				return fault.New(fault.Invalid, "INVALID_FILTER", "No.").With(fault.Field{Pointer: "query/filter", Code: "invalid"})
			}
			return nil
		},
		Registry: func(_ context.Context, _ string, _ api.SampleQuery, visit func(sampling.Row) error) (int64, error) {
			for _, r := range v.rows {
				if err := visit(r); err != nil {
					return 0, err
				}
			}
			return 7, nil
		},
	})
	v.Design = v.s.Target
	v.api = surveytest.Gate(func(ws, role string) web.Caller {
		c := callers[role]
		c.Workspace, c.DID = ws, "did:key:"+role
		return c
	}).API(v.Surveys.Routes, v.s.Routes, v.jobs.Routes)
	return v
}

// callers are those of a programme, by what they may do.
var callers = map[string]web.Caller{
	"manager":   {Scopes: []string{"sampling:*", "surveys:*", "responses:*", "entities:read"}},
	"auditor":   {Scopes: []string{"sampling:read", "sampling:witness", "audit:read", "surveys:read"}},
	"collector": {Scopes: []string{"sampling:read", "responses:write", "responses:read", "surveys:read"}},
}

func as(t testing.TB, role string) context.Context {
	c := callers[role]
	c.Workspace, c.DID = "ws", "did:key:"+role
	return web.WithCaller(t.Context(), c)
}

func manager(t testing.TB) context.Context   { return as(t, "manager") }
func auditor(t testing.TB) context.Context   { return as(t, "auditor") }
func collector(t testing.TB) context.Context { return as(t, "collector") }

// small is a design whose sample is 4 of each stratum.
func small(id string) sampling.Draft {
	return sampling.Draft{
		DesignID: id, ProjectID: project, Confidence: f(.95), Precision: f(.1), Reserve: f(3),
		Stratification: &api.SampleStratification{Method: "fixed", Strata: []api.SampleStratum{{Name: "rural", SampleSize: f(4)}, {Name: "urban", SampleSize: f(4)}}},
	}
}

func csv(n int) string {
	var b strings.Builder
	b.WriteString("household,stratum,cluster\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "did:ixo:household/%d,%s,v%d\n", i, []string{"rural", "urban"}[i%2], i%10)
	}
	return b.String()
}

func newest(design string) sampling.Which { return sampling.Which{Design: design} }

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code || code == "" && err != nil {
		t.Errorf("%s: %q (%v), want %q", what, got, err, code)
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v %+v", err, fieldsOf(err))
		}
		return v
	}
}

func fieldsOf(err error) []fault.Field {
	if f := fault.As(err); f != nil {
		return f.Fields
	}
	return nil
}

// The survey of a proven draw gets its list, its sampling and nothing else.
func TestProvenDraw(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		must(v.Surveys.Create(ctx, survey.Draft{SurveyID: "s", Type: "BaselineSurvey", ProjectID: project, Content: survey.Content{
			Template: flags(), Sampling: &survey.Sampling{Method: "stratified", Size: f(8), Confidence: f(.95)}, Collectors: []survey.Collector{{DID: "did:key:collector"}},
		}}))(t)
		draft := small("d")
		draft.SurveyID = "s"
		must(v.s.Create(ctx, draft))(t)
		frame := must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t).Value
		if frame.Population != 40 || !survey.IsHash(frame.Hash) || frame.Plan.Strata[0].Size != 4 {
			t.Errorf("frame %+v", frame)
		}
		part := strings.Repeat("manager's part ", 3)
		must(v.s.Commit(ctx, "d", api.SampleCommit{Commitment: sampling.Commitment(part), Second: api.SampleSecond{Source: "party"}}))(t)
		// To list a household by hand takes it out of no sample.
		rural := "rural"
		must(v.Surveys.AddHouseholds(ctx, "s", survey.Upload{Items: unwanted(&rural)}))(t)
		_, err := v.s.Draw(ctx, "d", api.SampleDrawDraft{Part: part})
		wantCode(t, "draw before the second part", err, "SAMPLE_DRAW_STATE_INVALID")
		_, err = v.s.Contribute(ctx, "d", api.SampleContribution{Part: "mine too"})
		wantCode(t, "second part by the manager", err, "SECOND_PARTY_INVALID")
		_, err = v.s.Contribute(collector(t), "d", api.SampleContribution{Part: "a collector's"})
		wantCode(t, "second part by a collector", err, "SECOND_PARTY_INVALID")
		v.as = []string{"did:key:manager"}
		_, err = v.s.Contribute(auditor(t), "d", api.SampleContribution{Part: "a friend's"})
		wantCode(t, "second part by one who acts for the manager", err, "SECOND_PARTY_INVALID")
		_, err = v.s.Approve(auditor(t), "d", api.SampleApproval{})
		wantCode(t, "approval by one who acts for the manager", err, "APPROVER_IS_MAKER")
		v.as = nil
		got := must(v.s.Contribute(auditor(t), "d", api.SampleContribution{Part: "auditor's part"}))(t).Value
		if got.SecondPart != "" || got.Seed != "" {
			t.Errorf("the parts show before the draw: %+v", got)
		}
		_, err = v.s.Draw(ctx, "d", api.SampleDrawDraft{Part: strings.Repeat("another part 00", 3)})
		wantCode(t, "another part", err, "COMMITMENT_MISMATCH")
		drawn := must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Part: part}))(t).Value
		if drawn.Seed != sampling.Join(part, "auditor's part") || drawn.Drawn != 8 || drawn.Reserve != 6 || drawn.SoleSeed {
			t.Errorf("draw %+v", drawn)
		}
		v.holds(t, "d", "s")
		v.replaces(t, "d", "s")
		v.hides(t, "d")
	})
}

// unwanted are the rural households of a frame.
func unwanted(rural *string) []survey.HouseholdDraft {
	var out []survey.HouseholdDraft
	for i := 2; i <= 40; i += 2 {
		out = append(out, survey.HouseholdDraft{HouseholdID: fmt.Sprintf("did:ixo:household/%d", i), Stratum: rural})
	}
	return out
}

func flags() *survey.Flags {
	yes := true
	return &survey.Flags{EligibilityCriteria: &yes}
}

// holds: the survey has the sample, and the draw can be made again.
func (v *env) holds(t *testing.T, design, id string) {
	t.Helper()
	ctx := manager(t)
	var s survey.Survey
	if err := json.Unmarshal(must(v.Surveys.Get(ctx, id))(t).Raw, &s); err != nil {
		t.Fatal(err)
	}
	if s.Sampling.Draw == nil || s.Sampling.Draw.SoleSeed || *s.Sampling.DesignID != design || *s.Sampling.Size != 8 || *s.Sampling.Strata[0].Population != 20 {
		t.Errorf("sampling of the survey %+v", s.Sampling)
	}
	w := v.get(ctx, "/v1/surveys/"+id+"/households")
	if strings.Count(w.Body.String(), `"source":"drawn"`) != 8 {
		t.Errorf("list: %s", w.Body)
	}
	_, err := v.Surveys.Update(ctx, id, "*", "", []byte(`{"sampling":{"size":9}}`))
	wantCode(t, "another size after the draw", err, "SURVEY_LOCKED")
	if _, err := v.Surveys.Update(ctx, id, "*", "", []byte(`{"name":"Baseline"}`)); err != nil {
		t.Error(err)
	}
	got := must(v.s.Verify(auditor(t), newest(design)))(t)
	if !got.Verified || len(got.Checks) != 8 {
		t.Errorf("verify: %+v", got)
	}
}

// get asks a route as a caller.
func (v *env) get(ctx context.Context, path string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	v.api.Mount(mux)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer ws "+strings.TrimPrefix(web.CallerFrom(ctx).DID, "did:key:"))
	mux.ServeHTTP(w, r)
	return w
}

// replaces: the next of the stratum, with its reason, and once.
func (v *env) replaces(t *testing.T, design, id string) {
	t.Helper()
	ctx := manager(t)
	units, _, err := v.s.Units(ctx, newest(design), "", 0, 100)
	if err != nil || len(units) != 8 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	first := units[0]
	_, err = v.s.Replace(ctx, design, api.SampleReplacement{HouseholdID: first.HouseholdID})
	wantCode(t, "without a reason", err, "SAMPLE_DRAW_INVALID")
	next := must(v.s.Replace(ctx, design, api.SampleReplacement{HouseholdID: first.HouseholdID, Reason: "Moved away"}))(t).Value
	if next.Replaces != first.Unit || next.Stratum != first.Stratum || next.State != "replacement" {
		t.Errorf("replacement %+v of %+v", next, first)
	}
	_, err = v.s.Replace(ctx, design, api.SampleReplacement{HouseholdID: first.HouseholdID, Reason: "Again"})
	wantCode(t, "a second time", err, "UNIT_REPLACED")
	must(v.s.Replace(ctx, design, api.SampleReplacement{Unit: next.Unit, Reason: "Refused"}))(t)
	must(v.s.Replace(ctx, design, api.SampleReplacement{Unit: units[1].Unit, Reason: "Refused"}))(t)
	_, err = v.s.Replace(ctx, design, api.SampleReplacement{Unit: units[2].Unit, Reason: "Refused"})
	wantCode(t, "more than there are", err, "REPLACEMENTS_EXHAUSTED")
	if w := v.get(ctx, "/v1/surveys/"+id+"/households"); strings.Count(w.Body.String(), `"replaces":`) != 3 {
		t.Errorf("list with replacements: %s", w.Body)
	}
	got := must(v.s.Verify(auditor(t), newest(design)))(t)
	if !got.Verified {
		t.Errorf("verify after replacements: %+v", got)
	}
	if d := must(v.s.GetDraw(ctx, newest(design)))(t).Value; d.Replaced != 3 {
		t.Errorf("%d replaced, want 3", d.Replaced)
	}
}

// hides: no collector learns who comes next.
func (v *env) hides(t *testing.T, design string) {
	t.Helper()
	ctx := collector(t)
	if d := must(v.s.GetDraw(ctx, newest(design)))(t).Value; d.Seed != "" || d.FirstPart != "" || d.SecondPart != "" {
		t.Errorf("a collector sees the seed: %+v", d)
	}
	units, _, err := v.s.Units(ctx, newest(design), "", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range units {
		if u.State == "reserve" || u.HouseholdID != "" || u.Rank != "" {
			t.Errorf("a collector sees %+v", u)
		}
	}
	_, _, err = v.s.Units(ctx, newest(design), "reserve", 0, 100)
	wantCode(t, "asked for the reserve", err, "INVALID_PARAMETER")
	_, err = v.s.Verify(ctx, newest(design))
	wantCode(t, "verify by a collector", err, "SCOPE_MISSING")
	for _, path := range []string{"/frame.csv", "/record"} {
		if w := v.get(ctx, "/v1/sampling/designs/"+design+path); w.Code != 403 {
			t.Errorf("%s for a collector = %d %.200s", path, w.Code, w.Body)
		}
	}
}

// A frame is drawn once; another draw needs a reason and shows those before,
// whatever became of their designs.
func TestDrawnOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		for _, id := range []string{"a", "b"} {
			must(v.s.Create(ctx, small(id)))(t)
			must(v.s.PutFrame(ctx, id, api.SampleFrameDraft{CSV: csv(40)}))(t)
		}
		first := must(v.s.Draw(ctx, "a", api.SampleDrawDraft{Seed: "1"}))(t).Value
		if !first.SoleSeed || first.State != "drawn" {
			t.Errorf("draw %+v", first)
		}
		if again := must(v.s.Draw(ctx, "a", api.SampleDrawDraft{Seed: "1"}))(t); again.Value.DrawID != first.DrawID || again.Status != http.StatusOK {
			t.Errorf("the same draw again: %+v", again)
		}
		_, err := v.s.Draw(ctx, "a", api.SampleDrawDraft{Seed: "2"})
		wantCode(t, "another seed", err, "FRAME_DRAWN")
		if _, err := v.s.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		_, err = v.s.Draw(ctx, "b", api.SampleDrawDraft{Seed: "2"})
		wantCode(t, "the same frame of another design", err, "FRAME_DRAWN")
		_, err = v.s.Commit(ctx, "b", api.SampleCommit{Second: api.SampleSecond{Source: "party"}})
		wantCode(t, "a commitment to it", err, "FRAME_DRAWN")
		must(v.s.Commit(ctx, "b", api.SampleCommit{Second: api.SampleSecond{Source: "party"}, Reason: "The first was a trial."}))(t)
		got := must(v.s.Draw(ctx, "b", api.SampleDrawDraft{Seed: "2", Reason: "No auditor came."}))(t).Value
		if len(got.Earlier) != 2 || got.Earlier[1].DrawID != first.DrawID || !got.Earlier[1].SameFrame || got.Earlier[0].State != "committed" {
			t.Errorf("earlier draws %+v", got.Earlier)
		}
		list, _, err := v.s.Draws(ctx, project, "", 0, 10)
		if err != nil || len(list) != 3 {
			t.Errorf("%d draws of the project, %v", len(list), err)
		}
	})
}

// What cannot be drawn uses up no seed.
func TestEmptyFrame(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	must(v.s.Create(ctx, small("d")))(t)
	_, err := v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1"})
	wantCode(t, "no frame", err, "FRAME_NOT_FOUND")
	for _, tt := range []struct{ csv, code string }{
		{"household,stratum\n", "INSUFFICIENT_POPULATION"},
		{"household,stratum\ndid:ixo:household/1,rural\n", "STRATA_CONFLICT"},
		{"household,stratum\ndid:ixo:household/1,rural\ndid:ixo:household/2,urban\n", "INSUFFICIENT_POPULATION"},
		{"household,stratum\ndid:ixo:household/1,rural\ndid:ixo:household/1,rural\n", "FRAME_INVALID"},
		{"household,stratum\ndid:ixo:household/1,moon\n", "STRATA_CONFLICT"},
		{"household,stratum\nsomebody,rural\n", "FRAME_INVALID"},
		{"who\nx\n", "FRAME_INVALID"},
	} {
		_, err := v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: tt.csv})
		wantCode(t, tt.csv, err, tt.code)
	}
	if list, _, err := v.s.Draws(ctx, project, "", 0, 10); err != nil || len(list) != 0 {
		t.Errorf("%d draws, %v", len(list), err)
	}
}

// A beacon is named before its value exists, and its value comes after.
func TestBeacon(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	must(v.s.Create(ctx, small("d")))(t)
	must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	second := api.SampleSecond{Source: "beacon", Beacon: "Lottery of Nairobi", Format: "numbers", At: v.now}
	_, err := v.s.Commit(ctx, "d", api.SampleCommit{Second: second})
	wantCode(t, "a value that is known", err, "SAMPLE_DRAW_INVALID")
	second.At = v.now.Add(time.Hour)
	must(v.s.Commit(ctx, "d", api.SampleCommit{Second: second}))(t)
	_, err = v.s.Contribute(ctx, "d", api.SampleContribution{Part: "beef"})
	wantCode(t, "before its time", err, "BEACON_NOT_YET")
	v.now = v.now.Add(2 * time.Hour)
	_, err = v.s.Contribute(ctx, "d", api.SampleContribution{Part: "beef"})
	wantCode(t, "a value in another form", err, "SAMPLE_DRAW_INVALID")
	must(v.s.Contribute(ctx, "d", api.SampleContribution{Part: "6 14 22 31 40 45"}))(t)
	must(v.s.Draw(ctx, "d", api.SampleDrawDraft{}))(t)
	if got := must(v.s.Verify(auditor(t), newest("d")))(t); !got.Verified || len(got.Remarks) != 4 {
		t.Errorf("verify %+v", got)
	}
}

// The record of a draw holds no DID, and every change of it shows.
func TestRecord(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	must(v.s.Create(ctx, small("d")))(t)
	must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	must(v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "party", Party: "did:key:auditor"}}))(t)
	must(v.s.Contribute(auditor(t), "d", api.SampleContribution{Part: "x"}))(t)
	must(v.s.Draw(ctx, "d", api.SampleDrawDraft{}))(t)
	w := v.get(auditor(t), "/v1/sampling/designs/d/record")
	if w.Code != 200 || strings.Contains(w.Body.String(), "did:ixo:household") {
		t.Fatalf("record: %d %.300s", w.Code, w.Body)
	}
	open := func() *api.SampleRecord {
		rec := new(api.SampleRecord)
		if err := json.Unmarshal(w.Body.Bytes(), rec); err != nil {
			t.Fatal(err)
		}
		return rec
	}
	if got := must(sampling.VerifyRecord(open()))(t); !got.Verified {
		t.Fatalf("record: %+v", got)
	}
	for name, edit := range map[string]func(*api.SampleRecord){
		"frame":      func(r *api.SampleRecord) { r.Frame = strings.Replace(r.Frame, "rural", "urban", 1) },
		"commitment": func(r *api.SampleRecord) { r.Draw.FirstPart += "x" },
		"second":     func(r *api.SampleRecord) { r.Draw.SecondBy = r.Draw.CommittedBy },
		"seed":       func(r *api.SampleRecord) { r.Draw.SecondPart = "y" },
		"sample":     func(r *api.SampleRecord) { r.Units = r.Units[1:] },
		"replacements": func(r *api.SampleRecord) {
			r.Units = append(r.Units, api.SampleUnit{Place: 9, Unit: "hh_x", Stratum: "rural", Replaces: r.Units[0].Unit, Reason: "z"})
		},
	} {
		rec := open()
		edit(rec)
		got := must(sampling.VerifyRecord(rec))(t)
		if i := slices.IndexFunc(got.Checks, func(c api.SampleTest) bool { return c.Name == name }); got.Verified || got.Checks[i].OK {
			t.Errorf("%s was changed, and nobody noticed: %+v", name, got.Checks)
		}
	}
}

// Designs, frames and draws of others do not exist.
func TestSampleStrangers(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	must(v.s.Create(manager(t), small("d")))(t)
	must(v.s.PutFrame(manager(t), "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	must(v.s.Draw(manager(t), "d", api.SampleDrawDraft{Seed: "1"}))(t)
	for name, c := range map[string]web.Caller{
		"another workspace": {Workspace: "other", DID: "did:key:x", Scopes: []string{"*"}},
		"another project":   {Workspace: "ws", DID: "did:key:x", Scopes: []string{"*"}, Projects: []string{"did:ixo:project/two"}},
	} {
		ctx := web.WithCaller(t.Context(), c)
		_, err := v.s.Get(ctx, "d", 0)
		wantCode(t, name, err, "DESIGN_NOT_FOUND")
		_, err = v.s.GetDraw(ctx, newest("d"))
		wantCode(t, name, err, "DESIGN_NOT_FOUND")
		_, err = v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(4)})
		wantCode(t, name, err, "DESIGN_NOT_FOUND")
		_, err = v.s.Replace(ctx, "d", api.SampleReplacement{Unit: "x", Reason: "y"})
		wantCode(t, name, err, "DESIGN_NOT_FOUND")
		if list, _, err := v.s.Draws(ctx, project, "", 0, 10); err != nil || len(list) != 0 {
			t.Errorf("%s: %d draws, %v", name, len(list), err)
		}
		if list, _, err := v.s.List(ctx, "", 0, 10); err != nil || len(list) != 0 {
			t.Errorf("%s: %d designs, %v", name, len(list), err)
		}
		_, err = v.s.Create(ctx, small(""))
		if want := map[bool]string{true: "", false: "SAMPLING_PARAMETERS_INVALID"}[name == "another workspace"]; fault.CodeOf(err) != want {
			t.Errorf("%s: create: %v", name, err)
		}
	}
}

// A recalculation is a version of its own, and its maker does not approve it.
func TestVersions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := manager(t)
		draft := documented()
		draft.DesignID, draft.ProjectID = "d", project
		must(v.s.Create(ctx, draft))(t)
		_, err := v.s.Approve(ctx, "d", api.SampleApproval{})
		wantCode(t, "approved by its maker", err, "APPROVER_IS_MAKER")
		if got := must(v.s.Approve(auditor(t), "d", api.SampleApproval{}))(t).Value; got.Verification.Status != "approved" || got.Version != 1 {
			t.Errorf("approved %+v", got)
		}
		next := must(v.s.Recalculate(ctx, "d", api.SampleObserved{Mean: f(.9), DropoutRate: f(.2), Reason: "Round 1"}))(t).Value
		if next.Version != 2 || next.Verification.Status != "pending" || next.Parameters.CalculatedSize >= 357 {
			t.Errorf("recalculated %+v", next.Parameters)
		}
		if old := must(v.s.Get(ctx, "d", 1))(t).Value; old.Parameters.CalculatedSize != 357 || old.Verification.Status != "approved" {
			t.Errorf("the old version %+v", old.Parameters)
		}
		list, _, err := v.s.Versions(ctx, "d", 0, 10)
		if err != nil || len(list) != 2 || list[0].Version != 2 {
			t.Errorf("versions %v, %v", list, err)
		}
		_, err = v.s.Get(ctx, "d", 3)
		wantCode(t, "a version there is not", err, "VERSION_NOT_FOUND")
		_, err = v.s.Create(ctx, draft)
		wantCode(t, "the same id", err, "DESIGN_EXISTS")
	})
}
