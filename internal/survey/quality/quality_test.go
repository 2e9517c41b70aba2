package quality_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/quality"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type env struct {
	*surveytest.Env
	s    *quality.Service
	book *quality.Rulebook
	jobs *job.Service
}

// newEnv has no runner: start one where jobs are to be done.
func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	v := &env{Env: surveytest.New(t, d)}
	v.book = quality.NewRulebook(quality.RulebookConfig{DB: d, Events: v.Log})
	v.Settings = v.book.Settings
	v.jobs = job.New(job.Config{DB: d, Cursors: eventtest.Cursors()})
	v.s = quality.New(quality.Config{
		DB: d, Surveys: v.Surveys, Responses: v.Responses, Templates: v.Templates, Rules: v.book, Jobs: v.jobs, Events: v.Log, Idem: v.Idem,
		Cursors: eventtest.Cursors(),
		ActsFor: func(ctx context.Context) ([]string, error) {
			if web.CallerFrom(ctx).DID == "did:key:member" {
				return []string{"did:key:ann"}, nil
			}
			return nil, nil
		},
	})
	v.s.Routes(v.API)
	return v
}

func (v *env) work(t *testing.T) {
	t.Helper()
	runner, err := v.jobs.NewRunner(job.RunnerConfig{Handlers: v.s.Handlers(), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// await waits for a job to end well.
func (v *env) await(t *testing.T, id string) job.Job {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(60 * time.Second)
	for {
		j, err := v.jobs.Get(surveytest.As(t.Context(), "ws", "owner"), id)
		if err != nil {
			t.Fatal(err)
		}
		if j.Status.Final() {
			if j.Status != job.Succeeded {
				t.Fatalf("job = %+v", j)
			}
			return j
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain for %+v", j)
		}
	}
}

func (v *env) run(t *testing.T) job.Job {
	t.Helper()
	r, err := v.s.Run(surveytest.As(t.Context(), "ws", "owner"), "s", 0)
	if err != nil {
		t.Fatal(err)
	}
	return v.await(t, r.Value.ID)
}

func (v *env) report(t testing.TB) *quality.Report {
	t.Helper()
	r, err := v.s.Report(surveytest.As(t.Context(), "ws", "owner"), "s", 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// flags lists flags as "rule response question", all pages of them.
func (v *env) flags(t testing.TB, query string) []string {
	t.Helper()
	var out []string
	for cursor := ""; ; {
		var p struct {
			Items []quality.FlagRecord `json:"items"`
			Page  web.PageInfo         `json:"page"`
		}
		v.Must(t, "ws owner", "GET /v1/surveys/s/flags?limit=7"+query+cursor, "", &p)
		for _, f := range p.Items {
			out = append(out, strings.TrimSpace(f.Rule+" "+f.ResponseID+" "+f.Question))
			if f.Detail == "" || f.At.IsZero() || f.Source == "" || strings.Contains(f.Detail, "0000") || strings.Contains(f.Detail, "Mary") {
				t.Errorf("flag %+v", f) // nothing of a person in it
			}
		}
		if !p.Page.HasMore {
			slices.Sort(out)
			return out
		}
		cursor = "&cursor=" + p.Page.NextCursor
	}
}

// population sends 80 ordinary interviews of four collectors, and 24 of eve, in
// whose villages everything costs more.
func (v *env) population(t testing.TB) {
	t.Helper()
	v.Start(t, "ws", "s", 1)
	fuels := []string{"wood", "charcoal", "lpg"}
	for i := range 104 {
		in := surveytest.Interview{
			ID: fmt.Sprintf("r%d", i), Household: i, Collector: []string{"ann", "ben", "cem", "dee"}[i%4], Lat: -1.2 + float64(i)/1000, Lon: 36.8, Seconds: 600 + i,
			Answers: surveytest.Home(map[string]any{
				"size": 3 + i%5, "cost": 10 + i%7, "fuel": fuels[i%3], "name": fmt.Sprintf("Mary %c%c", 'a'+i%26, 'a'+i/26), "phone": fmt.Sprintf("070000%04d", i),
			}),
		}
		if i >= 80 {
			in.Collector, in.Answers["home"]["cost"], in.Answers["home"]["fuel"] = "eve", 21, "lpg"
		}
		v.Submit(t, "ws", "s", in)
	}
}

// oddities are what a run has to find.
func (v *env) oddities(t testing.TB) {
	t.Helper()
	home := func(i int, more map[string]any) map[string]map[string]any {
		a := surveytest.Home(map[string]any{"size": 4, "cost": 12, "fuel": "wood", "name": fmt.Sprintf("Jane %d", i), "phone": fmt.Sprintf("071111%04d", i)})
		maps.Copy(a["home"], more)
		return a
	}
	v.Submit(t, "ws", "s", surveytest.Interview{ID: "odd", Household: 900, Lat: 1, Lon: 36, Answers: home(0, map[string]any{"cost": 500})})
	v.Submit(t, "ws", "s", surveytest.Interview{ID: "near", Household: 901, Collector: "ben", Lat: -1.2 + 0.005 + 0.00003, Lon: 36.8, Answers: home(1, nil)})
	v.Submit(t, "ws", "s", surveytest.Interview{ID: "phone", Household: 902, Lat: 2, Lon: 36, Answers: home(2, map[string]any{"phone": "+254 70 0000 007"})})
	for i, id := range []string{"copyA", "copyB", "fresh"} {
		a := home(10+i, nil)
		a["views"] = map[string]any{}
		for k := range 10 {
			a["views"][string(rune('a'+k))] = k
			if id == "fresh" {
				a["views"][string(rune('a'+k))] = 9 - k
			}
		}
		v.Submit(t, "ws", "s", surveytest.Interview{
			ID: id, Household: 910 + i, Lat: 3 + float64(i), Lon: 36, Answers: a, At: time.Date(2026, 3, 2, 9+i, 0, 0, 0, time.UTC),
		})
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.population(t)
		v.oddities(t)
		v.work(t)
		j := v.run(t)
		if r := fmt.Sprintf("%s", j.Result); !strings.Contains(r, `"responses":110,"flagged":31`) {
			t.Errorf("result = %v", j.Result)
		}
		want := []string{
			"copied_answers copyA", "copied_answers copyB",
			"duplicate_household near /location", "duplicate_household phone /responses/home/phone",
			"duplicate_household r5 /location", "duplicate_household r7 /responses/home/phone",
			"outlier odd /responses/home/cost",
		}
		var got []string
		for _, f := range v.flags(t, "") {
			if !strings.HasPrefix(f, "enumerator_effect") {
				got = append(got, f)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("flags = %v\nwant    %v", got, want)
		}
		if got := v.flags(t, "&rule=enumerator_effect"); len(got) != 24 {
			t.Errorf("effects = %v, want all of eve", got)
		}
		if got := v.flags(t, "&collector=did:key:ben"); !slices.Equal(got, []string{"duplicate_household near /location", "duplicate_household r5 /location"}) {
			t.Errorf("flags of ben = %v", got)
		}
		v.checkReport(t)
		v.again(t, want)
	})
}

func (v *env) checkReport(t *testing.T) {
	t.Helper()
	r := v.report(t)
	if !r.Live || r.Run == nil || !r.Run.Fresh || r.Responses != 110 || r.Flagged != 31 || r.Flags["duplicate_household"] != 4 || r.FlaggedShare != 0.282 {
		t.Errorf("report = %+v run %+v", r.QualityTally, r.Run)
	}
	if len(r.Effects) == 0 || r.Effects[0].Collector != "did:key:eve" || r.Effects[0].Interviews != 24 || r.Effects[0].Limit < 3 || r.Effects[0].Collectors != 5 || r.Comparisons == 0 {
		t.Errorf("effects = %+v", r.Effects)
	}
	for _, e := range r.Effects {
		if e.Collector != "did:key:eve" {
			t.Errorf("%+v stands out", e)
		}
	}
	if len(r.Collectors) != 5 || r.Collectors[0].Collector != "did:key:ann" || r.Collectors[0].Interviews != 25 || r.Collectors[0].Duration.MedianSeconds < 600 {
		t.Errorf("collectors = %+v", r.Collectors)
	}
	if r.Template.TemplateID != "field" || r.Template.ReviewOverdue || r.Template.ReviewDue.IsZero() {
		t.Errorf("template = %+v", r.Template)
	}
	if p, err := v.Surveys.Progress(surveytest.As(t.Context(), "ws", "owner"), "s", 0); err != nil || p.Flagged != 31 {
		t.Errorf("progress = %+v %v", p, err)
	}
}

// again mends what was odd, and switches a check off: its flags go.
func (v *env) again(t *testing.T, before []string) {
	t.Helper()
	w := v.Send(t, "ws ann", "PATCH /v1/responses/odd", `{"responses":{"home":{"cost":12}}}`, "Content-Type", "application/merge-patch+json", "If-Match", `"1"`)
	if w.Code != 200 {
		t.Fatalf("correct = %d %s", w.Code, w.Body)
	}
	v.Must(t, "ws owner", "PUT /v1/surveys/s/quality/rules", `{"off":["enumerator_effect","duplicate_household"]}`, nil)
	v.run(t)
	if got := v.flags(t, ""); !slices.Equal(got, before[:2]) {
		t.Errorf("flags = %v, want %v", got, before[:2])
	}
	r := v.report(t)
	if r.Flagged != 2 || len(r.Effects) != 0 {
		t.Errorf("report = %+v", r.QualityFindings)
	}
	if p, err := v.Surveys.Progress(surveytest.As(t.Context(), "ws", "owner"), "s", 0); err != nil || p.Flagged != 2 {
		t.Errorf("progress = %+v %v", p, err)
	}
	var one struct {
		Flags    []flag.Flag `json:"flags"`
		Revision int64       `json:"revision"`
	}
	v.Must(t, "ws reader", "GET /v1/responses/copyA", "", &one)
	if len(one.Flags) != 1 || one.Flags[0].Rule != "copied_answers" || one.Flags[0].Value != 0.923 && one.Flags[0].Value != 1 || one.Revision != 1 {
		t.Errorf("copyA = %+v", one)
	}
}

// Flags and decisions at once: nobody waits for ever, and both are counted.
func TestRunAmongDecisions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		decisions := verify.New(verify.Config{DB: d, Surveys: v.Surveys, Responses: v.Responses, Events: v.Log, Cursors: eventtest.Cursors()})
		v.Start(t, "ws", "s", 1)
		var ids []string
		var named []verify.Named
		for i := range 60 { // all in one place
			ids = append(ids, fmt.Sprintf("r%d", i))
			v.Submit(t, "ws", "s", surveytest.Interview{ID: ids[i], Household: i, Lat: 1, Lon: 1, Answers: surveytest.Home(nil)})
		}
		for _, id := range slices.Backward(ids) {
			named = append(named, verify.Named{ResponseID: id, Revision: new(int64(1))})
		}
		v.work(t)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				b := verify.Bulk{Draft: verify.Draft{Status: []string{"verified", "in_review", "flagged"}[i]}, Responses: named}
				if _, err := decisions.Bulk(surveytest.As(t.Context(), "ws", fmt.Sprintf("v%d", i)), "s", b); err != nil {
					t.Error(err)
				}
			})
		}
		v.run(t)
		wg.Wait()
		if _, err := decisions.Bulk(surveytest.As(t.Context(), "ws", "vera"), "s", verify.Bulk{Draft: verify.Draft{Status: "verified"}, Responses: named}); err != nil {
			t.Fatal(err)
		}
		p, err := v.Surveys.Progress(surveytest.As(t.Context(), "ws", "owner"), "s", 0)
		if err != nil || p.Verified != 60 || p.Flagged != 60 || p.Completed != 60 {
			t.Errorf("progress = %+v %v", p, err)
		}
		if got := v.flags(t, ""); len(got) != 60 {
			t.Errorf("%d flags, want 60", len(got))
		}
	})
}

// A run that is to be done is not asked for twice, and the schedule asks for
// surveys with new responses only.
func TestSweep(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := surveytest.As(t.Context(), "ws", "owner")
		v.Start(t, "ws", "s", 1)
		v.Start(t, "ws", "empty", 1)
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "r1", Household: 1, Answers: surveytest.Home(nil)})
		first, err := v.s.Run(ctx, "s", 0)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := v.s.Run(ctx, "s", 0); err != nil || second.Value.ID != first.Value.ID {
			t.Errorf("again = %+v %v, want %s", second.Value, err, first.Value.ID)
		}
		v.work(t)
		v.await(t, first.Value.ID)
		runs := func() int {
			list, _, err := v.jobs.List(ctx, job.Filter{Kind: quality.RunKind}, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		sweep := func() {
			var id string
			err := d.InTx(ctx, func(tx *db.Tx) (err error) {
				id, err = v.jobs.Enqueue(ctx, tx, job.Draft{Kind: quality.SweepKind})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			v.await(t, id)
		}
		sweep()
		if n := runs(); n != 1 {
			t.Errorf("%d runs after a sweep without new responses, want 1", n)
		}
		v.Submit(t, "ws", "s", surveytest.Interview{ID: "r2", Household: 2, Answers: surveytest.Home(nil)})
		sweep()
		sweep()
		if n := runs(); n != 2 {
			t.Errorf("%d runs after a new response, want 2", n)
		}
		if every := v.s.Every(); len(every) != 1 || v.s.Handlers()[every[0].Kind] == nil {
			t.Errorf("every = %+v", every)
		}
	})
}

// Rules reach the checks of new responses at once.
func TestRules(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.Start(t, "ws", "s", 1)
		send := func(id string, household int) {
			v.Submit(t, "ws", "s", surveytest.Interview{ID: id, Household: household, Seconds: 90, Answers: surveytest.Home(nil)})
		}
		send("r1", 1)
		v.Must(t, "ws owner", "PUT /v1/surveys/s/quality/rules", `{"minSeconds":120}`, nil)
		send("r2", 2)
		w := v.Send(t, "ws owner", "PUT /v1/surveys/s/quality/rules", `{"off":["duration_short"]}`)
		if w.Code != 428 {
			t.Errorf("without If-Match = %d %s", w.Code, w.Body)
		}
		if w := v.Send(t, "ws owner", "PUT /v1/surveys/s/quality/rules", `{"minSeconds":120,"off":["duration_short"]}`, "If-Match", `"1"`); w.Code != 200 {
			t.Errorf("with If-Match = %d %s", w.Code, w.Body)
		}
		send("r3", 3)
		if got := v.flags(t, ""); !slices.Equal(got, []string{"duration_short r2"}) {
			t.Errorf("flags = %v", got)
		}
		// Another instance has changed them.
		o, err := v.Surveys.Open(surveytest.As(t.Context(), "ws", "owner"), "s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `UPDATE quality_rules SET data = '{"minSeconds":7}'`); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			forget func()
			want   float64
		}{{func() {}, 120}, {func() { v.book.Forget("other") }, 120}, {func() { v.book.Forget("ws") }, 7}, {v.book.Flush, 7}} {
			tt.forget()
			if r, err := v.book.RulesOf(t.Context(), o); err != nil || r.MinSeconds != tt.want {
				t.Errorf("rules = %+v %v, want %v", r, err, tt.want)
			}
		}
	})
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "quality.json", d, v.Log, v)
	})
}

// The reference can be made.
func TestDocument(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	text, err := web.DocumentJSON(web.Document("x", "1", v.API))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"/v1/surveys/{surveyId}/back-checks:draw", "outlierZ", "minSeconds", "flaggedShare", "BACK_CHECK_DONE"} {
		if !strings.Contains(string(text), word) {
			t.Errorf("the reference does not have %s", word)
		}
	}
}

func codeOf(err error) string { return fault.CodeOf(err) }
