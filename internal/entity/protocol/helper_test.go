package protocol_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// env is a store with a log and a protocol service.
type env struct {
	d *db.DB
	l *event.Log
	s *protocol.Service
}

func newEnv(t testing.TB, d *db.DB, change ...func(*protocol.Config)) *env {
	t.Helper()
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	cfg := protocol.Config{DB: d, Events: l, Cursors: eventtest.Cursors(), Log: dbtest.Log(t)}
	for _, f := range change {
		f(&cfg)
	}
	return &env{d: d, l: l, s: protocol.New(cfg)}
}

func owner(t testing.TB, ws string) context.Context {
	return eventtest.Context(t.Context(), ws)
}

// draft reads a draft; type may be left out.
func draft(t testing.TB, text string) protocol.Draft {
	t.Helper()
	d := protocol.Draft{Type: "Protocol"}
	if err := json.Unmarshal([]byte(text), &d, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("draft %.200s: %v", text, err)
	}
	return d
}

// create makes a draft and returns its DID.
func (e *env) create(t testing.TB, ws, text string) string {
	t.Helper()
	r, err := e.s.Create(owner(t, ws), draft(t, text))
	if err != nil {
		t.Fatalf("create %.200s: %v %+v", text, err, fields(err))
	}
	return r.Value.DID
}

// publish makes a protocol and publishes it.
func (e *env) publish(t testing.TB, ws, text string) *protocol.Protocol {
	t.Helper()
	id := e.create(t, ws, text)
	e.release(t, ws, id)
	p, err := e.s.Find(t.Context(), ws, id, "")
	if err != nil {
		t.Fatalf("find: %v", err)
	}
	return p
}

// release publishes the newest draft of a protocol.
func (e *env) release(t testing.TB, ws, id string) {
	t.Helper()
	if _, err := e.s.Publish(owner(t, ws), id, "", protocol.Change{}); err != nil {
		t.Fatalf("publish %s: %v %+v", id, err, fields(err))
	}
}

// next makes and publishes a new version.
func (e *env) next(t testing.TB, ws, id, patch string) {
	t.Helper()
	if _, err := e.s.AddVersion(owner(t, ws), id, []byte(patch)); err != nil {
		t.Fatalf("new version %.200s: %v %+v", patch, err, fields(err))
	}
	e.release(t, ws, id)
}

func fields(err error) []fault.Field {
	if f := fault.As(err); f != nil {
		return f.Fields
	}
	return nil
}

// codes lists faults as "pointer code".
func codes(list []fault.Field) string {
	out := make([]string, len(list))
	for i, f := range list {
		out[i] = f.Pointer + " " + f.Code
	}
	return strings.Join(out, ", ")
}

// decode reads a JSON value as twins' properties are read.
func decode(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// post sends a body as the owner of a workspace.
func (e *env) post(t testing.TB, ws, path, body, key string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+ws+" owner")
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	eventtest.Serve(t, e.s.Routes).ServeHTTP(w, r)
	return w
}

// quoted is s as JSON.
func quoted(s string) string { return fmt.Sprintf("%q", s) }

func get(t testing.TB, h http.Handler, ws, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+ws+" owner")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
