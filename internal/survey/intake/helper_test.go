package intake_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	homeTemplate = `{"templateId":"home","sections":[
		{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},
		{"id":"home","questions":[
			{"id":"size","type":"integer","required":true,"validation":{"min":1,"max":30}},
			{"id":"fuel","type":"multiple_choice","options":["wood","charcoal","gas"]},
			{"id":"phone","type":"text","pii":"direct"},
			{"id":"near","type":"household_ref"},
			{"id":"photo","type":"photo"},
			{"id":"cost","type":"number"},
			{"id":"yearly","type":"calculate","calculate":"home.cost * 12.0"}]}]}`
	homeSurvey = `{"surveyId":"s","type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"home","sampling":{"method":"census"},
		"collectors":["did:key:ann","did:key:bob","did:key:owner"]}`
)

// collector makes a caller: ann and bob collect, mia manages and reads personal
// data, "lead" manages without, "reader" only reads, "project" is an owner in one
// project.
func collector(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws}
	switch role {
	case "ann", "bob":
		c.Scopes = []string{"surveys:read", "responses:read", "responses:write"}
	case "mia":
		c.Scopes = []string{"surveys:*", "responses:read", "responses:write", "responses:pii"}
	case "lead":
		c.Scopes = []string{"surveys:*", "responses:read", "responses:write"}
	case "reader":
		c.Scopes = []string{"surveys:read", "responses:read"}
	case "project":
		c.Scopes, c.Projects = []string{"*"}, []string{"did:ixo:project/one"}
	default:
		c.Scopes = []string{"*"}
	}
	return c
}

func as(t testing.TB, role string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), collector("ws", role))
}

type env struct {
	d         *db.DB
	l         *event.Log
	surveys   *survey.Service
	vault     *vault.Vault
	responses *response.Service
	s         *intake.Batches
	h         surveytest.Server
	checked   func() // called when a response is checked and not stored yet
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	key := surveytest.Key(t)
	v := &env{d: d, l: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()}), vault: vault.New(vault.Config{Key: key})}
	once := once.New(once.Config{DB: d, Key: key})
	tpl := template.New(template.Config{DB: d, Events: v.l, Cursors: eventtest.Cursors()})
	v.surveys = survey.New(survey.Config{DB: d, Templates: tpl, Events: v.l, Idem: once, Cursors: eventtest.Cursors()})
	v.responses = response.New(response.Config{
		DB: d, Surveys: v.surveys, Vault: v.vault, Events: v.l, Idem: once, Cursors: eventtest.Cursors(), Key: key,
		Stored: func(ctx context.Context, tx *db.Tx, p *response.Prepared, held bool) error {
			if !held {
				return nil
			}
			return v.s.Settle(ctx, tx, p)
		},
		Settings: func(context.Context, *survey.Open) (flag.Settings, error) {
			if v.checked != nil {
				v.checked()
			}
			return flag.Settings{}, nil
		},
	})
	v.s = intake.NewBatches(intake.BatchesConfig{DB: d, Surveys: v.surveys, Responses: v.responses, Vault: v.vault, Events: v.l, Idem: once, Cursors: eventtest.Cursors()})
	v.h = surveytest.Gate(collector).Serve(t, v.s.Routes, v.responses.Routes, v.surveys.Routes, tpl.Routes, surveytest.Erasures(d, v.surveys.Erase, v.responses.Erase))
	return v
}

// start makes the active survey "s" in workspace "ws".
func (v *env) start(t testing.TB) {
	t.Helper()
	for _, one := range [][2]string{
		{"POST /v1/templates", homeTemplate}, {"POST /v1/templates/home/publish", `{}`}, {"POST /v1/surveys", homeSurvey}, {"POST /v1/surveys/s/activate", `{}`},
	} {
		if w := v.send(t, "owner", one[0], one[1]); w.Code >= 300 {
			t.Fatalf("%s = %d %s", one[0], w.Code, w.Body)
		}
	}
}

func (v *env) send(t testing.TB, role, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return v.h.Send(t, "ws "+role, request, body, headers...)
}

// item is a response to the survey "s"; home are its answers.
func item(id, household, home string, more ...string) intake.BatchItem {
	var it intake.BatchItem
	it.Value.Value = jsontext.Value(`{"responseId":"` + id + `","surveyId":"s","householdId":"did:ixo:household/` + household + `","timestamp":"2026-02-20T10:00:00Z",` +
		strings.Join(append(more, ""), ",") + `"responses":{"consent":{"ok":true},"home":{` + home + `}}}`)
	return it
}

// take sends a batch and gives "status" of each, with the code when it has one.
func (v *env) take(t testing.TB, role string, items ...intake.BatchItem) *intake.Results {
	t.Helper()
	out, err := v.s.Take(as(t, role), intake.Batch{Items: items})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func words(r *intake.Results) string {
	var out []string
	for _, one := range r.Results {
		out = append(out, strings.TrimSpace(one.Status+" "+one.Code))
	}
	return strings.Join(out, ", ")
}

func (v *env) record(t testing.TB, id string) *response.Record {
	t.Helper()
	r, err := v.responses.Get(as(t, "mia"), id)
	if err != nil {
		t.Fatal(err)
	}
	var out response.Record
	if err := json.Unmarshal(r.Raw, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func (v *env) tally(t testing.TB) survey.Tally {
	t.Helper()
	p, err := v.surveys.Progress(as(t, "owner"), "s", 0)
	if err != nil {
		t.Fatal(err)
	}
	return p.SurveyTally
}

func (v *env) count(t testing.TB, table string) int {
	t.Helper()
	var n int
	if err := v.d.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// codes is the code of a fault and its fields.
func codes(err error) string {
	return strings.TrimSuffix(fault.CodeOf(err)+", "+surveytest.Codes(err), ", ")
}
