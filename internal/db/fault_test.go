package db_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

var errBoom = errors.New("boom")

func TestPanicComesOutOfItsCallerOnly(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	out := together(t, d,
		put(t, 1),
		func(tx *db.Tx) error {
			if err := insert(t.Context(), tx, 5); err != nil {
				return err
			}
			panic(errBoom)
		},
		put(t, 2))
	wantNil(t, out[0], out[2])
	p, ok := out[1].panic.(*db.Panic)
	if !ok {
		t.Fatalf("panic value = %v, want *db.Panic", out[1].panic)
	}
	if !errors.Is(p, errBoom) || !strings.Contains(p.Error(), "fault_test.go") {
		t.Errorf("panic = %v, want the cause and the stack of this file", p)
	}
	wantStored(t, d, "1 2")
}

func TestPanicAndGoexitStoreNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		for name, end := range map[string]func(){
			"panic":  func() { panic(errBoom) },
			"goexit": runtime.Goexit,
		} {
			gone := make(chan bool, 1)
			go func() {
				returned := false
				defer func() {
					_ = recover()
					gone <- returned
				}()
				_ = d.InTx(context.WithoutCancel(t.Context()), func(tx *db.Tx) error {
					if err := insert(t.Context(), tx, 1); err != nil {
						return err
					}
					tx.AfterCommit(func() { t.Errorf("%s: AfterCommit ran", name) })
					end()
					return nil
				})
				returned = true
			}()
			if <-gone {
				t.Errorf("%s: InTx returned", name)
			}
			wantStored(t, d, "")
		}
		if err := d.InTx(t.Context(), put(t, 2)); err != nil {
			t.Errorf("InTx afterwards: %v", err)
		}
		wantStored(t, d, "2")
	})
}

func TestStuckFunctionIsTakenOver(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Second)
	end, late := make(chan struct{}), make(chan error, 1)
	errs := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		errs <- d.InTx(context.WithoutCancel(t.Context()), func(tx *db.Tx) error {
			err := insert(t.Context(), tx, 5)
			close(started)
			<-end
			late <- errors.Join(err, insert(t.Context(), tx, 6))
			return nil
		})
	}()
	<-started
	after := make(chan error, 2)
	for i := range 2 {
		go func() { after <- d.InTx(t.Context(), put(t, i+1)) }()
	}
	wantCode(t, <-errs, "TRANSACTION_TIMEOUT")
	for range 2 {
		if err := <-after; err != nil {
			t.Errorf("neighbour: %v", err)
		}
	}
	close(end) // only now does the stuck function go on, with a dead Tx
	wantCode(t, <-late, "TRANSACTION_TIMEOUT")
	wantStored(t, d, "1 2")
	if n := d.Stats().Takeovers; n != 1 {
		t.Errorf("takeovers = %d, want 1", n)
	}
	if err := d.InTx(t.Context(), put(t, 3)); err != nil {
		t.Errorf("InTx afterwards: %v", err)
	}
}

// A nested InTx waits for the writer it is running in. The watchdog frees it;
// what cannot be helped is that the inner one is then stored alone.
func TestNestedInTxDoesNotStopTheWriter(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Second)
	inner := make(chan error, 1)
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		if err := insert(t.Context(), tx, 1); err != nil {
			return err
		}
		inner <- d.InTx(t.Context(), put(t, 2))
		return nil
	})
	wantCode(t, err, "TRANSACTION_TIMEOUT")
	if err := <-inner; err != nil {
		t.Errorf("inner InTx: %v", err)
	}
	if err := d.InTx(t.Context(), put(t, 3)); err != nil {
		t.Errorf("next InTx: %v", err)
	}
	wantStored(t, d, "2 3")
}

func TestStuckWhileClosing(t *testing.T) {
	t.Parallel()
	d := batchStore(t, 300*time.Millisecond)
	started, end := make(chan struct{}), make(chan struct{})
	errs := make(chan error, 1)
	go func() {
		errs <- d.InTx(context.WithoutCancel(t.Context()), func(*db.Tx) error {
			close(started)
			<-end
			return nil
		})
	}()
	<-started
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wantCode(t, <-errs, "TRANSACTION_TIMEOUT")
	close(end)
	wantCode(t, d.InTx(t.Context(), put(t, 1)), "STORE_UNAVAILABLE")
	wantCode(t, d.Ping(t.Context()), "STORE_UNAVAILABLE")
}

// SQLite may end the whole transaction because of one statement. ROLLBACK
// here does what such an error does.
func TestLostTransactionRunsItsCallersAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		stored string
	}{
		{"its function saw an error", errBoom, "1 3"},
		{"its function saw nothing", nil, "1 2 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := batchStore(t, time.Minute)
			var runs [3]atomic.Int32
			once := func(i int, fn func(*db.Tx) error) func(*db.Tx) error {
				return func(tx *db.Tx) error {
					runs[i].Add(1)
					return fn(tx)
				}
			}
			out := together(t, d,
				once(0, put(t, 1)),
				once(1, func(tx *db.Tx) error {
					if err := insert(t.Context(), tx, 2); err != nil {
						return err
					}
					if runs[1].Load() == 1 {
						if err := d.OnWriter("ROLLBACK"); err != nil {
							return err
						}
						return tt.err
					}
					return nil
				}),
				once(2, put(t, 3)))
			wantNil(t, out[0], out[2])
			if !errors.Is(out[1].err, tt.err) {
				t.Errorf("second: %v, want %v", out[1].err, tt.err)
			}
			wantStored(t, d, tt.stored)
			if n := runs[0].Load(); n != 2 {
				t.Errorf("the first function ran %d times, want 2", n)
			}
		})
	}
}

func TestAfterCommit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx := t.Context()
		var seen []int
		err := d.InTx(ctx, func(tx *db.Tx) error {
			tx.AfterCommit(func() { seen = append(seen, count(t, d)) })
			tx.AfterCommit(func() { seen = append(seen, -1) })
			if len(seen) != 0 {
				t.Error("AfterCommit ran before the commit")
			}
			return insert(ctx, tx, 1)
		})
		if err != nil || len(seen) != 2 || seen[0] != 1 || seen[1] != -1 {
			t.Errorf("InTx = %v, AfterCommit saw %v; want nil and [1 -1]", err, seen)
		}
		err = d.InTx(ctx, func(tx *db.Tx) error {
			tx.AfterCommit(func() { t.Error("AfterCommit ran after a rollback") })
			return errBoom
		})
		if !errors.Is(err, errBoom) {
			t.Errorf("InTx = %v, want %v", err, errBoom)
		}
	})
}

func TestTxDiesWithItsFunction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx := t.Context()
		var leaked *db.Tx
		var rows db.Rows
		err := d.InTx(ctx, func(tx *db.Tx) (err error) {
			leaked = tx
			if err := insert(ctx, tx, 1); err != nil {
				return err
			}
			rows, err = tx.Query(ctx, `SELECT id FROM item UNION ALL SELECT id + 1 FROM item`)
			if err == nil && !rows.Next() {
				t.Error("no row")
			}
			return err // rows stay open
		})
		if err != nil {
			t.Fatalf("InTx: %v", err)
		}
		if rows.Next() || rows.Err() == nil {
			t.Errorf("leaked rows still walk, error %v", rows.Err())
		}
		var id int
		if err := rows.Scan(&id); err == nil {
			t.Error("leaked rows can be scanned")
		}
		if err := insert(ctx, leaked, 2); err == nil {
			t.Error("a leaked Tx can write")
		}
		if err := leaked.QueryRow(ctx, `SELECT 1`).Scan(&id); err == nil {
			t.Error("a leaked Tx can read")
		}
		if err := rows.Close(); err != nil {
			t.Errorf("Close of leaked rows: %v", err)
		}
		if err := d.InTx(ctx, put(t, 3)); err != nil {
			t.Errorf("InTx afterwards: %v", err)
		}
		wantStored(t, d, "1 3")
		// The store closes in the cleanup of the test: it would hang there.
	})
}

func TestControlStatementsAreRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		for _, sql := range []string{`COMMIT`, ` rollback`, "\n\tBegin;", `END`, `RELEASE fn`, `ROLLBACK TO fn`, `SAVEPOINT fn`, `PRAGMA synchronous=OFF`} {
			for name, run := range map[string]func(tx *db.Tx) error{
				"Exec": func(tx *db.Tx) error {
					_, err := tx.Exec(t.Context(), sql)
					return err
				},
				"QueryRow": func(tx *db.Tx) error { return tx.QueryRow(t.Context(), sql).Scan(new(int)) },
			} {
				err := d.InTx(t.Context(), func(tx *db.Tx) error {
					if err := insert(t.Context(), tx, 1); err != nil {
						return err
					}
					return run(tx)
				})
				if err == nil || !strings.Contains(err.Error(), "not for callers") {
					t.Errorf("%s %q = %v, want it refused", name, sql, err)
				}
			}
		}
		wantStored(t, d, "")
	})
}
