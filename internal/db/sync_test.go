package db_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// blockSync stops every sync until the function it gives is called.
func blockSync(t *testing.T, d *db.DB) (syncing <-chan struct{}, release func()) {
	t.Helper()
	begun, let := make(chan struct{}, 100), make(chan struct{})
	d.FailWriter(func(sql string) error {
		if sql == "sync" {
			begun <- struct{}{}
			<-let
		}
		return nil
	})
	return begun, func() { d.FailWriter(nil); close(let) }
}

// later runs InTx in a goroutine of its own.
func later(t *testing.T, d *db.DB, fn func(tx *db.Tx) error) <-chan error {
	t.Helper()
	out := make(chan error, 1)
	go func() { out <- d.InTx(context.WithoutCancel(t.Context()), fn) }()
	return out
}

// While a batch is being synced the next one runs, and nobody is answered.
func TestNextBatchFillsDuringTheSync(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	syncing, release := blockSync(t, d)
	// Two callers, for one alone is synced by the writer itself.
	leave := hold(t, d)
	first, second := later(t, d, put(t, 1)), later(t, d, put(t, 2))
	eventually(t, "both are queued", func() bool { return d.Stats().Queued == 2 })
	go leave() // it waits for the same sync
	<-syncing
	ran := make(chan struct{})
	third := later(t, d, func(tx *db.Tx) error {
		defer close(ran)
		return insert(t.Context(), tx, 3)
	})
	<-ran
	for name, out := range map[string]<-chan error{"first": first, "second": second, "third": third} {
		select {
		case err := <-out:
			t.Errorf("the %s caller was answered before the sync: %v", name, err)
		default:
		}
	}
	release()
	for _, out := range []<-chan error{first, second, third} {
		if err := <-out; err != nil {
			t.Errorf("InTx: %v", err)
		}
	}
	wantStored(t, d, "1 2 3")
}

// What is not on disk yet is told to nobody.
func TestReadsWaitForTheSyncOfWhatTheySaw(t *testing.T) {
	t.Parallel()
	reads := map[string]func(ctx context.Context, d *db.DB) error{
		"QueryRow": func(ctx context.Context, d *db.DB) error {
			return d.QueryRow(ctx, `SELECT name FROM item WHERE id = $1`, 1).Scan(new(string))
		},
		"QueryRow without a row": func(ctx context.Context, d *db.DB) error {
			return d.QueryRow(ctx, `SELECT name FROM item WHERE id = $1`, 9).Scan(new(string))
		},
		"Query to its end": func(ctx context.Context, d *db.DB) error {
			rows, err := d.Query(ctx, `SELECT name FROM item`)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		},
		"Query closed early": func(ctx context.Context, d *db.DB) error {
			rows, err := d.Query(ctx, `SELECT name FROM item`)
			if err != nil {
				return err
			}
			rows.Next()
			return rows.Close()
		},
		"View": func(ctx context.Context, d *db.DB) error {
			return d.View(ctx, func(q db.Querier) error {
				return q.QueryRow(ctx, `SELECT name FROM item WHERE id = $1`, 1).Scan(new(string))
			})
		},
	}
	d := batchStore(t, time.Minute)
	syncing, release := blockSync(t, d)
	out := later(t, d, put(t, 1))
	<-syncing
	for name, read := range reads {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := read(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s during the sync: %v, want it to wait", name, err)
		}
		cancel()
	}
	release()
	if err := <-out; err != nil {
		t.Fatalf("InTx: %v", err)
	}
	for name, read := range reads {
		if err := read(t.Context(), d); err != nil && !strings.Contains(err.Error(), "no rows") {
			t.Errorf("%s after the sync: %v", name, err)
		}
	}
}

// failAt makes the named steps fail.
func failAt(d *db.DB, steps string) {
	d.FailWriter(func(sql string) error {
		if strings.Contains(steps, sql) {
			return errors.New(sql + ": input/output error")
		}
		return nil
	})
}

// A disk that refuses to sync the log has the file keep everything instead.
func TestRefusedSyncIsMended(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"alone": 1, "together": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := batchStore(t, time.Minute)
			failAt(d, "sync")
			fns := []func(*db.Tx) error{put(t, 1), put(t, 2), put(t, 3)}[:n]
			wantNil(t, together(t, d, fns...)...)
			// A copy of the file alone, as if the log were lost, has it all.
			only := filepath.Join(t.TempDir(), "only.db")
			data, err := os.ReadFile(d.Path())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(only, data, 0o600); err != nil {
				t.Fatal(err)
			}
			again, err := db.Open(t.Context(), db.Config{Path: only})
			if err != nil {
				t.Fatalf("open the copy: %v", err)
			}
			defer again.Close()
			wantStored(t, again, []string{"", "1", "1 2", "1 2 3"}[n])
		})
	}
}

// Who could not be promised anything is told so, and nobody writes until the
// disk has kept it all. Reads go on.
func TestUnsyncedStoreRefusesWritesAndHeals(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	failAt(d, "sync mend")
	err := d.InTx(t.Context(), put(t, 1))
	wantTrouble(t, err)
	if !db.OutcomeUnknown(err) {
		t.Errorf("error = %v, want one whose outcome is unknown", err)
	}
	err = d.InTx(t.Context(), put(t, 2))
	wantTrouble(t, err)
	if db.OutcomeUnknown(err) {
		t.Errorf("error = %v, want one that surely stored nothing", err)
	}
	wantStored(t, d, "1")
	d.FailWriter(nil)
	if err := d.InTx(t.Context(), put(t, 2)); err != nil {
		t.Errorf("InTx of a healed store: %v", err)
	}
	wantStored(t, d, "1 2")
}

// A failed COMMIT leaves nothing to wait for.
func TestFailedCommitHoldsUpNoReader(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	failAt(d, "COMMIT")
	if err := d.InTx(t.Context(), put(t, 1)); err == nil {
		t.Error("InTx with a failing COMMIT succeeded")
	}
	wantStored(t, d, "")
}
