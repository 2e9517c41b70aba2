package db_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// TestDeadLinkHoldsNobody: whoever meets a link that has died in silence has an error
// within the limit of their lane, and the store serves again when it is back.
func TestDeadLinkHoldsNobody(t *testing.T) {
	t.Parallel()
	k, dsn := dbtest.NewLink(t, dbtest.Migrated(t))
	d, err := db.Open(t.Context(), db.Config{URL: dsn, Conns: 4, Log: dbtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	read := func(ctx context.Context) error { return d.Ping(ctx) }
	write := func(ctx context.Context) error { return db.Writable(ctx, d) }
	look := func(ctx context.Context) error {
		return d.View(ctx, func(q db.Querier) error { return q.QueryRow(ctx, `SELECT 1`).Scan(new(int)) })
	}
	lanes := map[db.Lane]time.Duration{db.Request: 15 * time.Second, db.Handset: 3500 * time.Millisecond, db.Control: 8 * time.Second}
	for l := range lanes {
		if err := write(d.Lane(t.Context(), l)); err != nil {
			t.Fatal(err)
		}
	}
	thaw := k.Freeze()
	t.Cleanup(thaw)
	var all sync.WaitGroup
	for l, limit := range lanes {
		for name, f := range map[string]func(context.Context) error{"read": read, "write": write, "view": look} {
			all.Go(func() {
				began := time.Now()
				err := f(d.Lane(t.Context(), l))
				if fault.As(err) == nil {
					t.Errorf("%s in lane %d over a dead link: %v, want a fault", name, l, err)
				}
				// A busy machine may be late by a multiple, but never without end.
				if took := time.Since(began); took > 3*limit {
					t.Errorf("%s in lane %d over a dead link took %s, at most %s", name, l, took, limit)
				}
			})
		}
	}
	all.Go(func() { // one request that asks again and again
		ctx, began := d.Lane(t.Context(), db.Request), time.Now()
		for range 4 {
			for name, f := range map[string]func(context.Context) error{"read": read, "write": write, "view": look} {
				if err := f(ctx); fault.As(err) == nil {
					t.Errorf("%s over a dead link: %v, want a fault", name, err)
				}
			}
		}
		if took, limit := time.Since(began), lanes[db.Request]; took > 3*limit {
			t.Errorf("twelve statements of a request over a dead link took %s, at most %s", took, limit)
		}
	})
	all.Wait()
	thaw()
	for l := range lanes {
		eventually(t, "the store serves again", func() bool { return write(d.Lane(t.Context(), l)) == nil })
	}
}

// TestFewWaitAtARow: transactions for one row leave connections to others.
func TestFewWaitAtARow(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	var in, most atomic.Int64
	release := make(chan struct{})
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			ctx := d.Row(d.Lane(t.Context(), db.Request), "probe")
			err := d.InTx(ctx, func(*db.Tx) error {
				// Within one transaction another finds its place taken by ourselves.
				if err := d.InTx(ctx, func(*db.Tx) error { return nil }); err != nil {
					return err
				}
				n := in.Add(1)
				defer in.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				<-release
				return nil
			})
			if code := fault.CodeOf(err); err != nil && code != "STORE_BUSY" {
				t.Errorf("InTx: %v", err)
			}
		})
	}
	eventually(t, "the row is crowded", func() bool { return in.Load() == 5 })
	if err := db.Writable(t.Context(), d); err != nil { // of 8 connections three are free
		t.Errorf("a change of another row: %v", err)
	}
	close(release)
	all.Wait()
	if most.Load() != 5 {
		t.Errorf("%d transactions for one row had a connection, want 5", most.Load())
	}
}
