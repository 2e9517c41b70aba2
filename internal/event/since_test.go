package event_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// Whoever asks what has changed since learns of everything that is committed,
// also when nobody has read the log for long.
func TestSince(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		add := func(ws string, events ...event.Event) {
			ctx := eventtest.Context(t.Context(), ws)
			err := d.InTx(ctx, func(tx *db.Tx) error {
				for _, e := range events {
					if err := l.Append(ctx, tx, e); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		of := func(subject, typ string) event.Event { return event.Event{Type: typ, Subject: subject, Revision: 1} }
		add("ws", of("a", "response.submitted"), of("b", "response.submitted"), of("c", "response.submitted"))
		r, err := l.Range(t.Context(), "ws")
		if err != nil || r.Newest != 3 {
			t.Fatalf("range = %+v, %v", r, err)
		}
		add("other", of("a", "response.updated"))
		many := make([]event.Event, 2500) // more than one chunk of numbers
		for i := range many {
			many[i] = of(fmt.Sprint("x", i), "entity.updated")
		}
		add("ws", many...)
		add("ws", of("a", "response.verified"), of("b", "response.verified"), of("b", "response.updated"), of("d", "response.submitted"))
		changes := event.Filter{"response.submitted", "response.updated"}
		for after, want := range map[int64]string{0: "a b c d", 3: "b d", 3 + 2500 + 3: "d", 3 + 2500 + 4: ""} {
			got, err := l.Since(t.Context(), "ws", after, changes, []string{"a", "b", "c", "d", "e"})
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(got, func(_ string, changed bool) bool { return !changed })
			if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); names != want {
				t.Errorf("since %d = %q, want %q", after, names, want)
			}
		}
	})
}
