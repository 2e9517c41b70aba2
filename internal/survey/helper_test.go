package survey_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/idem"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/plan"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// documented is the request of the interface document.
const documented = `{"type":"BaselineSurvey","projectId":"did:ixo:entity:123",
	"template":{"eligibilityCriteria":true,"socioEconomicData":true,"cookingPatterns":true,"stovePerceptions":true},
	"sampling":{"method":"stratified","size":100,"confidence":0.95}}`

// open is a campaign that can be started at once.
const open = `{"type":"BaselineSurvey","projectId":"did:ixo:project/one","template":{"eligibilityCriteria":true},
	"sampling":{"method":"simple_random","size":100,"confidence":0.95,"enrolment":"open"},"collectors":["did:ixo:agent/1"]}`

// What area A holds in these tests.
const (
	heldProject = "did:ixo:project/held"
	heldTwin    = "did:ixo:household/held"
	oneProject  = "did:ixo:project/one" // the one that "project" is limited to
)

// callerOf makes a caller of a workspace: "owner" may everything, "reader"
// reads surveys, "collector" sends responses too, "project" is an owner in one
// project, "two" in two.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws, Scopes: []string{"*"}}
	switch role {
	case "reader":
		c.Scopes = []string{"surveys:read"}
	case "collector":
		c.Scopes = []string{"surveys:read", "responses:write"}
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

// gate admits "Authorization: Bearer <workspace> <role>".
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	ws, role, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
	if !ok {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "Send a key.")
	}
	c := callerOf(ws, role)
	if !c.May(string(scope)) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

// env is a store with templates and campaigns.
type env struct {
	d   *db.DB
	l   *event.Log
	tpl *template.Service
	s   *survey.Service
	h   http.Handler

	mu      sync.Mutex
	now     time.Time // the clock of surveys; real time when zero
	changed []string  // workspaces
}

func (v *env) clock() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now.IsZero() {
		return time.Now()
	}
	return v.now
}

func (v *env) setClock(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = now
}

func newEnv(t testing.TB, d *db.DB, change ...func(*survey.Config)) *env {
	t.Helper()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	v := &env{d: d, l: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})}
	v.tpl = template.New(template.Config{DB: d, Events: v.l, Cursors: eventtest.Cursors(), Now: v.clock})
	cfg := survey.Config{
		DB: d, Templates: v.tpl, Events: v.l, Idem: idem.New(idem.Config{DB: d, Key: key}), Cursors: eventtest.Cursors(), Now: v.clock,
		Project: func(_ context.Context, _ db.Querier, _, did string) (bool, bool, error) {
			return did == heldProject || did == heldTwin, did == heldProject, nil
		},
		Changed: func(ws string) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.changed = append(v.changed, ws)
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	v.s = survey.New(cfg)
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: gate{}, Errors: web.Problem})
	v.s.Routes(a)
	v.tpl.Routes(a)
	mux := http.NewServeMux()
	a.Mount(mux)
	v.h = mux
	return v
}

// draft reads a draft.
func draft(t testing.TB, text string) plan.Draft {
	t.Helper()
	var d plan.Draft
	if err := json.Unmarshal([]byte(text), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("draft %.200s: %v", text, err)
	}
	return d
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
func (v *env) upload(t testing.TB, ws, id string, items ...plan.HouseholdDraft) *survey.Merged {
	t.Helper()
	r, err := v.s.AddHouseholds(as(t, ws, "owner"), id, survey.Upload{Items: items})
	if err != nil {
		t.Fatalf("upload: %v %s", err, codes(err))
	}
	return r.Value
}

// home is household n with a stratum and a group.
func home(n int, stratum, group string) plan.HouseholdDraft {
	return plan.HouseholdDraft{HouseholdID: fmt.Sprintf("did:ixo:household/%06d", n), Stratum: &stratum, Group: &group}
}

// codes lists the fields of a fault as "pointer code".
func codes(err error) string {
	f := fault.As(err)
	if f == nil {
		return ""
	}
	out := make([]string, len(f.Fields))
	for i, one := range f.Fields {
		out[i] = one.Pointer + " " + one.Code
	}
	return strings.Join(out, ", ")
}

// want fails unless err has a code; "" wants none.
func want(t testing.TB, what string, err error, code string) {
	t.Helper()
	if err != nil && fault.As(err) == nil {
		t.Fatalf("%s = %v, want code %q", what, err, code)
	}
	if got := fault.CodeOf(err); got != code {
		t.Errorf("%s = %q (%v %s), want %q", what, got, err, codes(err), code)
	}
}

// send calls a route: "GET /v1/surveys/…".
func (v *env) send(t testing.TB, who, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	return w
}

// crowd runs f n times at once and counts how it went by the code of the fault.
func crowd(n int, f func(i int) error) map[string]int {
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			err := f(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				got["ok"]++
			case fault.CodeOf(err) != "":
				got[fault.CodeOf(err)]++
			default:
				got[err.Error()]++
			}
		})
	}
	wg.Wait()
	return got
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

// details are the sentences of a fault.
func details(err error) string {
	var out []string
	if f := fault.As(err); f != nil {
		for _, one := range f.Fields {
			out = append(out, one.Detail)
		}
	}
	return strings.Join(out, " ")
}

// with is the documented request with members changed by a merge in Go: "" in
// the place of a value takes the member out.
func with(t *testing.T, pairs ...string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(documented), &m); err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		at := m
		parts := strings.Split(pairs[i], ".")
		for _, p := range parts[:len(parts)-1] {
			at, _ = at[p].(map[string]any)
		}
		last := parts[len(parts)-1]
		if pairs[i+1] == "" {
			delete(at, last)
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(pairs[i+1]), &v); err != nil {
			t.Fatal(err)
		}
		at[last] = v
	}
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
