package db_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// tables is what most tests here need: a parent, a child, a unique column.
var tables = []string{
	`CREATE TABLE item (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, note TEXT, data BYTEA, ok BOOLEAN NOT NULL DEFAULT FALSE, price DOUBLE PRECISION)`,
	`CREATE TABLE part (id BIGINT PRIMARY KEY, item BIGINT NOT NULL REFERENCES item(id))`,
}

func schema(t *testing.T, d *db.DB) {
	t.Helper()
	for _, q := range tables {
		if _, err := d.Exec(t.Context(), q); err != nil {
			t.Fatalf("create schema: %v", err)
		}
	}
}

func count(t *testing.T, d *db.DB) int {
	t.Helper()
	var n int
	if err := d.QueryRow(t.Context(), `SELECT count(*) FROM item`).Scan(&n); err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx := t.Context()
		err := d.InTx(ctx, func(tx *db.Tx) error {
			var id int64
			err := tx.QueryRow(ctx, `INSERT INTO item(id, name, data, ok, price) VALUES ($1, $2, $3, $4, $5) RETURNING id`,
				7, "seven", []byte{1, 2}, true, 1.5).Scan(&id)
			if err != nil {
				return err
			}
			if id != 7 {
				t.Errorf("RETURNING id = %d, want 7", id)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("InTx: %v", err)
		}
		var (
			name  string
			note  *string
			data  []byte
			ok    bool
			price float64
		)
		err = d.QueryRow(ctx, `SELECT name, note, data, ok, price FROM item WHERE id = $1`, int64(7)).Scan(&name, &note, &data, &ok, &price)
		if err != nil {
			t.Fatalf("select: %v", err)
		}
		if name != "seven" || note != nil || string(data) != "\x01\x02" || !ok || price != 1.5 {
			t.Errorf("row = %q %v %v %v %v", name, note, data, ok, price)
		}
		err = d.QueryRow(ctx, `SELECT name FROM item WHERE id = $1`, 8).Scan(&name)
		if !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("missing row: %v, want sql.ErrNoRows", err)
		}
		if err := d.Ping(ctx); err != nil {
			t.Errorf("Ping: %v", err)
		}
		if err := db.Writable(ctx, d); err != nil {
			t.Errorf("Writable: %v", err)
		}
	})
}
