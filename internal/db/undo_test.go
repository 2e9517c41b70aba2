package db_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// counted is a function with what happened to it.
type counted struct {
	fn            func(tx *db.Tx) error
	runs, commits atomic.Int32
}

func (c *counted) run(tx *db.Tx) error {
	c.runs.Add(1)
	tx.AfterCommit(func() { c.commits.Add(1) })
	return c.fn(tx)
}

// In an open batch nobody has a savepoint: who fails after a change takes the
// others with it, and they run again.
func TestFailureAfterAChangeLeavesNeighboursAlone(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for name, end := range map[string]func() error{
		"error":  func() error { return errBoom },
		"panic":  func() error { panic(errBoom) },
		"goexit": func() error { runtime.Goexit(); return nil },
		"stuck":  func() error { <-release; return nil },
	} {
		for _, guarded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, guarded %v", name, guarded), func(t *testing.T) {
				t.Parallel()
				d := batchStore(t, time.Second)
				if guarded {
					wantNoError(t, d.InTx(t.Context(), func(*db.Tx) error { d.Guard(100); return nil }))
				}
				list := make([]*counted, 5)
				fns := make([]func(*db.Tx) error, len(list))
				for i := range list {
					list[i] = &counted{fn: put(t, i+1)}
					fns[i] = list[i].run
				}
				list[2].fn = func(tx *db.Tx) error {
					if err := insert(t.Context(), tx, 3); err != nil {
						return err
					}
					return end()
				}
				out := together(t, d, fns...)
				wantNil(t, out[0], out[1], out[3], out[4])
				wantStored(t, d, "1 2 4 5")
				for i, c := range list {
					runs, commits := int32(1), int32(1)
					if i < 2 && !guarded {
						runs = 2
					}
					if i == 2 {
						commits = 0
					}
					if c.runs.Load() != runs || c.commits.Load() != commits {
						t.Errorf("function %d: %d runs, %d commits; want %d and %d", i, c.runs.Load(), c.commits.Load(), runs, commits)
					}
				}
				if name == "error" && !errors.Is(out[2].err, errBoom) || name == "panic" && out[2].panic == nil {
					t.Errorf("the failing one: %+v, want its own end", out[2])
				}
			})
		}
	}
}

func wantNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("InTx: %v", err)
	}
}

// Who fails without having changed anything costs nobody anything.
func TestFailureWithoutAChangeRunsNobodyAgain(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	ctx := context.WithoutCancel(t.Context())
	wantNoError(t, d.InTx(ctx, put(t, 9)))
	for name, step := range map[string]func(tx *db.Tx) error{
		"nothing done": func(*db.Tx) error { return nil },
		"a read":       func(tx *db.Tx) error { return tx.QueryRow(ctx, `SELECT id FROM item WHERE id = 9`).Scan(new(int)) },
		"a conflict": func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO item(id, name) VALUES (9, 'n9') ON CONFLICT DO NOTHING`)
			return err
		},
		"a conflict that is ignored": func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT OR IGNORE INTO item(id, name) SELECT 9, 'n9'`)
			return err
		},
		"no such row": func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE item SET name = 'x' WHERE id = 99`)
			return err
		},
		"a broken rule": func(tx *db.Tx) error { return insert(ctx, tx, 9) },
		"several rows, the last breaks a rule": func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO item(id, name) VALUES (50, 'n50'), (51, 'n51'), (9, 'n9')`)
			return err
		},
		"no statement": func(tx *db.Tx) error { _, err := tx.Exec(ctx, `INSERT INTO nowhere VALUES (1)`); return err },
	} {
		before := d.Stats().Retries
		out := together(t, d, put(t, 1), func(tx *db.Tx) error { return errors.Join(step(tx), errBoom) }, put(t, 2))
		wantNil(t, out[0], out[2])
		if !errors.Is(out[1].err, errBoom) {
			t.Errorf("%s: the failing one got %v, want its own error", name, out[1].err)
		}
		wantStored(t, d, "1 2 9")
		if n := d.Stats().Retries - before; n != 0 {
			t.Errorf("%s: %d functions ran again, want none", name, n)
		}
		wantNoError(t, d.InTx(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM item WHERE id < 9`)
			return err
		}))
	}
}

// Statements that may leave something behind although they failed, or that do
// not say how much they changed, count as a change.
func TestDoubtIsAChange(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	for name, text := range map[string]string{
		"or fail":     `INSERT OR FAIL INTO item(id, name) VALUES (50, 'n50'), (9, 'n9')`,
		"or rollback": `INSERT OR ROLLBACK INTO item(id, name) VALUES (50, 'n50'), (9, 'n9')`,
		"returning":   `INSERT INTO item(id, name) VALUES (50, 'n50') RETURNING id`,
		"with":        `WITH n(i) AS (VALUES (50)) INSERT INTO item(id, name) SELECT i, 'n50' FROM n`,
		"a table":     `CREATE TABLE fresh (id BIGINT)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := batchStore(t, time.Minute)
			wantNoError(t, d.InTx(ctx, put(t, 9)))
			out := together(t, d, put(t, 1), func(tx *db.Tx) error {
				if name == "returning" {
					return errors.Join(tx.QueryRow(ctx, text).Scan(new(int)), errBoom)
				}
				_, err := tx.Exec(ctx, text)
				return errors.Join(err, errBoom)
			}, put(t, 2))
			wantNil(t, out[0], out[2])
			wantStored(t, d, "1 2 9")
			if err := d.QueryRow(ctx, `SELECT count(*) FROM fresh`).Scan(new(int)); err == nil {
				t.Error("a table is there that was rolled back")
			}
		})
	}
}

// A crowd of callers that fail after a change must not have the others do
// their work over and over.
func TestFloodOfFailuresCostsOthersLittle(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	const callers, each = 8, 100
	ctx := context.WithoutCancel(t.Context())
	var runs atomic.Int64
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for n := range each {
				id := c*each + n
				if err := d.InTx(ctx, func(tx *db.Tx) error {
					runs.Add(1)
					return insert(ctx, tx, id)
				}); err != nil {
					t.Errorf("good caller: %v", err)
				}
			}
		})
		all.Go(func() {
			for range each {
				if err := d.InTx(ctx, func(tx *db.Tx) error {
					return errors.Join(insert(ctx, tx, -1), errBoom)
				}); !errors.Is(err, errBoom) {
					t.Errorf("failing caller: %v, want its own error", err)
				}
			}
		})
	}
	all.Wait()
	if got := count(t, d); got != callers*each {
		t.Errorf("%d rows, want %d", got, callers*each)
	}
	if most := int64(callers * each * 11 / 10); runs.Load() > most {
		t.Errorf("the good functions ran %d times, want at most %d", runs.Load(), most)
	}
}
