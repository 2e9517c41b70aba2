// Package surveytest is what tests of area B share: a gate, requests,
// assertions about faults, and erasures as area A makes them. For packages
// above responses it has a store with templates, surveys and responses: a
// template with something for every check, an active survey of it, and callers
// of all kinds.
package surveytest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// Template has a question for every check. Few answers make a response content.
const Template = `{"templateId":"field","title":"Field","validations":{"completionThreshold":0.05},"sections":[
	{"id":"consent","questions":[{"id":"agree","type":"consent"}]},
	{"id":"home","questions":[
		{"id":"size","type":"integer","backCheckClass":1,"validation":{"min":1,"max":40}},
		{"id":"cost","type":"number","backCheckClass":3,"required":true},
		{"id":"fuel","type":"single_choice","options":["wood","charcoal","lpg"],"backCheckClass":2},
		{"id":"fuels","type":"multiple_choice","options":["wood","charcoal","lpg"]},
		{"id":"name","type":"text","pii":"direct","backCheckClass":1},
		{"id":"phone","type":"text","pii":"direct","backCheckClass":1},
		{"id":"serial","type":"barcode"}]},
	{"id":"views","questions":[
		{"id":"a","type":"integer"},{"id":"b","type":"integer"},{"id":"c","type":"integer"},{"id":"d","type":"integer"},{"id":"e","type":"integer"},
		{"id":"f","type":"integer"},{"id":"g","type":"integer"},{"id":"h","type":"integer"},{"id":"i","type":"integer"},{"id":"j","type":"integer"}]}]}`

// Project is the project that the role "project" is limited to.
const Project = "did:ixo:project/one"

// Survey is a campaign of the template, with two or more reviewers where asked.
func Survey(id string, reviewers int) string {
	return fmt.Sprintf(`{"surveyId":%q,"type":"MonitoringSurvey","projectId":%q,"templateId":"field","sampling":{"method":"census"},"window":{"start":"2024-01-01T00:00:00Z"},
		"modes":["visit","phone","import"],"collectors":["did:key:ann","did:key:ben","did:key:cem","did:key:dee","did:key:eve"],"verificationPolicy":{"minReviewers":%d}}`, id, Project, reviewers)
}

// CallerOf makes a caller of a workspace. "owner" may do everything, "project"
// is an owner in one project and "stranger" in another; "reader" reads; "ann",
// "ben", "cem", "dee" and "eve" collect; "supervisor" assigns them; "auditor"
// reads figures too; any other name verifies.
func CallerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws}
	switch role {
	case "owner":
		c.Scopes = []string{"*"}
	case "project":
		c.Scopes, c.Projects = []string{"*"}, []string{Project}
	case "stranger":
		c.Scopes, c.Projects = []string{"*"}, []string{"did:ixo:project/other"}
	case "reader":
		c.Scopes = []string{"surveys:read", "responses:read"}
	case "auditor":
		c.Scopes = []string{"surveys:read", "responses:read", "analytics:read"}
	case "supervisor":
		c.Scopes = []string{"surveys:read", "surveys:assign", "responses:read", "responses:check"}
	case "ann", "ben", "cem", "dee", "eve":
		c.Scopes = []string{"surveys:read", "responses:read", "responses:write", "responses:verify"}
	default:
		c.Scopes = []string{"surveys:read", "responses:read", "responses:verify"}
	}
	return c
}

// As is the context of a request by a caller.
func As(ctx context.Context, ws, role string) context.Context {
	return web.WithCaller(ctx, CallerOf(ws, role))
}

// Env is a store with its services.
type Env struct {
	DB        *db.DB
	Log       *event.Log
	Key       secret.Key
	Idem      *once.Store
	Templates *template.Service
	Surveys   *survey.Service
	Responses *response.Service
	API       *web.API
	Settings  func(ctx context.Context, o *survey.Open) (flag.Settings, error) // of checks; may be set later

	// Design looks up sample designs; may be set later
	Design func(ctx context.Context, q db.Querier, project, id string) (*survey.Target, error)

	t       testing.TB
	once    sync.Once
	handler http.Handler
}

// New makes an Env. Add the routes under test to API before the first request.
func New(t testing.TB, d *db.DB) *Env {
	t.Helper()
	key := Key(t)
	v := &Env{t: t, DB: d, Key: key, Log: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()}), Idem: once.New(once.Config{DB: d, Key: key})}
	v.Templates = template.New(template.Config{DB: d, Events: v.Log, Cursors: eventtest.Cursors()})
	v.Surveys = survey.New(survey.Config{DB: d, Templates: v.Templates, Events: v.Log, Idem: v.Idem, Cursors: eventtest.Cursors(), Vault: vault.New(vault.Config{Key: key}), Design: func(ctx context.Context, q db.Querier, project, id string) (*survey.Target, error) {
		if v.Design == nil {
			return nil, nil
		}
		return v.Design(ctx, q, project, id)
	}})
	v.Responses = response.New(response.Config{
		DB: d, Surveys: v.Surveys, Vault: vault.New(vault.Config{Key: key}), Media: media.New(media.Config{DB: d, Key: key}), Events: v.Log, Idem: v.Idem,
		Cursors: eventtest.Cursors(), Key: key, Self: "did:key:server",
		Settings: func(ctx context.Context, o *survey.Open) (flag.Settings, error) {
			if v.Settings == nil {
				return flag.Settings{}, nil
			}
			return v.Settings(ctx, o)
		},
	})
	v.API = Gate(CallerOf).API(v.Templates.Routes, v.Surveys.Routes, v.Responses.Routes)
	return v
}

// ServeHTTP answers requests.
func (v *Env) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.once.Do(func() { v.handler = webtest.Handler(v.t, v.API) })
	v.handler.ServeHTTP(w, r)
}

// Send calls a route: "GET /v1/surveys/…", as "workspace role".
func (v *Env) Send(t testing.TB, who, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return Server{v}.Send(t, who, request, body, headers...)
}

// Must is Send that has to succeed; the answer is decoded into out, if it is
// not nil.
func (v *Env) Must(t testing.TB, who, request, body string, out any) {
	t.Helper()
	w := v.Send(t, who, request, body)
	if w.Code >= 300 {
		t.Fatalf("%s as %s = %d %s", request, who, w.Code, w.Body)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		t.Fatalf("%s: %v in %s", request, err, w.Body)
	}
}

// Start makes the template and an active survey of it in a workspace.
func (v *Env) Start(t testing.TB, ws, id string, reviewers int) {
	t.Helper()
	owner := ws + " owner"
	if v.Send(t, owner, "GET /v1/templates/field", "").Code == http.StatusNotFound {
		v.Must(t, owner, "POST /v1/templates", Template, nil)
		v.Must(t, owner, "POST /v1/templates/field/publish", `{}`, nil)
	}
	v.Must(t, owner, "POST /v1/surveys", Survey(id, reviewers), nil)
	v.Must(t, owner, "POST /v1/surveys/"+id+"/activate", `{"reason":"test"}`, nil)
}

// Interview is a response to send. Zero members are left out.
type Interview struct {
	ID        string
	Household int
	Collector string // role
	Answers   map[string]map[string]any
	Seconds   int
	At        time.Time
	Lat, Lon  float64
	Partial   bool
}

// Submit sends a response as its collector.
func (v *Env) Submit(t testing.TB, ws, survey string, in Interview) {
	t.Helper()
	if in.At.IsZero() {
		in.At = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	}
	if in.Collector == "" {
		in.Collector = "ann"
	}
	body := map[string]any{
		"responseId": in.ID, "householdId": fmt.Sprintf("did:ixo:household/%d", in.Household), "timestamp": in.At.Format(time.RFC3339Nano),
		"responses": in.Answers, "durationSec": in.Seconds, "mode": "phone",
	}
	if in.Partial {
		body["partial"] = true
	}
	if in.Lat != 0 || in.Lon != 0 {
		body["location"] = map[string]any{"lat": in.Lat, "lon": in.Lon}
	}
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	v.Must(t, ws+" "+in.Collector, "POST /v1/surveys/"+survey+"/responses", string(text), nil)
}

// Home is the answers of an ordinary household.
func Home(more map[string]any) map[string]map[string]any {
	home := map[string]any{"size": 5, "cost": 10.5, "fuel": "wood"}
	for name, value := range more {
		home[name] = value
	}
	return map[string]map[string]any{"consent": {"agree": true}, "home": home}
}
