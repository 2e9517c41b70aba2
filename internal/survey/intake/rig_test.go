package intake_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
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
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// callerOf makes a caller of a workspace: "clerk" may import what it collected
// itself, "manager" also what others did, "judge" may send responses with
// decisions of others, "auditor" reads reports and no personal answers, "reader"
// may not import.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws, Scopes: []string{"*"}}
	clerk := []string{"imports:read", "imports:write", "responses:write", "responses:read", "surveys:read", "jobs:read"}
	switch role {
	case "clerk":
		c.Scopes = clerk
	case "manager":
		c.Scopes = append(clerk, "surveys:write")
	case "judge":
		c.Scopes = append(clerk, "surveys:write", "responses:verify")
	case "auditor":
		c.Scopes = []string{"imports:read", "responses:read", "surveys:read", "jobs:read"}
	case "reader":
		c.Scopes = []string{"imports:read", "imports:write", "surveys:read"}
	}
	return c
}

// rig is one instance with all that imports need.
type rig struct {
	in   *intake.Service
	out  *export.Service
	db   *db.DB
	jobs *job.Service
	h    surveytest.Server
	done chan struct{}
}

func newRig(t testing.TB, d *db.DB) *rig {
	t.Helper()
	key := surveytest.Key(t)
	cursors := eventtest.Cursors()
	r := &rig{db: d, done: make(chan struct{}, 1000)}
	vault := vault.New(vault.Config{Key: key})
	log := event.New(event.Config{DB: d, Cursors: cursors})
	once := once.New(once.Config{DB: d, Key: key})
	r.jobs = job.New(job.Config{DB: d, Cursors: cursors, Record: func(_ context.Context, tx *db.Tx, _, _ string, _ int64) error {
		tx.AfterCommit(func() { r.done <- struct{}{} })
		return nil
	}})
	templates := template.New(template.Config{DB: d, Events: log, Cursors: cursors})
	surveys := survey.New(survey.Config{DB: d, Templates: templates, Events: log, Idem: once, Cursors: cursors})
	files := media.New(media.Config{DB: d, Key: key})
	rs := response.New(response.Config{
		DB: d, Surveys: surveys, Vault: vault, Media: files, Events: log, Idem: once, Cursors: cursors, Key: key, Self: "did:key:server",
	})
	orders := exchange.New(exchange.Config{DB: d, Jobs: r.jobs})
	r.out = export.New(export.Config{DB: d, Surveys: surveys, Responses: rs, Media: files, Vault: vault, Exchange: orders, Idem: once})
	r.in = intake.New(intake.Config{DB: d, Exchange: orders, Surveys: surveys, Responses: rs, Media: files, Idem: once, Cursors: cursors, Layout: func(o *survey.Open) intake.Layout {
		return export.NewLayout(export.LayoutConfig{Survey: o.SurveyID, Form: o.Form, Level: export.Full, Shape: export.Wide})
	}})
	r.h = surveytest.Gate(callerOf).Serve(t, templates.Routes, surveys.Routes, rs.Routes, r.jobs.Routes, r.out.Routes, r.in.Routes)
	return r
}

// both runs a test on both databases.
func both(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { fn(t, newRig(t, d)) })
}

// rule runs a test of what is the same on any database.
func rule(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) { fn(t, newRig(t, d)) })
}

// survey makes an active survey "s" of a template in a workspace.
func (r *rig) survey(t testing.TB, ws, text string) {
	t.Helper()
	var id struct {
		ID string `json:"templateId"`
	}
	if err := json.Unmarshal([]byte(text), &id); err != nil {
		t.Fatal(err)
	}
	for _, one := range [][2]string{
		{"POST /v1/templates", text},
		{"POST /v1/templates/" + id.ID + "/publish", `{}`},
		{"POST /v1/surveys", `{"surveyId":"s","type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"` + id.ID + `","sampling":{"method":"census"},"collectors":["did:key:owner","did:key:collector"]}`},
		{"POST /v1/surveys/s/activate", `{"reason":"x"}`},
	} {
		r.do(t, ws+" owner "+one[0], one[1], 0, nil)
	}
}

// start runs the jobs until the test ends. wrap may change the handlers.
func (r *rig) start(t testing.TB, wrap ...func(job.Handler) job.Handler) {
	t.Helper()
	handlers := r.in.Handlers()
	for kind, h := range handlers {
		for _, w := range wrap {
			h = w(h)
		}
		handlers[kind] = h
	}
	for kind, h := range r.out.Handlers() {
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

// do sends a request, "ws owner GET /v1/…", that must be answered with a status,
// any good one for 0.
func (r *rig) do(t testing.TB, request, body string, status int, v any) *httptest.ResponseRecorder {
	t.Helper()
	ws, rest, _ := strings.Cut(request, " ")
	role, rest, _ := strings.Cut(rest, " ")
	w := r.h.Send(t, ws+" "+role, rest, body)
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

// wait waits for the end of a job.
func (r *rig) wait(t testing.TB, ws, id string) job.Job {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		var j job.Job
		r.do(t, ws+" owner GET /v1/jobs/"+id, "", 200, &j)
		if j.Status.Final() {
			return j
		}
		select {
		case <-r.done:
		case <-time.After(50 * time.Millisecond): // another test's rig has no channel of ours
		case <-ctx.Done():
			t.Fatalf("job %s does not end: %+v", id, j)
		}
	}
}

// export makes an export of the survey and gives its file.
func (r *rig) export(t testing.TB, ws, draft string) []byte {
	t.Helper()
	var j job.Job
	r.do(t, ws+" owner POST /v1/surveys/s/exports", draft, 202, &j)
	if done := r.wait(t, ws, j.ID); done.Status != job.Succeeded {
		t.Fatalf("export %s = %+v", draft, done)
	}
	return r.do(t, ws+" owner GET /v1/surveys/s/exports/"+j.ID+"/file", "", 200, nil).Body.Bytes()
}

// load imports a file as a role, "ws owner", and gives the import with its rows.
func (r *rig) load(t testing.TB, who, query string, file []byte) (intake.Import, []api.ResponseImportRow) {
	t.Helper()
	ws, _, _ := strings.Cut(who, " ")
	var j job.Job
	r.do(t, who+" POST /v1/surveys/s/imports?"+query, string(file), 202, &j)
	r.wait(t, ws, j.ID)
	var in intake.Import
	r.do(t, who+" GET /v1/surveys/s/imports/"+j.ID, "", 200, &in)
	var page web.Page[api.ResponseImportRow]
	r.do(t, who+" GET /v1/surveys/s/imports/"+j.ID+"/rows?limit=1000", "", 200, &page)
	return in, page.Items
}

// problems are the rows that were refused and the warnings, in one text each.
func problems(rows []api.ResponseImportRow) (out []string) {
	for _, r := range rows {
		if r.Error != nil {
			text := fmt.Sprint(r.Line, " ", r.Error.Code)
			for _, e := range r.Error.Errors {
				text += " " + e.Pointer + ":" + e.Code
			}
			out = append(out, text)
		}
		for _, w := range r.Warnings {
			out = append(out, fmt.Sprint(r.Line, " warning ", w.Pointer, ":", w.Code))
		}
	}
	return out
}
