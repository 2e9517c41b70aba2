package webhook_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/outbound"
)

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	guarded, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, guarded)
		eventtest.Cases(t, "webhooks.json", d, e.l, eventtest.Serve(t, e.s.Routes))
	})
}

func TestWebhooksOfAWorkspaceAreLimited(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t), open{})
	for i := range 50 {
		e.create(t, "ws", fmt.Sprint("https://example.org/", i), "*")
	}
	_, err := e.s.Create(eventtest.Context(t.Context(), "ws"), webhook.Draft{URL: "https://example.org/", Events: []string{"*"}})
	if fault.CodeOf(err) != "TOO_MANY_WEBHOOKS" {
		t.Errorf("51st webhook = %v, want TOO_MANY_WEBHOOKS", err)
	}
	e.create(t, "other", "https://example.org/", "*")
}

// Whoever asks at once gets no more than whoever asks in turn.
func TestLimitHoldsInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{})
		ctx := eventtest.Context(t.Context(), "ws")
		for i := range 45 {
			e.create(t, "ws", fmt.Sprint("https://example.org/", i), "*")
		}
		var made, refused atomic.Int64
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				_, err := e.s.Create(ctx, webhook.Draft{URL: "https://example.org/", Events: []string{"*"}})
				switch {
				case err == nil:
					made.Add(1)
				case fault.CodeOf(err) == "TOO_MANY_WEBHOOKS":
					refused.Add(1)
				default:
					t.Errorf("create: %v", err)
				}
			})
		}
		wg.Wait()
		if made.Load() != 5 || refused.Load() != 15 {
			t.Errorf("%d made and %d refused, want 5 and 15", made.Load(), refused.Load())
		}
	})
}

// One look clears up after all that were deleted, however many.
func TestPurgeLeavesNone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{}, func(c *webhook.Config) { c.Sweep = time.Hour })
		for i := range 45 {
			h := e.create(t, "ws", fmt.Sprint("https://example.org/", i), "*")
			if _, err := e.s.Delete(eventtest.Context(t.Context(), "ws"), h.ID, "*"); err != nil {
				t.Fatal(err)
			}
		}
		e.run(t)
		eventtest.Eventually(t, "all deleted webhooks are gone", func() bool {
			var n int
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM webhooks WHERE ws = $1`, "ws").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 0
		})
	})
}

func TestSecretIsSealed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, open{})
		h := e.create(t, "ws", "https://example.org/", "*")
		var sealed []byte
		if err := d.QueryRow(t.Context(), `SELECT secret FROM webhooks WHERE ws = $1 AND id = $2`, "ws", h.ID).Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		if len(sealed) < 40 || bytes.Contains(sealed, []byte("whsec_")) {
			t.Errorf("stored secret = %q, want it sealed", sealed)
		}
		// It does not open in another row.
		other := e.create(t, "ws", "https://example.org/", "*")
		if _, err := d.Exec(t.Context(), `UPDATE webhooks SET secret = $1 WHERE ws = $2 AND id = $3`, sealed, "ws", other.ID); err != nil {
			t.Fatal(err)
		}
		out, err := e.s.Ping(eventtest.Context(t.Context(), "ws"), other.ID)
		if err != nil || out.Delivered || !strings.Contains(out.Error, "secret") {
			t.Errorf("Ping with a moved secret = %+v, %v, want it refused", out, err)
		}
	})
}

// After the bus has lost wake-ups every webhook looks, also those of workspaces
// nobody here has heard of.
func TestLostWakeUps(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		near, far := newReceiver(t, ok), newReceiver(t, ok)
		e := newEnv(t, d, open{}, func(c *webhook.Config) { c.Sweep = time.Hour })
		e.create(t, "near", near.URL, "job.finished")
		e.run(t)
		eventtest.Append(t, d, e.l, "near", "job.finished")
		eventtest.Eventually(t, "the first sweep is over", func() bool { return len(near.seqs()) == 1 })
		other := newEnv(t, d, open{}) // another instance; its wake-ups are lost
		other.create(t, "far", far.URL, "job.finished")
		eventtest.Append(t, d, other.l, "far", "job.finished")
		e.l.WakeAll()
		eventtest.Eventually(t, "the event of the other instance is sent", func() bool { return len(far.seqs()) == 1 })
	})
}

// A POST that is sent twice under one Idempotency-Key makes one webhook and
// shows the same secret.
func TestCreateOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		store := once.New(once.Config{DB: d, Key: testKey(t)})
		e := newEnv(t, d, open{}, func(c *webhook.Config) { c.Idem = store })
		h := eventtest.Serve(t, e.s.Routes)
		send := func(path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer ws owner")
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", path)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		const draft = `{"url":"https://example.org/","events":["*"]}`
		first, second := send("/v1/webhooks", draft), send("/v1/webhooks", draft)
		if first.Code != http.StatusCreated || second.Code != http.StatusCreated || first.Body.String() != second.Body.String() {
			t.Errorf("answers = %d %s and %d %s, want the same 201", first.Code, first.Body, second.Code, second.Body)
		}
		if second.Header().Get("Idempotent-Replayed") != "true" {
			t.Error("the second answer is not marked as replayed")
		}
		if r, err := e.l.Range(t.Context(), "ws"); err != nil || r.Newest != 1 {
			t.Errorf("log ends at %d, %v, want one event", r.Newest, err)
		}
		// Nobody runs: a second replay would be refused as still in progress.
		path := first.Header().Get("Location") + "/replay?from=1"
		first, second = send(path, ""), send(path, "")
		if first.Code != http.StatusAccepted || second.Code != http.StatusAccepted || first.Body.String() != second.Body.String() {
			t.Errorf("replays = %d %s and %d %s, want the same 202", first.Code, first.Body, second.Code, second.Body)
		}
		if r, err := e.l.Range(t.Context(), "ws"); err != nil || r.Newest != 2 {
			t.Errorf("log ends at %d, %v, want one event for the replay", r.Newest, err)
		}
	})
}

func TestExpireAndPurge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newReceiver(t, ok)
		down := newReceiver(t, func(message) int { return 500 })
		e := newEnv(t, d, open{}, func(c *webhook.Config) { c.Sweep = 20 * time.Millisecond })
		h, late := e.create(t, "ws", r.URL, "job.finished"), e.create(t, "ws", down.URL, "job.finished")
		e.run(t)
		for range 130 {
			eventtest.Append(t, d, e.l, "ws", "job.finished")
		}
		e.await(t, "ws", h.ID, "delivered", 130)
		e.await(t, "ws", late.ID, "pending", 130)
		if n, err := e.s.Expire(t.Context(), time.Now().Add(-time.Hour), 1000); err != nil || n != 0 {
			t.Errorf("Expire of an hour ago = %d, %v, want 0", n, err)
		}
		if n, err := e.s.Expire(t.Context(), time.Now().Add(time.Hour), 1000); err != nil || n != 130 {
			t.Errorf("Expire = %d, %v, want the 130 that are done", n, err)
		}
		if _, err := e.s.Delete(eventtest.Context(t.Context(), "ws"), late.ID, "*"); err != nil {
			t.Fatal(err)
		}
		eventtest.Eventually(t, "all rows of the deleted webhook are gone", func() bool {
			var hooks, rows int
			err := d.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM webhooks WHERE id = $1), (SELECT count(*) FROM webhook_deliveries WHERE webhook = $1)`, late.ID).Scan(&hooks, &rows)
			if err != nil {
				t.Fatal(err)
			}
			return hooks == 0 && rows == 0
		})
	})
}
