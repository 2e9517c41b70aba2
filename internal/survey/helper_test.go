package survey_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// open is a campaign that can be started at once.
const open = `{"type":"BaselineSurvey","projectId":"did:ixo:project/one","template":{"eligibilityCriteria":true},
	"sampling":{"method":"simple_random","size":100,"confidence":0.95,"enrolment":"open"},"collectors":["did:ixo:agent/1"]}`

// What area A holds in these tests.
const (
	heldProject = "did:ixo:project/held"
	heldTwin    = "did:ixo:household/held"
	oneProject  = "did:ixo:project/one" // the one that "project" is limited to
)

// What tests of area B have in common.
const documented = surveytest.Documented

var (
	codes, details, want = surveytest.Codes, surveytest.Details, surveytest.Want
	draft, with, crowd   = surveytest.Draft, surveytest.With, surveytest.Crowd
)

// callerOf makes a caller of a workspace: "owner" may everything, "reader"
// reads surveys, "collector" and "mate" send responses too, "supervisor" assigns
// and checks, "checker" checks only, "project" is an owner in one project, "two" in two.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws, Scopes: []string{"*"}}
	switch role {
	case "reader":
		c.Scopes = []string{"surveys:read"}
	case "collector", "mate":
		c.Scopes = []string{"surveys:read", "responses:write"}
	case "supervisor":
		c.Scopes = []string{"surveys:read", "surveys:assign", "responses:check"}
	case "checker":
		c.Scopes = []string{"surveys:read", "responses:check"}
	case "project":
		c.Projects = []string{oneProject}
	case "two":
		c.Projects = []string{oneProject, heldProject}
	case "nothing":
		c.Scopes = []string{"events:read"}
	}
	return c
}

func as(t testing.TB, ws, role string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), callerOf(ws, role))
}

// env is a store with templates and campaigns.
type env struct {
	d   *db.DB
	l   *event.Log
	tpl *template.Service
	s   *survey.Service
	h   surveytest.Server

	clock surveytest.Clock // of surveys
}

func newEnv(t testing.TB, d *db.DB, change ...func(*survey.Config)) *env {
	t.Helper()
	v := &env{d: d, l: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})}
	v.tpl = template.New(template.Config{DB: d, Events: v.l, Cursors: eventtest.Cursors(), Now: v.clock.Now})
	cfg := survey.Config{
		DB: d, Templates: v.tpl, Events: v.l, Idem: once.New(once.Config{DB: d, Key: surveytest.Key(t)}), Cursors: eventtest.Cursors(), Now: v.clock.Now,
		Channels: []string{"ussd", "web", "chat"},
		Project: func(_ context.Context, _ db.Querier, _, did string) (bool, bool, error) {
			return did == heldProject || did == heldTwin, did == heldProject, nil
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	v.s = survey.New(cfg)
	v.h = surveytest.Gate(callerOf).Serve(t, v.s.Routes, v.tpl.Routes, surveytest.Erasures(d, v.s.Erase))
	return v
}

// create makes a campaign as the owner and returns its id.
func (v *env) create(t testing.TB, ws, text string) string {
	t.Helper()
	r, err := v.s.Create(as(t, ws, "owner"), draft(t, text))
	if err != nil {
		t.Fatalf("create %.200s: %v %s", text, err, codes(err))
	}
	return r.Value.SurveyID
}

// start makes a campaign and activates it.
func (v *env) start(t testing.TB, ws, text string) string {
	t.Helper()
	id := v.create(t, ws, text)
	v.move(t, ws, id, "activate")
	return id
}

func (v *env) move(t testing.TB, ws, id, name string) {
	t.Helper()
	if _, err := v.s.Move(as(t, ws, "owner"), id, name, "", survey.Move{Reason: "test"}); err != nil {
		t.Fatalf("%s: %v %s", name, err, codes(err))
	}
}

// get reads a campaign as the owner.
func (v *env) get(t testing.TB, ws, id string) *survey.Survey {
	t.Helper()
	r, err := v.s.Get(as(t, ws, "owner"), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return record(t, r.Raw)
}

func record(t testing.TB, body []byte) *survey.Survey {
	t.Helper()
	var out survey.Survey
	if err := json.Unmarshal(body, &out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("record: %v in %s", err, body)
	}
	return &out
}

// upload puts households on a list.
func (v *env) upload(t testing.TB, ws, id string, items ...survey.HouseholdDraft) *survey.Merged {
	t.Helper()
	r, err := v.s.AddHouseholds(as(t, ws, "owner"), id, survey.Upload{Items: items})
	if err != nil {
		t.Fatalf("upload: %v %s", err, codes(err))
	}
	return r.Value
}

// home is household n with a stratum and a group.
func home(n int, stratum, group string) survey.HouseholdDraft {
	return survey.HouseholdDraft{HouseholdID: fmt.Sprintf("did:ixo:household/%06d", n), Stratum: &stratum, Group: &group}
}

// erase has a workspace forget a household, and tells from how many lists.
func (v *env) erase(t testing.TB, ws, household string) int64 {
	t.Helper()
	return surveytest.Erase(t, v.d, ws, household, v.s.Erase)
}

// send calls a route: "GET /v1/surveys/…", as "workspace role".
func (v *env) send(t testing.TB, who, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return v.h.Send(t, who, request, body, headers...)
}

// events lists the types of events of a workspace.
func (v *env) events(t testing.TB, ws string) string {
	t.Helper()
	b, err := v.l.Read(t.Context(), event.Query{Workspace: ws, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, it := range b.Items {
		out = append(out, it.Type)
	}
	return strings.Join(out, " ")
}

// must is send as somebody of "ws", for what works.
func (v *env) must(t testing.TB, who, request, body string, headers ...string) {
	t.Helper()
	if w := v.send(t, "ws "+who, request, body, headers...); w.Code >= 300 {
		t.Fatalf("%s = %d %s", request, w.Code, w.Body)
	}
}

// crowdOf are n households without a stratum.
func crowdOf(n int) (out []survey.HouseholdDraft) {
	for i := range n {
		out = append(out, home(i, "", ""))
	}
	return out
}
