package event_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// TestForget: the data goes, the events and everybody else's stay.
func TestForget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
		say := func(ws, subject string, data any) {
			t.Helper()
			err := d.InTx(t.Context(), func(tx *db.Tx) error {
				return l.Append(t.Context(), tx, event.Event{Workspace: ws, Type: "entity.updated", Subject: subject, Data: data})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		secret := map[string]string{"name": "Amina"}
		for i := range 450 { // more than one transaction takes
			if i%3 == 0 {
				say("a", "did:x:1", nil)
			} else {
				say("a", "did:x:1", secret)
			}
		}
		say("a", "did:x:2", secret)
		say("b", "did:x:1", secret)
		for _, want := range []int64{300, 0} {
			if n, err := l.Forget(t.Context(), "a", "did:x:1"); err != nil || n != want {
				t.Errorf("Forget() = %d, %v, want %d", n, err, want)
			}
		}
		for ws, want := range map[string]int{"a": 1, "b": 1} {
			b, err := l.Read(t.Context(), event.Query{Workspace: ws, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			left := 0
			for i, it := range b.Items {
				if it.Seq != int64(i+1) {
					t.Errorf("event %d has the number %d", i+1, it.Seq)
				}
				if !it.Data.IsZero() {
					left++
				}
			}
			if left != want {
				t.Errorf("%d events of %s have data, want %d", left, ws, want)
			}
		}
	})
}
