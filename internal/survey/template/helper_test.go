package template_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
)

// env is a store with a log and a template service.
type env struct {
	d *db.DB
	l *event.Log
	s *template.Service
	h http.Handler
}

func newEnv(t testing.TB, d *db.DB, change ...func(*template.Config)) *env {
	t.Helper()
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	cfg := template.Config{DB: d, Events: l, Cursors: eventtest.Cursors()}
	for _, f := range change {
		f(&cfg)
	}
	s := template.New(cfg)
	return &env{d: d, l: l, s: s, h: eventtest.Serve(t, s.Routes)}
}

func owner(t testing.TB, ws string) context.Context {
	return eventtest.Context(t.Context(), ws)
}

// seed is the documented template under a name.
func seed(id string) string {
	return `{"templateId":"` + id + `","sections":[
		{"id":"eligibility","questions":[{"id":"current_cooking","type":"multiple_choice","required":true,"options":["wood","charcoal","lpg","electric"]}]},
		{"id":"socio_economic","questions":[{"id":"household_size","type":"number","validation":{"min":1,"max":20}}]}],
		"validations":{"requiredSections":["eligibility"],"completionThreshold":0.8}}`
}

// draft reads a template.
func draft(t testing.TB, text string) form.Template {
	t.Helper()
	var d form.Template
	if err := json.Unmarshal([]byte(text), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("template %.200s: %v", text, err)
	}
	return d
}

// create makes a draft.
func (e *env) create(t testing.TB, ws, text string) string {
	t.Helper()
	r, err := e.s.Create(owner(t, ws), draft(t, text))
	if err != nil {
		t.Fatalf("create %.200s: %v %+v", text, err, fields(err))
	}
	return r.Value.TemplateID
}

// release publishes the draft of a template.
func (e *env) release(t testing.TB, ws, id string) {
	t.Helper()
	if _, err := e.s.Move(owner(t, ws), id, template.Publish, "", template.Change{}); err != nil {
		t.Fatalf("publish %s: %v %+v", id, err, fields(err))
	}
}

// next opens the draft of the next version.
func (e *env) next(t testing.TB, ws, text string) {
	t.Helper()
	d := draft(t, text)
	if _, err := e.s.Update(owner(t, ws), d.TemplateID, "*", d); err != nil {
		t.Fatalf("update %.200s: %v %+v", text, err, fields(err))
	}
}

func fields(err error) []fault.Field {
	if f := fault.As(err); f != nil {
		return f.Fields
	}
	return nil
}

// call sends a request as the owner of a workspace: "POST /v1/templates".
func (e *env) call(t testing.TB, ws, route, body string, head ...string) *httptest.ResponseRecorder {
	t.Helper()
	return surveytest.Server{Handler: e.h}.Send(t, ws+" owner", route, body, head...)
}
