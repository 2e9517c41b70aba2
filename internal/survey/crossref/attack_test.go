package crossref_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/crossref"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

func TestWhoMayCross(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for i := range 4 {
			v.says(t, i, map[string]any{"uses": true})
			v.saw(i, 7, crossref.Day{})
		}
		v.work(t)
		r := v.cross(t, `{"question":"home/uses"}`)
		for _, tt := range []struct {
			who, request, body string
			status             int
		}{
			{"ws reader", "POST /v1/surveys/s/cross-reference", `{"question":"home/uses"}`, 403},
			{"ws auditor", "POST /v1/surveys/s/cross-reference", `{"question":"home/uses"}`, 403},
			{"ws stranger", "POST /v1/surveys/s/cross-reference", `{"question":"home/uses"}`, 404},
			{"other owner", "POST /v1/surveys/s/cross-reference", `{"question":"home/uses"}`, 404},
			{"ws reader", "GET /v1/surveys/s/cross-reference", "", 403},
			{"ws stranger", "GET /v1/surveys/s/cross-reference", "", 404},
			{"other owner", "GET " + r.Links.Self, "", 404},
			{"ws stranger", "GET " + r.Links.Pairs, "", 404},
			{"ws project", "GET " + r.Links.Pairs, "", 200},
			{"ws owner", "GET /v1/surveys/s/cross-reference/xrf_1", "", 404},
			{"ws owner", "GET /v1/surveys/s/cross-reference/xrf_+1", "", 404},
			{"ws owner", "GET /v1/surveys/s/cross-reference/x", "", 404},
		} {
			if w := v.Send(t, tt.who, tt.request, tt.body); w.Code != tt.status {
				t.Errorf("%s as %s = %d, want %d: %s", tt.request, tt.who, w.Code, tt.status, w.Body)
			}
		}
		// Four households are too few for whoever may not read what one of them says.
		var seen api.CrossReference
		v.Must(t, "ws auditor", "GET "+r.Links.Self, "", &seen)
		if !seen.Suppressed || seen.Agreement.Agreement != nil || seen.Agreement.Both != nil || seen.Adjusted != nil || seen.Mismatches != 0 || seen.Agreement.NoKappa == "" {
			t.Errorf("the auditor sees %+v", seen)
		}
		if svg := v.drawn(t, "ws auditor", r, ""); strings.Contains(svg, "100.0 %") || !strings.Contains(svg, "not shown: too few") {
			t.Errorf("the auditor's picture: %s", svg)
		}
		if svg := v.drawn(t, "ws owner", r, ""); !strings.Contains(svg, "100.0 %") {
			t.Errorf("the owner's picture: %s", svg)
		}
		if r.Suppressed || r.Agreement.Agreement == nil {
			t.Errorf("the owner sees %+v", r)
		}
	})
}

func TestWrongDrafts(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for draft, want := range map[string]string{
			`{}`:                                         "/question required",
			`{"question":"home/none"}`:                   "/question unknown",
			`{"question":"home/name"}`:                   "/question invalid",
			`{"question":"home/said"}`:                   "/question invalid",
			`{"question":"home/people/age"}`:             "/question invalid",
			`{"question":"home/often"}`:                  "/use required",
			`{"question":"home/often","use":["x"]}`:      "/use/0 unknown",
			`{"question":"home/uses","use":["true"]}`:    "/use not_allowed",
			`{"question":"home/uses","measure":"hours"}`: "/measure invalid",
			`{"question":"home/uses","measure":"x"}`:     "/measure",
			`{"question":"home/uses","days":93}`:         "/days out_of_range",
			`{"question":"home/uses","days":-1}`:         "/days out_of_range",
			`{"question":"home/uses","minDays":8}`:       "/minDays out_of_range",
			`{"question":"home/uses","minEvents":-1}`:    "/minEvents out_of_range",
			`{"question":"home/hours","tolerance":-0.1}`: "/tolerance out_of_range",
			`{"question":"home/uses","sumPeriod":{"start":"2026-02-01","end":"2026-01-01"}}`:          "/sumPeriod/end out_of_range",
			`{"question":"home/uses","sumPeriod":{"start":"x","end":"2026-01-01"}}`:                   "/sumPeriod/start invalid",
			`{"question":"home/uses","days":3,"sumPeriod":{"start":"2026-01-01","end":"2026-01-07"}}`: "/days not_allowed",
			`{"question":"home/uses","fuel":"wood"}`:                                                  "/fuel not_allowed",
		} {
			w := v.Send(t, "ws owner", "POST /v1/surveys/s/cross-reference", draft)
			var p struct {
				Errors []struct {
					Pointer string `json:"pointer"`
					Code    string `json:"code"`
				} `json:"errors"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, e := range p.Errors {
				got += e.Pointer + " " + e.Code + ";"
			}
			if w.Code != 400 || !strings.Contains(got, want) {
				t.Errorf("%s = %d %s, want %s", draft, w.Code, w.Body, want)
			}
		}
		if w := v.Send(t, "ws owner", "POST /v1/surveys/s/cross-reference", `{"question":"home/uses","round":2}`); w.Code != 404 {
			t.Errorf("round 2 = %d %s", w.Code, w.Body)
		}
	})
}

// One that is asked for twice is made once, and one that is cut off is made whole.
func TestAskedTwiceAndCutOff(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for i := range 60 {
			v.says(t, i, map[string]any{"uses": true})
			v.saw(i, 7, crossref.Day{})
		}
		var a, b job.Job
		v.Must(t, "ws owner", "POST /v1/surveys/s/cross-reference", `{"question":"home/uses"}`, &a)
		v.Must(t, "ws supervisor", "POST /v1/surveys/s/cross-reference", `{"question":"home/uses"}`, &b)
		if a.ID != b.ID {
			t.Errorf("%s and %s are at work", a.ID, b.ID)
		}
		var once sync.Once
		handlers := v.s.Handlers()
		whole := handlers[crossref.Kind]
		handlers[crossref.Kind] = func(ctx context.Context, r *job.Run) error {
			// The first attempt is cut off while it reads.
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			once.Do(func() { v.read = cancel })
			err := whole(ctx, r)
			v.read = nil
			return err
		}
		runner, err := v.jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Workers: 1, Backoff: func(int) time.Duration { return 0 }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			runner.Run(ctx)
		}()
		j := v.await(t, a.ID)
		stop()
		<-done
		if j.Status != job.Succeeded || j.Attempts < 2 {
			t.Fatalf("job = %+v", j)
		}
		if got := strings.Count(v.flagged(t, 60), "home/uses"); got != 60 {
			t.Errorf("%d responses are flagged, want 60", got)
		}
		var page struct {
			Items []api.CrossReference `json:"items"`
		}
		v.Must(t, "ws owner", "GET /v1/surveys/s/cross-reference", "", &page)
		if len(page.Items) != 1 {
			t.Errorf("%d results", len(page.Items))
		}
	})
}

// What is taken out of a response is gone from the pairs.
func TestPairsGoWithTheirAnswers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for i := range 6 {
			v.says(t, i, map[string]any{"uses": true})
			v.saw(i, 7, crossref.Day{Events: 1})
		}
		v.work(t)
		r := v.cross(t, `{"question":"home/uses"}`)
		if n := len(v.pairs(t, "owner", r)); n != 6 {
			t.Fatalf("%d pairs", n)
		}
		if w := v.Send(t, "ws owner", "DELETE /v1/responses/r0?reason=asked", "", "If-Match", "*"); w.Code >= 300 {
			t.Fatalf("DELETE = %d %s", w.Code, w.Body)
		}
		surveytest.Erase(t, d, "ws", house(1), v.Responses.Erase)
		left := v.pairs(t, "owner", r)
		if len(left) != 4 || left[0].HouseholdID != house(2) {
			t.Errorf("pairs = %+v", left)
		}
		if again := v.cross(t, `{"question":"home/uses"}`); again.Households.Answered != 4 {
			t.Errorf("households = %+v", again.Households)
		}
	})
}
