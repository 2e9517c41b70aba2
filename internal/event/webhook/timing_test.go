package webhook_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
)

// Three days pass in no time: a receiver that is down is tried twelve times at
// growing intervals, then the delivery is a dead letter; a replay sends it.
func TestBackoffOverThreeDays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		// The store's watchdog ticks through these three days too.
		fewTicks := dbtest.With(func(c *db.Config) { c.TxLimit = time.Hour })
		var up atomic.Bool
		attempts := make(chan time.Duration, 100)
		e := newEnv(t, dbtest.SQLite(t, fewTicks), doFunc(func(*http.Request) (*http.Response, error) {
			attempts <- time.Since(start)
			if up.Load() {
				return answer(200), nil
			}
			return answer(503), nil
		}), func(c *webhook.Config) {
			c.Chance = func() float64 { return 0 }
			c.Sweep = 24 * time.Hour
		})
		h := e.create(t, "ws", "https://example.org/", "job.finished")
		stop := e.run(t)
		eventtest.Append(t, e.d, e.l, "ws", "job.finished")
		at := <-attempts
		for i, wait := range []time.Duration{8, 24, 72, 216, 648, 1944, 5832, 17496, 52488, 86400, 86400} {
			next := <-attempts
			if off := next - at - wait*time.Second; off < -time.Second || off > time.Second {
				t.Errorf("attempt %d came %v after the one before, want %v", i+2, next-at, wait*time.Second)
			}
			at = next
		}
		dead := e.await(t, "ws", h.ID, "dead", 1)
		if dead[0].Attempts != 12 || dead[0].LastStatus != 503 {
			t.Errorf("dead letter = %+v, want 12 attempts and 503", dead[0])
		}
		up.Store(true)
		if _, err := e.s.Replay(eventtest.Context(t.Context(), "ws"), h.ID, webhook.Replay{From: dead[0].Seq}); err != nil {
			t.Fatal(err)
		}
		<-attempts
		if got := e.await(t, "ws", h.ID, "delivered", 1); got[0].Attempts != 1 {
			t.Errorf("after the replay = %+v, want one attempt", got[0])
		}
		stop()
		if n := len(attempts); n != 0 {
			t.Errorf("%d attempts too many", n)
		}
	})
}
