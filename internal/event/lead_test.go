package event_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestLead: of two processes one gives numbers, before readers of the other look; without
// it readers find their events all the same.
func TestLead(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	var led atomic.Bool
	led.Store(true)
	var one, two *event.Log
	both := func(f func(*event.Log, string)) func(string) {
		return func(ws string) { f(one, ws); f(two, ws) }
	}
	make := func(leads func() bool) *event.Log {
		return event.New(event.Config{
			DB: d, Cursors: web.Cursors{Key: []byte("k")}, Log: dbtest.Log(t), Leads: leads, Publish: both((*event.Log).Wake),
			Reads: both((*event.Log).HasReaders), Numbered: both((*event.Log).HasNumbers),
		})
	}
	one, two = make(led.Load), make(func() bool { return false })
	ctx, stop := context.WithCancel(t.Context())
	var leading sync.WaitGroup
	for _, l := range []*event.Log{one, two} {
		leading.Go(func() { _ = l.Lead(ctx) })
	}
	defer leading.Wait()
	defer stop()
	for tick := time.Tick(time.Millisecond); !one.Leading() || !two.Leading(); {
		<-tick
	}
	sub := two.Subscribe("ws")
	defer sub.Close()
	after := int64(0)
	for i := range 30 {
		if i == 20 {
			led.Store(false) // it has died
		}
		b, err := two.Read(t.Context(), event.Query{Workspace: "ws", After: after, Limit: 10})
		if err != nil || len(b.Items) > 1 {
			t.Fatalf("%d: Read = %+v, %v", i, b, err)
		}
		after = b.Next
		err = d.InTx(t.Context(), func(tx *db.Tx) error {
			return two.Append(t.Context(), tx, event.Event{Workspace: "ws", Type: "entity.created", Subject: "did:x:1"})
		})
		if err != nil {
			t.Fatal(err)
		}
		for after < int64(i+1) { // a wake-up may be of the one before
			select {
			case <-sub.C:
			case <-time.After(time.Minute):
				t.Fatalf("event %d woke nobody", i+1)
			}
			if led.Load() {
				var fresh bool
				if err := d.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM events WHERE ws = 'ws' AND seq IS NULL)`).Scan(&fresh); err != nil {
					t.Fatal(err)
				}
				if fresh {
					continue
				}
			}
			b, err := two.Read(t.Context(), event.Query{Workspace: "ws", After: after, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			after = b.Next
		}
	}
}
