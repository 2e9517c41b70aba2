package db_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
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

// oneBatch runs functions in one batch and gives a channel with the answer of
// each; the sync of that batch is on its way, or done, when it returns.
func oneBatch(t *testing.T, d *db.DB, fns ...func(*db.Tx) error) []<-chan error {
	t.Helper()
	held, let := make(chan struct{}), make(chan struct{})
	later(t, d, func(*db.Tx) error { close(held); <-let; return nil })
	<-held
	var out []<-chan error
	for i, fn := range fns {
		out = append(out, later(t, d, fn))
		eventually(t, "the function is queued", func() bool { return d.Stats().Queued == int64(i+1) })
	}
	close(let)
	return out
}

// While a batch is being synced the next one runs, and nobody is answered.
func TestNextBatchFillsDuringTheSync(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	syncing, release := blockSync(t, d)
	// Two callers, for one alone is synced by the writer itself.
	out := oneBatch(t, d, put(t, 1), put(t, 2))
	first, second := out[0], out[1]
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
		if steps != "" && strings.Contains(steps, sql) {
			return errors.New(sql + ": input/output error")
		}
		return nil
	})
}

// Who could not be promised anything is told so, and nobody writes until the
// disk has kept it all. Reads go on.
func TestRefusedSyncIsToldAndHealed(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"alone": 1, "together": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := batchStore(t, time.Minute)
			failAt(d, "sync heal")
			fns := []func(*db.Tx) error{put(t, 1), put(t, 2), put(t, 3)}[:n]
			for i, o := range oneBatch(t, d, fns...) {
				err := <-o
				wantTrouble(t, err)
				if !db.OutcomeUnknown(err) {
					t.Errorf("caller %d: %v, want an error whose outcome is unknown", i, err)
				}
			}
			err := d.InTx(t.Context(), put(t, 4))
			wantTrouble(t, err)
			if db.OutcomeUnknown(err) {
				t.Errorf("error = %v, want one that surely stored nothing", err)
			}
			wantStored(t, d, []string{"", "1", "1 2", "1 2 3"}[n])
			failAt(d, "")
			if err := d.InTx(t.Context(), put(t, 4)); err != nil {
				t.Errorf("InTx of a healed store: %v", err)
			}
			wantStored(t, d, []string{"", "1 4", "1 2 4", "1 2 3 4"}[n])
		})
	}
}

// A batch that was filled while the disk refused would stand behind a hole in
// the log, where recovery never comes: it must not be promised.
func TestBatchBehindARefusedSync(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	syncing, let := make(chan struct{}, 10), make(chan struct{})
	var once atomic.Bool
	d.FailWriter(func(sql string) error {
		if sql != "sync" || once.Swap(true) {
			return nil // a disk tells of an error once
		}
		syncing <- struct{}{}
		<-let
		return errors.New("input/output error")
	})
	out := oneBatch(t, d, put(t, 1), put(t, 2))
	<-syncing
	ran := make(chan struct{})
	third := later(t, d, func(tx *db.Tx) error {
		defer close(ran)
		return insert(t.Context(), tx, 3)
	})
	<-ran
	close(let)
	for _, o := range out {
		if err := <-o; !db.OutcomeUnknown(err) {
			t.Errorf("a caller of the refused sync got %v, want that nobody knows", err)
		}
	}
	err := <-third
	wantTrouble(t, err)
	if db.OutcomeUnknown(err) {
		t.Errorf("the caller behind it got %v, want that nothing was stored", err)
	}
	wantStored(t, d, "1 2")
	if err := d.InTx(t.Context(), put(t, 4)); err != nil {
		t.Errorf("InTx after the disk has healed: %v", err)
	}
	wantStored(t, d, "1 2 4")
}

// A refusal that tells of rows not yet on disk waits for them too.
func TestFailedCallerWaitsForWhatItSaw(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	syncing, release := blockSync(t, d)
	first := later(t, d, put(t, 1))
	<-syncing
	ran := make(chan struct{})
	conflict := errors.New("it is there")
	second := later(t, d, func(tx *db.Tx) error {
		defer close(ran)
		return conflict
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := d.View(ctx, func(db.Querier) error { return conflict })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("View that fails during the sync: %v, want it to wait", err)
	}
	release()
	if err := <-first; err != nil {
		t.Fatalf("InTx: %v", err)
	}
	<-ran
	if err := <-second; !errors.Is(err, conflict) {
		t.Errorf("the second caller got %v, want its own error", err)
	}
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
