package event_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// Events appended together stand in their order, numbered without a gap, among
// those appended one by one, and say the same.
func TestAppendAll(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		ctx := eventtest.Context(t.Context(), "ws")
		var want []string
		for round, n := range []int{0, 1, 10, 11, 35} {
			sub := l.Subscribe("ws")
			err := d.InTx(ctx, func(tx *db.Tx) error {
				if err := l.Append(ctx, tx, event.Event{Workspace: "ws", Type: "a.single", Subject: fmt.Sprint(round)}); err != nil {
					return err
				}
				var list []*event.Prepared
				for i := range n {
					list = append(list, prepared(t, l, "ws", event.Event{Workspace: "ws", Type: "a.many", Subject: fmt.Sprint(round, "-", i), Revision: int64(i), Data: map[string]int{"n": i}}))
				}
				if err := l.AppendAll(ctx, tx, list); err != nil {
					return err
				}
				return l.Append(ctx, tx, event.Event{Workspace: "other", Type: "a.single", Subject: fmt.Sprint(round)})
			})
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint("a.single ", round, " 0 "))
			for i := range n {
				want = append(want, fmt.Sprintf(`a.many %d-%d %d {"n":%d}`, round, i, i, i))
			}
			select {
			case <-sub.C:
			default:
				t.Errorf("%d events woke nobody", n)
			}
			sub.Close()
		}
		got := readAll(t, l, "ws")
		for i, it := range got {
			if line := fmt.Sprintf("%s %s %d %s", it.Type, it.Subject, it.Revision, string(it.Data.Value)); i >= len(want) || line != want[i] {
				t.Fatalf("event %d = %q", i, line)
			}
			if it.Actor != got[0].Actor || it.Time.IsZero() {
				t.Errorf("event %d by %q at %v", i, it.Actor, it.Time)
			}
		}
		if len(got) != len(want) || len(readAll(t, l, "other")) != 5 {
			t.Errorf("%d events, want %d", len(got), len(want))
		}
	})
}

func prepared(t testing.TB, l *event.Log, ws string, e event.Event) *event.Prepared {
	t.Helper()
	p, err := l.Prepare(eventtest.Context(t.Context(), ws), e)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Events of two workspaces would be numbered as one, so they are refused.
func TestAppendAllOfTwo(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	l := newLog(d)
	list := make([]*event.Prepared, 10)
	for i := range list {
		list[i] = prepared(t, l, "ws", event.Event{Workspace: fmt.Sprint("ws", i/6), Type: "a.many", Subject: "s"})
	}
	if err := d.InTx(t.Context(), func(tx *db.Tx) error { return l.AppendAll(t.Context(), tx, list) }); err == nil {
		t.Error("events of two workspaces are taken")
	}
	if got := len(readAll(t, l, "ws0")) + len(readAll(t, l, "ws1")); got != 0 {
		t.Errorf("%d events are left", got)
	}
}

// What is wrong with an event is told when it is prepared.
func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t))
	for name, e := range map[string]event.Event{
		"no workspace":      {Type: "a.many", Subject: "s"},
		"a bad type":        {Workspace: "ws", Type: "Nothing"},
		"a long subject":    {Workspace: "ws", Type: "a.many", Subject: strings.Repeat("x", 2000)},
		"data that is none": {Workspace: "ws", Type: "a.many", Data: 7},
		"large data":        {Workspace: "ws", Type: "a.many", Data: map[string]string{"x": strings.Repeat("x", 5000)}},
	} {
		if _, err := l.Prepare(t.Context(), e); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
