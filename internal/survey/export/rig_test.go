package export_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const homeTemplate = `{"templateId":"home","languages":["sw"],"sections":[
	{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},
	{"id":"home","questions":[
		{"id":"size","type":"integer","label":{"en":"Size","sw":"Ukubwa"}},
		{"id":"fuel","type":"multiple_choice","options":["wood","charcoal"],"other":true},
		{"id":"phone","type":"text","pii":"direct"},
		{"id":"words","type":"text"},
		{"id":"where","type":"geo"},
		{"id":"people","type":"repeat","questions":[{"id":"name","type":"text","pii":"direct"},{"id":"age","type":"integer"}]}]}]}`

const homeSurvey = `{"surveyId":"s","type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"home","sampling":{"method":"census"},"window":{"start":"2024-01-01T00:00:00Z"},"collectors":["did:key:owner"]}`

// callerOf makes a caller of a workspace: "auditor" exports and reads no
// personal data, "mia" reads it, "exporter" may export but read no responses,
// "elsewhere" is an owner of another project.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws, Scopes: []string{"*"}}
	switch role {
	case "auditor":
		c.Scopes = []string{"exports:read", "exports:write", "responses:read", "surveys:read", "jobs:read"}
	case "mia":
		c.Scopes = []string{"exports:*", "responses:read", "responses:pii", "surveys:read"}
	case "exporter":
		c.Scopes = []string{"exports:*", "surveys:read"}
	case "reader":
		c.Scopes = []string{"responses:read", "surveys:read"}
	case "elsewhere":
		c.Projects = []string{"did:ixo:project/two"}
	}
	return c
}

type orders = exchange.Service

// rig is one instance with all that exports need.
type rig struct {
	*export.Service
	*orders
	db    *db.DB
	log   *event.Log
	jobs  *job.Service
	rs    *response.Service
	vault *vault.Vault
	h     surveytest.Server

	tick atomic.Value // func(): called when the export reads its clock
	done chan struct{}
	mu   sync.Mutex
	now  time.Duration // added to the clock
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.now)
}

func (r *rig) forward(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now += by
}

// exportClock is the clock of exports, which tests may watch.
func (r *rig) exportClock() time.Time {
	if f, ok := r.tick.Load().(func()); ok && f != nil {
		f()
	}
	return r.clock()
}

func newRig(t testing.TB, d *db.DB) *rig {
	t.Helper()
	key := surveytest.Key(t)
	cursors := eventtest.Cursors()
	r := &rig{db: d, done: make(chan struct{}, 1000), vault: vault.New(vault.Config{Key: key})}
	r.log = event.New(event.Config{DB: d, Cursors: cursors})
	once := once.New(once.Config{DB: d, Key: key})
	r.jobs = job.New(job.Config{DB: d, Cursors: cursors, Now: r.clock, Record: func(_ context.Context, tx *db.Tx, _, _ string, _ int64) error {
		tx.AfterCommit(func() { r.done <- struct{}{} })
		return nil
	}})
	templates := template.New(template.Config{DB: d, Events: r.log, Cursors: cursors, Now: r.clock})
	surveys := survey.New(survey.Config{DB: d, Templates: templates, Events: r.log, Idem: once, Cursors: cursors, Now: r.clock})
	files := media.New(media.Config{DB: d, Key: key})
	r.rs = response.New(response.Config{
		DB: d, Surveys: surveys, Vault: r.vault, Media: files, Events: r.log, Idem: once, Cursors: cursors, Key: key,
		Self: "did:key:server", Now: r.clock,
		Redacted: func(ctx context.Context, o *survey.Open) error { return r.ForgetSurvey(ctx, o) },
	})
	figures := statistics.New(statistics.Config{DB: d, Surveys: surveys, Responses: r.rs})
	r.orders = exchange.New(exchange.Config{DB: d, Jobs: r.jobs, Now: r.exportClock})
	r.Service = export.New(export.Config{
		DB: d, Surveys: surveys, Responses: r.rs, Media: files, Vault: r.vault, Exchange: r.orders, Idem: once, Cursors: cursors, Now: r.exportClock,
		Weigh: figures.Weigh,
	})
	r.h = surveytest.Gate(callerOf).Serve(t, templates.Routes, surveys.Routes, r.rs.Routes, r.jobs.Routes, r.Routes, figures.Routes)
	return r
}

// both runs a test on both databases, with a survey "s" that is active.
func both(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, surveyed(t, d)) })
}

// rule runs a test of what is the same on any database, with that survey.
func rule(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) { fn(t, surveyed(t, d)) })
}

func surveyed(t *testing.T, d *db.DB) *rig {
	r := newRig(t, d)
	r.survey(t)
	return r
}

func (r *rig) survey(t testing.TB) {
	t.Helper()
	for _, one := range [][2]string{
		{"POST /v1/templates", homeTemplate}, {"POST /v1/templates/home/publish", `{}`}, {"POST /v1/surveys", homeSurvey}, {"POST /v1/surveys/s/activate", `{"reason":"x"}`},
	} {
		r.do(t, "owner "+one[0], one[1], 0, nil)
	}
}

// start runs the jobs until the test ends. wrap may change the handler.
func (r *rig) start(t testing.TB, wrap ...func(job.Handler) job.Handler) {
	t.Helper()
	handlers := r.Handlers()
	for kind, h := range handlers {
		for _, w := range wrap {
			h = w(h)
		}
		handlers[kind] = h
	}
	runner, err := r.jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// send calls a route as a role of the workspace "ws".
func (r *rig) send(t testing.TB, role, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return r.h.Send(t, "ws "+role, request, body, headers...)
}

// do sends a request, "owner GET /v1/…", that must be answered with a status, any
// good one for 0.
func (r *rig) do(t testing.TB, request, body string, status int, v any) *httptest.ResponseRecorder {
	t.Helper()
	role, rest, _ := strings.Cut(request, " ")
	w := r.send(t, role, rest, body)
	if status == 0 && w.Code >= 300 || status > 0 && w.Code != status {
		t.Fatalf("%s = %d, want %d: %s", request, w.Code, status, w.Body)
	}
	if v != nil {
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			t.Fatalf("%s: %v in %s", request, err, w.Body)
		}
	}
	return w
}

// answer submits a response of a household: answers of the section home.
func (r *rig) answer(t testing.TB, id string, household int, home string) {
	t.Helper()
	r.do(t, "owner POST /v1/surveys/s/responses", fmt.Sprintf(`{"responseId":%q,"householdId":"did:ixo:household/%d","timestamp":"2026-02-20T10:00:00Z",
		"location":{"lat":-1.2345,"lon":36.789},"deviceId":"device-7","responses":{"consent":{"ok":true},"home":%s}}`, id, household, home), 201, nil)
}

// ask begins an export.
func (r *rig) ask(t testing.TB, role, draft string) string {
	t.Helper()
	var j job.Job
	w := r.do(t, role+" POST /v1/surveys/s/exports", draft, 202, &j)
	if w.Header().Get("Location") != "/v1/jobs/"+j.ID || j.Kind != "survey.export" {
		t.Errorf("job = %+v at %s", j, w.Header().Get("Location"))
	}
	return j.ID
}

// wait waits for the end of an export.
func (r *rig) wait(t testing.TB, id string) export.Export {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		var e export.Export
		r.do(t, "owner GET /v1/surveys/s/exports/"+id, "", 200, &e)
		if e.Status.Final() {
			return e
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			t.Fatalf("export %s does not end: %+v", id, e)
		}
	}
}

// export makes an export as a role and waits for it.
func (r *rig) export(t testing.TB, role, draft string) export.Export {
	t.Helper()
	e := r.wait(t, r.ask(t, role, draft))
	if e.Status != job.Succeeded {
		t.Fatalf("export %s = %+v", draft, e)
	}
	return e
}

// file downloads an export and checks what was said of it.
func (r *rig) file(t testing.TB, role string, e export.Export) []byte {
	t.Helper()
	w := r.do(t, role+" GET /v1/surveys/s/exports/"+e.ID+"/file", "", 200, nil)
	sum := sha256.Sum256(w.Body.Bytes())
	if int64(w.Body.Len()) != e.Counts.Bytes || hex.EncodeToString(sum[:]) != e.SHA256 || w.Header().Get("Content-Length") != fmt.Sprint(e.Counts.Bytes) {
		t.Errorf("%d bytes, want %d with the hash %s", w.Body.Len(), e.Counts.Bytes, e.SHA256)
	}
	return w.Body.Bytes()
}

// rows reads a CSV file as records.
func rows(t testing.TB, b []byte) []map[string]string {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	var out []map[string]string
	for _, r := range all[1:] {
		m := map[string]string{}
		for i, name := range all[0] {
			m[name] = r[i]
		}
		out = append(out, m)
	}
	return out
}

// table exports to CSV and reads it.
func (r *rig) table(t testing.TB, role, draft string) []map[string]string {
	t.Helper()
	return rows(t, r.file(t, role, r.export(t, role, draft)))
}

// column is a column of a table in one text.
func column(all []map[string]string, name string) string {
	var out []string
	for _, m := range all {
		v, ok := m[name]
		if !ok {
			v = "(none)"
		}
		out = append(out, v)
	}
	return strings.Join(out, " ")
}
