package webhook_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// saying answers with a status and a body that may repeat what came.
func saying(status *atomic.Int64, body func(sent string) string) doFunc {
	return func(r *http.Request) (*http.Response, error) {
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		a := answer(int(status.Load()))
		a.Body = io.NopCloser(strings.NewReader(body(string(sent))))
		return a, nil
	}
}

// A delivery that failed for good is sent again when somebody asks for it, and
// shows what was sent and answered each time.
func TestRedelivers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var status atomic.Int64
		status.Store(500)
		e := newEnv(t, d, saying(&status, func(string) string { return "out of order\n" }), func(c *webhook.Config) { c.MaxAttempts = 1 })
		h := e.create(t, "ws", "https://example.org/x", "entity.*")
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", `entity.created a {"type":"Stove"}`)
		seq := e.await(t, "ws", h.ID, "dead", 1)[0].Seq
		ctx := eventtest.Context(t.Context(), "ws")
		x, err := e.s.Delivery(ctx, h.ID, seq)
		if err != nil || x.Answer != "out of order\n" || !strings.Contains(x.Request, `"type":"entity.created"`) || x.LastStatus != 500 {
			t.Errorf("Delivery = %+v, %v; want what was sent and answered", x, err)
		}
		status.Store(200)
		again, err := e.s.Redeliver(ctx, h.ID, seq)
		if err != nil || again.Value.Status != "pending" || again.Value.Attempts != 0 || again.Status != http.StatusAccepted {
			t.Fatalf("Redeliver = %+v, %v; want it pending", again, err)
		}
		done := e.await(t, "ws", h.ID, "delivered", 1)
		if done[0].Seq != seq || done[0].Attempts != 1 || done[0].LastError != "" {
			t.Errorf("deliveries = %+v, want %d delivered at once", done, seq)
		}
		if _, err := e.s.Redeliver(ctx, h.ID, seq); err != nil {
			t.Errorf("Redeliver of what was delivered: %v", err)
		}
		e.await(t, "ws", h.ID, "delivered", 1)
		if _, err := e.s.Update(ctx, h.ID, "*", []byte(`{"active":false}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.s.Redeliver(ctx, h.ID, seq); fault.CodeOf(err) != "WEBHOOK_INACTIVE" {
			t.Errorf("Redeliver of one that is off = %v, want WEBHOOK_INACTIVE", err)
		}
	})
}

// An event that is under way is not sent a second time beside it, however often
// somebody asks.
func TestRedeliverWaits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		sent, goOn := make(chan struct{}, 10), make(chan struct{})
		e := newEnv(t, d, doFunc(func(*http.Request) (*http.Response, error) {
			sent <- struct{}{}
			<-goOn
			return answer(200), nil
		}))
		h := e.create(t, "ws", "https://example.org/x", "entity.*")
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "entity.created a")
		<-sent
		seq := e.deliveries(t, "ws", h.ID, "")[0].Seq
		for range 3 {
			if _, err := e.s.Redeliver(eventtest.Context(t.Context(), "ws"), h.ID, seq); fault.CodeOf(err) != "DELIVERY_IN_PROGRESS" {
				t.Errorf("Redeliver of one under way = %v, want DELIVERY_IN_PROGRESS", err)
			}
		}
		close(goOn)
		e.await(t, "ws", h.ID, "delivered", 1)
		if len(sent) > 0 {
			t.Error("the event was sent twice")
		}
	})
}

// A receiver that repeats what it got does not make us keep secrets, nor what is
// forgotten later, nor what was forgotten while it took its time.
func TestAnswersForget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var status atomic.Int64
		status.Store(200)
		var secret atomic.Value
		secret.Store("")
		hold, held := make(chan struct{}), make(chan struct{}, 1)
		e := newEnv(t, d, saying(&status, func(sent string) string {
			if strings.Contains(sent, `"slow"`) {
				held <- struct{}{}
				<-hold
			}
			return sent + secret.Load().(string) + " Bearer abcdefghijkl \x1b[2J" + strings.Repeat("é", 1000)
		}))
		h := e.create(t, "ws", "https://example.org/x", "entity.*")
		secret.Store(h.Secret + " " + strings.TrimPrefix(h.Secret, "whsec_"))
		e.run(t)
		ctx := eventtest.Context(t.Context(), "ws")
		eventtest.Append(t, d, e.l, "ws", `entity.created her {"name":"Achieng"}`)
		seq := e.await(t, "ws", h.ID, "delivered", 1)[0].Seq
		x, err := e.s.Delivery(ctx, h.ID, seq)
		if err != nil || !strings.Contains(x.Answer, "Achieng") || !strings.Contains(x.Request, "Achieng") || len(x.Answer) > 1000 {
			t.Fatalf("Delivery = %+v, %v; want what was said, 1,000 bytes at most", x, err)
		}
		for _, no := range []string{h.Secret, strings.TrimPrefix(h.Secret, "whsec_"), "abcdefghijkl", "\x1b"} {
			if strings.Contains(x.Answer, no) {
				t.Errorf("the answer shows %q: %s", no, x.Answer)
			}
		}
		eventtest.Append(t, d, e.l, "ws", `entity.updated slow {"name":"Achieng"}`)
		<-held
		for _, subject := range []string{"her", "slow"} {
			if _, err := e.l.Forget(t.Context(), "ws", subject); err != nil {
				t.Fatal(err)
			}
		}
		close(hold)
		for _, done := range e.await(t, "ws", h.ID, "delivered", 2) {
			if x, err := e.s.Delivery(ctx, h.ID, done.Seq); err != nil || strings.Contains(x.Request+x.Answer, "Achieng") {
				t.Errorf("Delivery after she was forgotten = %+v, %v", x, err)
			}
		}
	})
}

// What an expired event was is not shown, and it is not sent again.
func TestRedeliverExpired(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, doFunc(func(*http.Request) (*http.Response, error) { return answer(200), nil }))
		h := e.create(t, "ws", "https://example.org/x", "entity.*")
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "entity.created a", "entity.created b")
		done := e.await(t, "ws", h.ID, "delivered", 2)
		if _, err := e.l.Expire(t.Context(), time.Now().Add(time.Hour), 100); err != nil {
			t.Fatal(err)
		}
		ctx := eventtest.Context(t.Context(), "ws")
		if x, err := e.s.Delivery(ctx, h.ID, done[1].Seq); err != nil || x.Request != "" {
			t.Errorf("Delivery = %+v, %v; want no request", x, err)
		}
		if _, err := e.s.Redeliver(ctx, h.ID, done[1].Seq); fault.CodeOf(err) != "EVENTS_EXPIRED" {
			t.Errorf("Redeliver = %v, want EVENTS_EXPIRED", err)
		}
	})
}

// What a receiver says to an event about a person that has no data, as all have
// whose data were forgotten, is not kept, also when it is sent again.
func TestForgottenIsNotAnswered(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var status atomic.Int64
		status.Store(500)
		e := newEnv(t, d, saying(&status, func(string) string { return "Achieng is gone\n" }), func(c *webhook.Config) { c.MaxAttempts = 1 })
		h := e.create(t, "ws", "https://example.org/x", "entity.*")
		e.run(t)
		eventtest.Append(t, d, e.l, "ws", "entity.erased her")
		seq := e.await(t, "ws", h.ID, "dead", 1)[0].Seq
		ctx := eventtest.Context(t.Context(), "ws")
		if x, err := e.s.Delivery(ctx, h.ID, seq); err != nil || x.Answer != "" {
			t.Errorf("Delivery = %+v, %v; want no answer", x, err)
		}
	})
}
