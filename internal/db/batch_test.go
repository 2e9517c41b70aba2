package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// batchStore is SQLite whose batches are split by nothing but the test.
func batchStore(t *testing.T, limit time.Duration) *db.DB {
	t.Helper()
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.TxLimit = limit }))
	d.SetMaxFill(time.Hour)
	// Not through the writer: on a busy machine this may pass a short limit.
	for _, sql := range tables {
		if err := db.RunOn(d.Path(), sql); err != nil {
			t.Fatalf("create schema: %v", err)
		}
	}
	return d
}

// eventually polls until ok, for states that have no channel.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// hold blocks the writer until release is called.
func hold(t *testing.T, d *db.DB) (release func()) {
	t.Helper()
	started, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	start := sync.OnceFunc(func() { close(started) }) // it may run twice
	go func() {
		done <- d.InTx(context.WithoutCancel(t.Context()), func(*db.Tx) error {
			start()
			<-end
			return nil
		})
	}()
	<-started
	return func() {
		t.Helper()
		close(end)
		if err := <-done; err != nil {
			t.Errorf("the holding transaction: %v", err)
		}
	}
}

// outcome is how one InTx ended.
type outcome struct {
	err   error
	panic any
}

// together runs functions in one batch, in this order, and reports how each
// ended.
func together(t *testing.T, d *db.DB, fns ...func(tx *db.Tx) error) []outcome {
	t.Helper()
	release := hold(t, d)
	out := make([]chan outcome, len(fns))
	for i, fn := range fns {
		out[i] = make(chan outcome, 1)
		go func() {
			var o outcome
			defer func() {
				o.panic = recover()
				out[i] <- o
			}()
			o.err = d.InTx(context.WithoutCancel(t.Context()), fn)
		}()
		eventually(t, "the function is queued", func() bool { return d.Stats().Queued == int64(i+1) })
	}
	release()
	res := make([]outcome, len(fns))
	for i := range out {
		res[i] = <-out[i]
	}
	return res
}

// put inserts one item.
func put(t *testing.T, id int) func(tx *db.Tx) error {
	return func(tx *db.Tx) error { return insert(t.Context(), tx, id) }
}

func insert(ctx context.Context, q db.Querier, id int) error {
	_, err := q.Exec(ctx, `INSERT INTO item(id, name) VALUES ($1, $2)`, id, fmt.Sprint("n", id))
	return err
}

// stored lists the ids of all items.
func stored(t *testing.T, d *db.DB) string {
	t.Helper()
	rows, err := d.Query(t.Context(), `SELECT id FROM item ORDER BY id`)
	if err != nil {
		t.Fatalf("list items: %v", err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			t.Fatalf("scan: %v", err)
		}
		ids = append(ids, fmt.Sprint(id))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("list items: %v", err)
	}
	return strings.Join(ids, " ")
}

func wantStored(t *testing.T, d *db.DB, want string) {
	t.Helper()
	if got := stored(t, d); got != want {
		t.Errorf("stored = %q, want %q", got, want)
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("error = %v with code %q, want code %q", err, got, code)
	}
}

func wantNil(t *testing.T, outs ...outcome) {
	t.Helper()
	for i, o := range outs {
		if o.err != nil || o.panic != nil {
			t.Errorf("neighbour %d: error %v, panic %v; want neither", i, o.err, o.panic)
		}
	}
}

func TestOneCommitForAllWhoWait(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	before := d.Stats()
	wantNil(t, together(t, d, put(t, 1), put(t, 2), put(t, 3))...)
	wantStored(t, d, "1 2 3")
	after := d.Stats()
	if n := after.Commits - before.Commits; n != 1 {
		t.Errorf("commits = %d, want 1", n)
	}
	if after.MaxBatch != 4 || after.Callers-before.Callers != 4 {
		t.Errorf("MaxBatch = %d, callers = %d; want 4 and 4", after.MaxBatch, after.Callers-before.Callers)
	}
}

func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	const n = 700
	release := hold(t, d)
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- d.InTx(t.Context(), put(t, i)) }()
	}
	eventually(t, "all are queued", func() bool { return d.Stats().Queued == n })
	release()
	for range n {
		if err := <-errs; err != nil {
			t.Errorf("InTx: %v", err)
		}
	}
	if got := count(t, d); got != n {
		t.Errorf("stored %d rows, want %d", got, n)
	}
	if got := d.Stats().MaxBatch; got != 512 {
		t.Errorf("MaxBatch = %d, want 512", got)
	}
}

func TestConstraintErrorLeavesNeighboursAlone(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	out := together(t, d,
		put(t, 1),
		func(tx *db.Tx) error {
			if err := insert(t.Context(), tx, 5); err != nil {
				return err
			}
			return insert(t.Context(), tx, 1) // sees the first one's row
		},
		put(t, 2),
		func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO part(id, item) VALUES (1, 99)`)
			return err
		},
		put(t, 3))
	wantNil(t, out[0], out[2], out[4])
	if !db.IsUnique(out[1].err) {
		t.Errorf("second: %v, want a unique violation", out[1].err)
	}
	if !db.IsForeignKey(out[3].err) {
		t.Errorf("fourth: %v, want a foreign key violation", out[3].err)
	}
	wantStored(t, d, "1 2 3")
}

func TestSwallowedStatementErrorRollsBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			if err := insert(t.Context(), tx, 1); err != nil {
				return err
			}
			insert(t.Context(), tx, 1) //nolint:errcheck // the point of the test
			if err := insert(t.Context(), tx, 2); err == nil {
				t.Error("a statement after a failed one worked")
			}
			return nil
		})
		if !db.IsUnique(err) {
			t.Errorf("InTx = %v, want the unique violation", err)
		}
		wantStored(t, d, "")
	})
}

func TestCancelledCallerLeavesNeighboursAlone(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	out := together(t, d,
		put(t, 1),
		func(tx *db.Tx) error {
			if err := insert(ctx, tx, 5); err != nil {
				return err
			}
			cancel() // the client leaves in the middle
			return insert(ctx, tx, 6)
		},
		put(t, 2))
	wantNil(t, out[0], out[2])
	if !errors.Is(out[1].err, context.Canceled) {
		t.Errorf("cancelled caller: %v, want context.Canceled", out[1].err)
	}
	wantStored(t, d, "1 2")
}

func TestQueuedAndCancelledReturnsAtOnce(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	release := hold(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	ran := make(chan struct{}, 1)
	go func() {
		done <- d.InTx(ctx, func(tx *db.Tx) error {
			ran <- struct{}{}
			return insert(ctx, tx, 1)
		})
	}()
	eventually(t, "the function is queued", func() bool { return d.Stats().Queued == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) { // while the writer is still held
		t.Errorf("InTx = %v, want context.Canceled", err)
	}
	release()
	if err := d.InTx(t.Context(), put(t, 2)); err != nil {
		t.Errorf("next InTx: %v", err)
	}
	if len(ran) != 0 {
		t.Error("the function ran after its caller had left")
	}
	wantStored(t, d, "2")
}

func TestCommitIsAwaitedWhateverCtxSays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		err := d.InTx(ctx, func(tx *db.Tx) error {
			defer cancel()
			return insert(ctx, tx, 1)
		})
		if err != nil {
			t.Errorf("InTx = %v, want nil: the row is stored", err)
		}
		wantStored(t, d, "1")
		if err := d.InTx(ctx, put(t, 2)); !errors.Is(err, context.Canceled) {
			t.Errorf("InTx with an ended context = %v, want context.Canceled", err)
		}
		wantStored(t, d, "1")
	})
}
