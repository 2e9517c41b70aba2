package search_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// env is a store with the registry and its list.
type env struct {
	d *db.DB
	l *event.Log
	p *protocol.Service
	e *entity.Service
	s *search.Service
	h http.Handler
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	v := &env{d: d, l: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})}
	v.p = protocol.New(protocol.Config{DB: d, Events: v.l, Cursors: eventtest.Cursors()})
	v.s = search.New(search.Config{DB: d, Protocols: v.p, Cursors: eventtest.Cursors(), Key: key})
	v.e = entity.New(entity.Config{DB: d, Protocols: v.p, Events: v.l, Cursors: eventtest.Cursors(), Fields: v.s.Fields, Expand: v.s.Expand})
	v.h = eventtest.Serve(t, v.p.Routes, v.e.Routes, v.s.Routes)
	return v
}

// ctx is that of an owner of workspace ws, restricted to projects if any are
// given.
func ctx(t testing.TB, ws string, projects ...string) context.Context {
	c := eventtest.Caller(ws, "owner")
	c.Projects = projects
	return web.WithCaller(t.Context(), c)
}

func object(t testing.TB, v any) entity.Object {
	t.Helper()
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return entity.Object{Value: b}
}

// store makes twins, 50 in a transaction.
func (v *env) store(t testing.TB, c context.Context, drafts ...entity.Draft) []*entity.Row {
	t.Helper()
	var out []*entity.Row
	for at := 0; at < len(drafts); at += 50 {
		var ready []*entity.Prepared
		for _, d := range drafts[at:min(at+50, len(drafts))] {
			p, err := v.e.Prepare(c, d)
			if err != nil {
				t.Fatalf("prepare %s: %v", d.Properties.Value, err)
			}
			ready = append(ready, p)
		}
		rows := make([]*entity.Row, len(ready))
		err := v.d.InTx(c, func(tx *db.Tx) (err error) {
			for i, p := range ready {
				if rows[i], err = v.e.StoreTx(c, tx, p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("store: %v", err)
		}
		out = append(out, rows...)
	}
	return out
}

// publish makes a protocol and publishes it.
func (v *env) publish(t testing.TB, ws, body string) string {
	t.Helper()
	var rec struct {
		DID string `json:"did"`
	}
	v.send(t, call{method: "POST", path: "/v1/protocols", ws: ws, body: body, want: 201}, &rec)
	v.send(t, call{method: "POST", path: "/v1/protocols/" + url.PathEscape(rec.DID) + "/publish", ws: ws, want: 200}, nil)
	return rec.DID
}

// call is a request and the status it must have.
type call struct {
	method, path, ws, body string
	want                   int
}

// send makes a request and reads its answer.
func (v *env) send(t testing.TB, c call, into any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
	r.Header.Set("Authorization", "Bearer "+c.ws+" owner")
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	if w.Code != c.want {
		t.Fatalf("%s %s = %d %s, want %d", c.method, c.path, w.Code, w.Body, c.want)
	}
	if into != nil {
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
}

// walk reads a whole list and returns the DIDs, and how many pages it took.
func (v *env) walk(t testing.TB, c context.Context, q entity.Query) (ids []string, pages int) {
	t.Helper()
	for {
		f, err := v.s.List(c, v.d, q)
		if err != nil {
			t.Fatalf("List(%+v): %v", q, err)
		}
		pages++
		for _, r := range f.Rows {
			ids = append(ids, r.DID)
		}
		if f.Next == nil {
			return ids, pages
		}
		if q.After != nil && *q.After == *f.Next {
			t.Fatalf("List(%+v) does not get on", q)
		}
		q.After = f.Next
	}
}

func short(ids []string) string {
	if len(ids) > 8 {
		return fmt.Sprintf("%d: %v…", len(ids), ids[:8])
	}
	return fmt.Sprintf("%d: %v", len(ids), ids)
}
