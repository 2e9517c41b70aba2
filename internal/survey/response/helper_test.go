package response_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The template of these tests: something of everything. It is content with few
// answers.
const homeTemplate = `{"templateId":"home","validations":{"completionThreshold":0.05},"sections":[
	{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},
	{"id":"home","questions":[
		{"id":"size","type":"integer","required":true,"validation":{"min":1,"max":30}},
		{"id":"fuel","type":"multiple_choice","options":["wood","charcoal","gas"]},
		{"id":"phone","type":"text","pii":"direct"},
		{"id":"photo","type":"photo"},
		{"id":"signature","type":"signature","pii":"direct"},
		{"id":"cost","type":"number"},
		{"id":"yearly","type":"calculate","calculate":"home.cost * 12.0"},
		{"id":"people","type":"repeat","questions":[{"id":"name","type":"text","pii":"direct"},{"id":"age","type":"integer"}]}]}]}`

// A survey of that template, and one that is documented.
const (
	homeSurvey = `{"surveyId":"s","type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"home","window":{"start":"2024-01-01T00:00:00Z"},"sampling":{"method":"census"},
		"collectors":["did:key:ann","did:key:bob","did:key:owner"]}`
	baseline = `{"surveyId":"b","type":"BaselineSurvey","projectId":"did:ixo:project/one",
		"template":{"eligibilityCriteria":true,"socioEconomicData":true,"cookingPatterns":true,"stovePerceptions":true},
		"window":{"start":"2024-01-01T00:00:00Z"},"sampling":{"method":"simple_random","size":100,"confidence":0.95,"enrolment":"open"},"collectors":["did:key:ann","did:key:owner"]}`
)

// What tests of area B have in common.
var (
	codes, details, want = surveytest.Codes, surveytest.Details, surveytest.Want
	crowd                = surveytest.CrowdOf
)

// callerOf makes a caller of a workspace. ann and bob collect, mia manages and
// reads personal data, vera verifies, "writer" only sends, "reader" only reads,
// "project" and "elsewhere" are owners in one project.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws}
	switch role {
	case "ann", "bob":
		c.Scopes = []string{"surveys:read", "templates:read", "responses:read", "responses:write"}
	case "mia":
		c.Scopes = []string{"surveys:*", "responses:read", "responses:write", "responses:pii"}
	case "vera":
		c.Scopes = []string{"responses:read", "responses:write", "responses:verify"}
	case "editor":
		c.Scopes = []string{"surveys:*", "responses:read", "responses:write"}
	case "importer":
		c.Scopes = []string{"responses:read", "responses:write", "responses:verify", "imports:write"}
	case "writer":
		c.Scopes = []string{"responses:write"}
	case "reader":
		c.Scopes = []string{"surveys:read", "responses:read"}
	case "project":
		c.Scopes, c.Projects = []string{"*"}, []string{"did:ixo:project/one"}
	case "elsewhere":
		c.Scopes, c.Projects = []string{"*"}, []string{"did:ixo:project/two"}
	default:
		c.Scopes = []string{"*"}
	}
	return c
}

func as(t testing.TB, role string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), callerOf("ws", role))
}

// env is a store with all that responses need.
type env struct {
	d        *db.DB
	l        *event.Log
	surveys  *survey.Service
	tpl      *template.Service
	vault    *vault.Vault
	media    *media.Store
	s        *response.Service
	h        surveytest.Server
	redacted int // how often copies of "s" were to go

	clock surveytest.Clock
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	key := surveytest.Key(t)
	v := &env{d: d, l: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()}), vault: vault.New(vault.Config{Key: key})}
	once := once.New(once.Config{DB: d, Key: key})
	v.tpl = template.New(template.Config{DB: d, Events: v.l, Cursors: eventtest.Cursors(), Now: v.clock.Now})
	v.surveys = survey.New(survey.Config{DB: d, Templates: v.tpl, Events: v.l, Idem: once, Cursors: eventtest.Cursors(), Vault: v.vault, Now: v.clock.Now})
	v.media = media.New(media.Config{DB: d, Key: key, Now: v.clock.Now})
	v.s = response.New(response.Config{
		DB: d, Surveys: v.surveys, Vault: v.vault, Media: v.media, Events: v.l, Idem: once, Cursors: eventtest.Cursors(), Key: key, Self: "did:key:server", Now: v.clock.Now,
		Redacted: func(_ context.Context, o *survey.Open) error {
			if o.SurveyID == "s" {
				v.redacted++
			}
			return nil
		},
	})
	v.h = surveytest.Gate(callerOf).Serve(t, v.s.Routes, v.surveys.Routes, v.tpl.Routes, surveytest.Erasures(d, v.surveys.Erase, v.s.Erase))
	return v
}

// start makes an active survey in workspace "ws".
func (v *env) start(t testing.TB, text string) {
	t.Helper()
	if strings.Contains(text, `"home"`) {
		for _, one := range [][2]string{{"POST /v1/templates", homeTemplate}, {"POST /v1/templates/home/publish", `{}`}} {
			if w := v.send(t, "owner", one[0], one[1]); w.Code >= 300 && w.Code != 409 {
				t.Fatalf("%s = %d %s", one[0], w.Code, w.Body)
			}
		}
	}
	var d survey.Draft
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	r, err := v.surveys.Create(as(t, "owner"), d)
	if err != nil {
		t.Fatalf("create: %v %s", err, codes(err))
	}
	v.move(t, r.Value.SurveyID, "activate")
}

func (v *env) move(t testing.TB, id, name string) {
	t.Helper()
	if _, err := v.surveys.Move(as(t, "owner"), id, name, "", survey.Move{Reason: "test"}); err != nil {
		t.Fatalf("%s: %v %s", name, err, codes(err))
	}
}

// draft is a complete response of a household to the survey "s", with answers
// in place of the usual ones if they are given: "home.size=5".
func draft(id string, household int, answers ...string) *response.Draft {
	all := map[string]map[string]any{"consent": {"ok": true}, "home": {"size": 4, "fuel": []string{"wood"}}}
	for _, one := range answers {
		path, value, _ := strings.Cut(one, "=")
		section, question, _ := strings.Cut(path, ".")
		if value == "" {
			delete(all[section], question)
			continue
		}
		all[section][question] = jsontext.Value(value)
	}
	text, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	d := &response.Draft{
		ResponseID: id, HouseholdID: fmt.Sprintf("did:ixo:household/%d", household), Timestamp: time.Date(2026, 2, 20, 10, 0, 0, 0, time.UTC),
	}
	d.Responses.Value = text
	return d
}

// submit stores a draft as somebody and gives the record.
func (v *env) submit(t testing.TB, role string, d *response.Draft) *response.Record {
	t.Helper()
	r, err := v.s.Submit(as(t, role), "s", d)
	if err != nil {
		t.Fatalf("submit %s: %v %s", d.ResponseID, err, codes(err))
	}
	return record(t, r.Raw)
}

func (v *env) get(t testing.TB, role, id string) *response.Record {
	t.Helper()
	r, err := v.s.Get(as(t, role), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return record(t, r.Raw)
}

func record(t testing.TB, body []byte) *response.Record {
	t.Helper()
	var out response.Record
	if err := json.Unmarshal(body, &out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("record: %v in %s", err, body)
	}
	return &out
}

// tally are the counters of the survey "s".
func (v *env) tally(t testing.TB) survey.Tally {
	t.Helper()
	p, err := v.surveys.Progress(as(t, "owner"), "s", 0)
	if err != nil {
		t.Fatal(err)
	}
	return p.SurveyTally
}

// send calls a route of workspace "ws": "GET /v1/responses/…".
func (v *env) send(t testing.TB, role, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return v.h.Send(t, "ws "+role, request, body, headers...)
}

// count counts rows.
func (v *env) count(t testing.TB, table string) int {
	t.Helper()
	var n int
	if err := v.d.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// events lists the types of events of responses.
func (v *env) events(t testing.TB) string {
	t.Helper()
	b, err := v.l.Read(t.Context(), event.Query{Workspace: "ws", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, it := range b.Items {
		if name, ok := strings.CutPrefix(it.Type, "response."); ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}
