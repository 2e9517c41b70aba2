package history_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/history"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

const cooking = "did:ixo:protocol/clean-cooking"

// env is a store with the registry and its history.
type env struct {
	d   *db.DB
	l   *event.Log
	e   *entity.Service
	s   *history.Service
	h   http.Handler
	now time.Time // what the clock shows; only tests that run alone set it

	mu   sync.Mutex
	last time.Time
}

// later is the time, and never the same millisecond twice: two revisions of one
// would not differ in it.
func (v *env) later() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if next := v.last.Add(time.Millisecond); now.Before(next) {
		now = next
	}
	v.last = now
	return now
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	v := &env{d: d, l: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})}
	p := protocol.New(protocol.Config{DB: d, Events: v.l, Cursors: eventtest.Cursors()})
	v.e = entity.New(entity.Config{DB: d, Protocols: p, Events: v.l, Cursors: eventtest.Cursors(), At: history.At, Now: func() time.Time {
		if v.now.IsZero() {
			return v.later()
		}
		return v.now
	}})
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	v.s = history.New(history.Config{DB: d, Entities: v.e, Cursors: eventtest.Cursors(), Key: key})
	v.h = eventtest.Serve(t, v.e.Routes, v.s.Routes)
	return v
}

func owner(t testing.TB) context.Context { return eventtest.Context(t.Context(), "ws") }

// create makes a twin.
func (v *env) create(t testing.TB, serial string) *entity.Entity {
	t.Helper()
	r, err := v.e.Create(owner(t), entity.Draft{Type: "Stove", Protocol: cooking, Properties: entity.Object{Value: []byte(`{"serial":"` + serial + `"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	id := r.Value
	if id == nil {
		var row *entity.Row
		ids := v.ids(t)
		if row, err = v.e.Find(owner(t), v.d, ids[len(ids)-1]); err != nil {
			t.Fatal(err)
		}
		if id, err = row.Entity(); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func (v *env) ids(t testing.TB) []string {
	t.Helper()
	rows, err := v.d.Query(t.Context(), `SELECT did FROM entities WHERE ws = $1 ORDER BY nid`, "ws")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		out = append(out, id)
	}
	return out
}

// patch changes a twin and says why.
func (v *env) patch(t testing.TB, id, merge, reason string) *entity.Row {
	t.Helper()
	var out *entity.Row
	err := v.d.InTx(owner(t), func(tx *db.Tx) (err error) {
		out, err = v.e.PatchTx(owner(t), tx, id, "*", entity.Change{Merge: []byte(merge), Reason: reason})
		return err
	})
	if err != nil {
		t.Fatalf("patch %s: %v", merge, err)
	}
	return out
}
