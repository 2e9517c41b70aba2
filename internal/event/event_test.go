package event_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func newLog(d *db.DB, change ...func(*event.Config)) *event.Log {
	cfg := event.Config{DB: d, Cursors: eventtest.Cursors()}
	for _, f := range change {
		f(&cfg)
	}
	return event.New(cfg)
}

func TestFilter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filter, typ string
		want        bool
	}{
		{"", "entity.created", true},
		{"*", "entity.created", true},
		{"entity.created", "entity.created", true},
		{"entity.created", "entity.created_twice", false},
		{"entity.*", "entity.created", true},
		{"entity.*", "entity.a.b", true},
		{"entity.*", "entityx.created", false},
		{"entity.*", "entity", false},
		{"job.failed,entity.*", "entity.created", true},
		{"job.failed,entity.*", "job.done", false},
	} {
		f, err := event.ParseFilter(tt.filter)
		if err != nil {
			t.Fatalf("ParseFilter(%q): %v", tt.filter, err)
		}
		if got := f.Match(tt.typ); got != tt.want {
			t.Errorf("filter %q matches %q = %v, want %v", tt.filter, tt.typ, got, tt.want)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{"", "*", "a.b", "a.*,b.c", "a..b", ".a", "a.", "**", "a.*.b", "A.b", "a,b", "é.b", "a.b\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		filter, err := event.ParseFilter(s)
		if err != nil {
			if fault.CodeOf(err) != "INVALID_TYPE_FILTER" {
				t.Fatalf("ParseFilter(%q) = %v, want INVALID_TYPE_FILTER", s, err)
			}
			return
		}
		// What is accepted goes into lines of a stream and into JSON.
		if strings.ContainsAny(s, "\r\n\x00\" ") {
			t.Errorf("ParseFilter(%q) was accepted", s)
		}
		for _, p := range filter {
			if typ := strings.Replace(p, "*", "a.b", 1); !filter.Match(typ) {
				t.Errorf("filter %q does not match %q", filter, typ)
			}
		}
	})
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	l := newLog(d)
	ctx := eventtest.Context(t.Context(), "ws")
	for _, tt := range []struct {
		name string
		e    event.Event
		want string
	}{
		{"one word", event.Event{Type: "created"}, "dotted"},
		{"upper case", event.Event{Type: "Entity.created"}, "dotted"},
		{"line end", event.Event{Type: "entity.created\n"}, "dotted"},
		{"empty word", event.Event{Type: "entity..created"}, "dotted"},
		{"trailing dot", event.Event{Type: "entity.created."}, "dotted"},
		{"long type", event.Event{Type: "a." + strings.Repeat("b", 70)}, "longer"},
		{"long subject", event.Event{Type: "a.b", Subject: strings.Repeat("x", 2000)}, "subject"},
		{"data is a list", event.Event{Type: "a.b", Data: []int{1}}, "object"},
		{"data is large", event.Event{Type: "a.b", Data: map[string]string{"x": strings.Repeat("y", 4096)}}, "at most 4096"},
		{"data cannot be encoded", event.Event{Type: "a.b", Data: func() {}}, "encode"},
	} {
		err := d.InTx(ctx, func(tx *db.Tx) error { return l.Append(ctx, tx, tt.e) })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Append = %v, want an error about %q", tt.name, err, tt.want)
		}
	}
	err := d.InTx(t.Context(), func(tx *db.Tx) error { return l.Append(t.Context(), tx, event.Event{Type: "a.b"}) })
	if err == nil || !strings.Contains(err.Error(), "workspace") {
		t.Errorf("Append without a caller = %v, want an error about the workspace", err)
	}
}

func TestAppendFills(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
		l := newLog(d, func(c *event.Config) { c.Now = func() time.Time { return now } })
		ctx := eventtest.Context(t.Context(), "ws")
		given := event.Event{
			Workspace: "ws", Type: "a.done", Subject: "s", Revision: 7, Actor: "did:x", RequestID: "r", At: now.Add(-time.Hour),
			Data: map[string]any{"n": 9007199254740993},
		}
		err := d.InTx(ctx, func(tx *db.Tx) error {
			if err := l.Append(ctx, tx, event.Event{Type: "a.begun"}); err != nil {
				return err
			}
			return l.Append(ctx, tx, given)
		})
		if err != nil {
			t.Fatal(err)
		}
		err = d.InTx(t.Context(), func(tx *db.Tx) error {
			return l.Append(t.Context(), tx, event.Event{Workspace: "ws", Type: "a.swept"})
		})
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Read(t.Context(), event.Query{Workspace: "ws", Limit: 10})
		if err != nil || len(b.Items) != 3 {
			t.Fatalf("Read = %v, %v, want 3 items", b.Items, err)
		}
		if it := b.Items[0]; it.Actor != "did:key:owner" || !it.Time.Equal(now) || !it.Data.IsZero() {
			t.Errorf("filled event = %+v, want the caller and the clock", it)
		}
		if it := b.Items[1]; it.Actor != "did:x" || it.RequestID != "r" || it.Revision != 7 || !it.Time.Equal(given.At) || string(it.Data.Value) != `{"n":9007199254740993}` {
			t.Errorf("given event = %+v, want what was given", it)
		}
		if it := b.Items[2]; it.Actor != "system" {
			t.Errorf("actor without a caller = %q, want system", it.Actor)
		}
	})
}
