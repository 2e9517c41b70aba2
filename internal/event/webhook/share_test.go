package webhook_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
)

// TestOneFollows: of two processes the one that follows for a webhook delivers, and when the
// other one does from now on, that delivers what is new and what was left.
func TestOneFollows(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	var follower, turns atomic.Int64
	var sent [2]atomic.Int64
	r := newReceiver(t, ok)
	envs := make([]*env, 2)
	for i := range envs {
		client := doFunc(func(q *http.Request) (*http.Response, error) {
			sent[i].Add(1)
			return open{}.Do(q)
		})
		envs[i] = newEnv(t, d, client, func(c *webhook.Config) {
			c.Follows = func(string) bool { return follower.Load() == int64(i) }
			c.Turns, c.Sweep = turns.Load, time.Hour
		})
	}
	h := envs[0].create(t, "ws", r.URL, "job.finished")
	for _, e := range envs {
		e.run(t)
	}
	add := func(n int) {
		t.Helper()
		for range n {
			eventtest.Append(t, d, envs[0].l, "ws", "job.finished")
			envs[1].l.Wake("ws")
		}
	}
	add(20)
	envs[0].await(t, "ws", h.ID, "delivered", 20)
	if got := sent[1].Load(); got != 0 {
		t.Errorf("the one that does not follow has sent %d", got)
	}
	follower.Store(2) // nobody knows yet
	add(20)
	follower.Store(1)
	turns.Add(1)
	envs[0].await(t, "ws", h.ID, "delivered", 40)
	add(10)
	envs[0].await(t, "ws", h.ID, "delivered", 50)
	if one, two := sent[0].Load(), sent[1].Load(); one+two != 50 || two < 10 {
		t.Errorf("one has sent %d and the other %d, want 50 in all", one, two)
	}
}
