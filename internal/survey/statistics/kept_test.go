package statistics_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// work does jobs until the test ends.
func (v *env) work(t *testing.T) {
	t.Helper()
	r, err := v.jobs.NewRunner(job.RunnerConfig{Handlers: v.figures.Handlers()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
}

// later asks for figures that a job makes, and waits for it.
func (v *env) later(t *testing.T, role, id, query string) job.Job {
	t.Helper()
	w := v.Send(t, "ws "+role, "GET /v1/surveys/"+id+"/statistics?"+query, "")
	var j job.Job
	if err := json.Unmarshal(w.Body.Bytes(), &j); err != nil || w.Code != 202 || w.Header().Get("Location") != "/v1/jobs/"+j.ID {
		t.Fatalf("%s as %s = %d %s %v", query, role, w.Code, w.Body, err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !j.Status.Final() {
		<-tick.C
		v.Must(t, "ws "+role, "GET /v1/jobs/"+j.ID, "", &j)
	}
	return j
}

// change is a request for the record as it is.
func (v *env) change(t *testing.T, request, body string) {
	t.Helper()
	if w := v.Send(t, "ws owner", request, body, "If-Match", "*"); w.Code >= 300 {
		t.Fatalf("%s = %d %s", request, w.Code, w.Body)
	}
}

// count is how many figures are kept.
func (v *env) count(t *testing.T) (n int) {
	t.Helper()
	if err := v.DB.QueryRow(t.Context(), `SELECT count(*) FROM survey_figures`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLargeSurveyInJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, "s", drawnTwo, twenty())
		v.ask(t, "s", 1, twenty())
		asked := query("question=home/fuel", "by=group", "compare=adopter,comparison")
		want := v.get(t, "owner", "s", asked)
		v.change(t, "PATCH /v1/surveys/s", `{"name":"other"}`) // another revision: nothing is kept for it
		v.figures.SetMost(10)
		v.work(t)
		j := v.later(t, "owner", "s", asked)
		if j.Status != job.Succeeded || j.Progress.Done != j.Progress.Total || !strings.HasPrefix(j.Links.About, "/v1/surveys/s/statistics?job=") {
			t.Fatalf("job %+v", j)
		}
		var got api.SurveyStatistics
		v.Must(t, "ws owner", "GET "+j.Links.About, "", &got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the job gives %+v, the request %+v", got, want)
		}
		if again := v.get(t, "owner", "s", asked); !reflect.DeepEqual(again, want) {
			t.Errorf("asked again %+v", again)
		}
		// Another caller sees less: a job and figures of its own.
		if w := v.Send(t, "ws auditor", "GET "+j.Links.About, ""); w.Code != 404 || !strings.Contains(w.Body.String(), "STATISTICS_NOT_FOUND") {
			t.Errorf("an auditor reads the figures of an owner: %d %s", w.Code, w.Body)
		}
		less := v.later(t, "auditor", "s", asked)
		v.Must(t, "ws auditor", "GET "+less.Links.About, "", &got)
		if less.ID == j.ID || !of(t, got, "comparison").Suppressed {
			t.Errorf("an auditor sees %+v", got)
		}
		for who, want := range map[string]int{"ws stranger": 403, "ws reader": 403, "other owner": 404} {
			if w := v.Send(t, who, "GET /v1/jobs/"+j.ID, ""); w.Code != want && w.Code != 404 {
				t.Errorf("%s reads the job: %d %s", who, w.Code, w.Body)
			}
			if w := v.Send(t, who, "GET "+j.Links.About, ""); w.Code < 400 {
				t.Errorf("%s reads the figures: %d", who, w.Code)
			}
		}
		// What cannot be computed is said by the job.
		j = v.later(t, "owner", "s", "question=home/fuel&verified=true")
		if j.Status != job.Failed || len(j.Errors) != 1 || j.Errors[0].Code != "SAMPLE_EMPTY" {
			t.Errorf("nothing is verified: %+v", j)
		}
	})
}

func TestKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		homes := twenty()
		v.start(t, "s", drawnTwo, homes)
		v.ask(t, "s", 1, homes)
		asked := "question=home/fuel&by=stratum"
		first := v.get(t, "owner", "s", asked)
		if again := v.get(t, "owner", "s", asked); v.count(t) != 1 || !reflect.DeepEqual(again, first) {
			t.Errorf("%d figures are kept, %+v and %+v", v.count(t), first, again)
		}
		v.get(t, "auditor", "s", asked)
		v.get(t, "owner", "s", asked+"&confidence=0.8")
		if n := v.count(t); n != 3 {
			t.Errorf("%d figures are kept, of another caller and at another confidence", n)
		}
		// Whatever changes makes them anew.
		last := number(of(t, first, "").Estimate)
		anew := func(what string) {
			t.Helper()
			n := v.count(t)
			got := number(of(t, v.get(t, "owner", "s", asked), "").Estimate)
			if got == last || v.count(t) != n+1 {
				t.Errorf("%s: %v as before, %d figures were kept and are %d", what, got, n, v.count(t))
			}
			last = got
		}
		v.change(t, "PATCH /v1/responses/s-1-0", `{"responses":{"home":{"fuel":77}}}`)
		anew("a correction")
		if _, err := d.Exec(t.Context(), `UPDATE responses SET vstatus = 'rejected' WHERE response_id = 's-1-2'`); err != nil {
			t.Fatal(err)
		}
		anew("a decision")
		v.ask(t, "s", 2, []home{{ID: homes[6].ID, answers: map[string]any{"fuel": 55.0}}})
		anew("a response")
		v.Must(t, "ws owner", "POST /v1/surveys/s/households/did:ixo:household%2F13/outcome", `{"outcome":"ineligible"}`, nil)
		anew("an outcome")
		v.change(t, "DELETE /v1/responses/s-1-4?reason=asked", "")
		if n := v.count(t); n != 0 {
			t.Errorf("%d figures are left after a response was taken out", n)
		}
		anew("a redaction")
		if surveytest.Erase(t, d, "ws", "did:ixo:household/8", v.Surveys.Erase, v.Responses.Erase) == 0 || v.count(t) != 0 {
			t.Errorf("%d figures are left after an erasure", v.count(t))
		}
		anew("an erasure")
	})
}

func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t, "s", drawnTwo, twenty())
	v.ask(t, "s", 1, twenty())
	for i := range 130 {
		v.get(t, "owner", "s", query("question=home/fuel", fmt.Sprintf("confidence=0.%d", 600+i)))
	}
	if n := v.count(t); n != 100 {
		t.Errorf("%d figures are kept", n)
	}
	v.Must(t, "ws owner", "POST /v1/surveys/s/close", `{"reason":"done"}`, nil)
	if _, err := v.DB.Exec(t.Context(), `DELETE FROM surveys`); err != nil || v.count(t) != 0 {
		t.Errorf("%d figures outlive their survey %v", v.count(t), err)
	}
}

// Figures that were made while one of their responses was taken out are not kept:
// nothing would take them away any more.
func TestTakenOutMeanwhile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, "s", drawnTwo, twenty())
		v.ask(t, "s", 1, twenty())
		ctx := surveytest.As(t.Context(), "ws", "owner")
		for want, happens := range []func(){
			func() { v.change(t, "DELETE /v1/responses/s-1-4?reason=asked", "") },
			func() {},
		} {
			if err := v.figures.KeepAfter(ctx, "s", statistics.Query{Question: "home/fuel"}, happens); err != nil {
				t.Fatal(err)
			}
			if n := v.count(t); n != want {
				t.Errorf("%d figures are kept, want %d", n, want)
			}
		}
	})
}
