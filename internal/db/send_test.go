package db_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

const addRow = `INSERT INTO store_probe(id, at) VALUES ($1, $2)`

func countRows(t *testing.T, q db.Querier) (n int) {
	t.Helper()
	if err := q.QueryRow(t.Context(), `SELECT count(*) FROM store_probe`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSend: what is sent is there for the statements after it, whatever their kind,
// and stored with them.
func TestSend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const many = 250 // more than wait for the next one
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			for i := range many {
				if err := tx.Send(t.Context(), addRow, i, i); err != nil {
					return err
				}
			}
			rows, err := tx.Query(t.Context(), `SELECT id FROM store_probe ORDER BY id`)
			seen, err := db.Collect(rows, err, "read", db.Column[int64])
			if err != nil || len(seen) != many {
				return fmt.Errorf("%d rows, %w", len(seen), err)
			}
			if err := tx.Send(t.Context(), addRow, many, 1); err != nil {
				return err
			}
			n, err := tx.Exec(t.Context(), `DELETE FROM store_probe WHERE id >= $1`, many-1)
			if err == nil && n != 2 {
				err = fmt.Errorf("removed %d rows, want 2", n)
			}
			if err != nil {
				return err
			}
			return tx.Send(t.Context(), addRow, many, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := countRows(t, d); got != many {
			t.Errorf("%d rows are stored, want %d", got, many)
		}
	})
}

// TestSendFails: an error of what was sent fails the transaction, at the next
// statement or at the commit, and stores nothing.
func TestSendFails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, then := range map[string]func(*db.Tx) error{
			"commit": func(*db.Tx) error { return nil },
			"exec": func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), addRow, 2, 2)
				return err
			},
			"query": func(tx *db.Tx) error { return tx.QueryRow(t.Context(), `SELECT 1`).Scan(new(int64)) },
			"swallowed": func(tx *db.Tx) error {
				_, _ = tx.Exec(t.Context(), addRow, 2, 2) // it must not be stored all the same
				return nil
			},
		} {
			err := d.InTx(t.Context(), func(tx *db.Tx) error {
				for range 2 {
					if err := tx.Send(t.Context(), addRow, 1, 1); err != nil {
						return err
					}
				}
				return then(tx)
			})
			if !db.IsUnique(err) || db.OutcomeUnknown(err) {
				t.Errorf("%s: %v, want that the row is there twice", name, err)
			}
			if got := countRows(t, d); got != 0 {
				t.Errorf("%s: %d rows are stored, want none", name, got)
			}
		}
	})
}

// TestSendNothing: a transaction that does nothing, and one that gives up, leave
// nothing behind and their connection usable.
func TestSendNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		no := errors.New("no")
		for range 20 {
			if err := d.InTx(t.Context(), func(*db.Tx) error { return nil }); err != nil {
				t.Fatal(err)
			}
			err := d.InTx(t.Context(), func(tx *db.Tx) error {
				if err := tx.Send(t.Context(), addRow, 1, 1); err != nil {
					return err
				}
				return no
			})
			if !errors.Is(err, no) {
				t.Fatal(err)
			}
		}
		if got := countRows(t, d); got != 0 {
			t.Errorf("%d rows are stored, want none", got)
		}
	})
}
