package webhook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// filtered makes a webhook with a filter.
func (e *env) filtered(t *testing.T, url, filter string) webhook.WithSecret {
	t.Helper()
	r, err := e.s.Create(eventtest.Context(t.Context(), "ws"), webhook.Draft{URL: url, Events: event.Filter{"entity.*"}, Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	return r.Value
}

// patch changes a webhook.
func (e *env) patch(t *testing.T, id, body string) *webhook.Webhook {
	t.Helper()
	h, err := e.s.Update(eventtest.Context(t.Context(), "ws"), id, "*", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// seen is the stored position of a webhook.
func (e *env) seen(t *testing.T, id string) int64 {
	t.Helper()
	var n int64
	if err := e.d.QueryRow(t.Context(), `SELECT seen FROM webhooks WHERE ws = $1 AND id = $2`, "ws", id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFilterPicksWhatIsSent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{})
		r := newReceiver(t, ok)
		h := e.filtered(t, r.URL, "eq(data.to,active)") // event 1
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", `entity.status_changed a {"to":"active"}`, `entity.status_changed a {"to":"draft"}`, `survey.paused a {"to":"active"}`, `entity.status_changed b {"to":"active"}`)
		e.await(t, "ws", h.ID, "delivered", 2)

		// Another filter holds for what comes, and not for what was left out.
		e.patch(t, h.ID, `{"filter":"eq(data.to,draft)"}`) // event 6
		eventtest.Append(t, d, e.l, "ws", `entity.status_changed a {"to":"active"}`, `entity.status_changed a {"to":"draft"}`)
		e.await(t, "ws", h.ID, "delivered", 3)
		if got := r.seqs(); !slices.Equal(got, []int64{2, 5, 8}) {
			t.Errorf("received %v, want 2, 5 and 8", got)
		}

		// A replay is filtered too.
		if _, err := e.s.Replay(eventtest.Context(t.Context(), "ws"), h.ID, webhook.Replay{From: 1}); err != nil {
			t.Fatal(err)
		}
		eventtest.Eventually(t, "3 and 8 are sent again", func() bool { return slices.Equal(r.seqs(), []int64{2, 3, 5, 8, 8}) })
	})
}

// What a webhook has left out it does not send because of a new filter, also
// when the process that had looked is gone.
func TestNewFilterLeavesThePastAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{})
		r := newReceiver(t, ok)
		h := e.filtered(t, r.URL, "eq(subject,a)") // event 1
		eventtest.Append(t, d, e.l, "ws", "entity.updated b", "entity.updated b", "entity.updated a", "entity.updated b")
		e.patch(t, h.ID, `{"filter":"eq(subject,b)"}`) // event 6
		if got := e.seen(t, h.ID); got != 3 {
			t.Errorf("position = %d, want 3: what was to be sent is still to be looked at", got)
		}
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "entity.updated b")
		e.await(t, "ws", h.ID, "delivered", 2)
		if got := r.seqs(); !slices.Equal(got, []int64{5, 7}) {
			t.Errorf("received %v, want 5, which nobody had looked at, and 7", got)
		}
	})
}

// Events that do not fit move the stored position on, now and then.
func TestFilterMovesThePosition(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{})
		h := e.filtered(t, "https://example.org/", "eq(subject,nobody)")
		ctx := eventtest.Context(t.Context(), "ws")
		err := d.InTx(ctx, func(tx *db.Tx) error {
			for i := range 700 {
				if err := e.l.Append(ctx, tx, event.Event{Type: "entity.updated", Subject: fmt.Sprint(i)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		e.run(t)
		eventtest.Eventually(t, "the position is stored", func() bool { return e.seen(t, h.ID) >= 500 })
	})
}

// A pattern that no type fits any more hinders no other change.
func TestPatternOfNoUse(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t), open{})
	h := e.create(t, "ws", "https://example.org/", "entity.*")
	if _, err := e.d.Exec(t.Context(), `UPDATE webhooks SET events = $1 WHERE ws = $2 AND id = $3`, `["gone.*"]`, "ws", h.ID); err != nil { // as an upgrade would leave it
		t.Fatal(err)
	}
	if got := e.patch(t, h.ID, `{"active":false}`); got.Active || !slices.Equal(got.Events, event.Filter{"gone.*"}) {
		t.Errorf("switched off = %+v, want it off and otherwise as it was", got)
	}
	_, err := e.s.Update(eventtest.Context(t.Context(), "ws"), h.ID, "*", []byte(`{"events":["gone.*","key.*"]}`))
	if fault.CodeOf(err) != "WEBHOOK_INVALID" {
		t.Errorf("other patterns, one of no use = %v, want WEBHOOK_INVALID", err)
	}
}

// A filter that this program does not understand any more shows, stops nothing
// else, and loses nothing.
func TestFilterOfNoUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{})
		r, other := newReceiver(t, ok), newReceiver(t, ok)
		h := e.filtered(t, r.URL, "eq(subject,a)")                                                                                            // event 1
		neighbour := e.create(t, "ws", other.URL, "entity.*")                                                                                 // event 2
		if _, err := d.Exec(t.Context(), `UPDATE webhooks SET filter = $1 WHERE ws = $2 AND id = $3`, "eq(gone,a)", "ws", h.ID); err != nil { // as an upgrade would leave it
			t.Fatal(err)
		}
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "entity.updated a", "entity.updated b")
		e.await(t, "ws", neighbour.ID, "delivered", 2)
		got, err := e.s.Get(eventtest.Context(t.Context(), "ws"), h.ID)
		if err != nil || !got.Active || got.Filter != "eq(gone,a)" || !strings.Contains(got.FilterError, `There is no field "gone".`) {
			t.Fatalf("Get = %+v, %v, want it to say what is wrong", got, err)
		}
		if sent := r.seqs(); len(sent) > 0 {
			t.Errorf("sent %v although nobody knows what to send", sent)
		}
		if got := e.patch(t, h.ID, `{"description":"who made this?"}`); got.FilterError == "" {
			t.Error("after another change the filter is said to be good")
		}
		ctx := eventtest.Context(t.Context(), "ws")
		if _, err := e.s.Update(ctx, h.ID, "*", []byte(`{"filter":"eq(gone,b)"}`)); fault.CodeOf(err) != "WEBHOOK_INVALID" {
			t.Errorf("another filter of no use = %v, want WEBHOOK_INVALID", err)
		}
		if got := e.patch(t, h.ID, `{"filter":"eq(subject,a)"}`); got.FilterError != "" {
			t.Errorf("filterError = %q after the cure", got.FilterError)
		}
		e.await(t, "ws", h.ID, "delivered", 1)
		if got := r.seqs(); !slices.Equal(got, []int64{3}) {
			t.Errorf("received %v, want 3, which has waited", got)
		}
	})
}
