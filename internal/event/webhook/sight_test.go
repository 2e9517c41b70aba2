package webhook_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
)

// A webhook has no rights of its own: its messages do not say who did what is
// not for everybody, whoever made it, and its filter does not tell either.
func TestActorsAreWithheld(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors(), Veil: event.Veil{Scope: "responses:pii", Types: event.Filter{"response.*"}}})
		e := newEnv(t, d, open{}, func(c *webhook.Config) { c.Events = l })
		e.l = l
		r, by := newReceiver(t, ok), newReceiver(t, ok)
		all := e.create(t, "ws", r.URL, "response.*", "entity.*") // event 1
		made, err := e.s.Create(eventtest.Context(t.Context(), "ws"), webhook.Draft{URL: by.URL, Events: event.Filter{"response.*", "entity.*"}, Filter: "eq(actor,did:key:owner)"})
		if err != nil {
			t.Fatal(err)
		}
		e.run(t)
		eventtest.Append(t, d, l, "ws", "response.submitted r1", "entity.updated e1")
		e.await(t, "ws", all.ID, "delivered", 2)
		e.await(t, "ws", made.Value.ID, "delivered", 1)
		if got := by.seqs(); len(got) != 1 || got[0] != 4 {
			t.Errorf("events by actor = %v, want 4 alone", got)
		}
		for _, m := range r.got {
			want := map[int64]string{3: `"actor":"withheld"`, 4: `"actor":"did:key:owner"`}[m.seq]
			if !strings.Contains(m.body, want) || m.seq == 3 && strings.Contains(m.body, "did:key:owner") {
				t.Errorf("message = %s, want %s", m.body, want)
			}
		}
	})
}
