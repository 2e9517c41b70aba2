package db_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// one has so few connections that rows left open block the next query.
var one = dbtest.With(func(c *db.Config) { c.Readers, c.Conns = 1, 2 })

const listItems = `SELECT id, name FROM item ORDER BY id`

type item struct {
	id   int64
	name string
}

func (v *item) scan(row db.Row) error { return row.Scan(&v.id, &v.name) }

// items stores n items.
func items(t testing.TB, d *db.DB, n int) {
	t.Helper()
	if _, err := d.Exec(t.Context(), tables[0]); err != nil {
		t.Fatalf("create table: %v", err)
	}
	for id := range n {
		if err := insert(t.Context(), d, id+1); err != nil {
			t.Fatalf("insert: %v", err)
		}
	}
}

// eachQuerier runs f with a store of three items and with a transaction on it.
func eachQuerier(t *testing.T, f func(t *testing.T, q db.Querier)) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		items(t, d, 3)
		f(t, d)
		if err := d.InTx(t.Context(), func(tx *db.Tx) error {
			f(t, tx)
			return nil
		}); err != nil {
			t.Errorf("InTx: %v", err)
		}
	}, one)
}

func TestCollect(t *testing.T) {
	t.Parallel()
	eachQuerier(t, func(t *testing.T, q db.Querier) {
		rows, err := q.Query(t.Context(), listItems)
		got, err := db.Collect(rows, err, "list items", (*item).scan)
		if want := []item{{1, "n1"}, {2, "n2"}, {3, "n3"}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Collect = %v, %v, want %v", got, err, want)
		}
		rows, err = q.Query(t.Context(), `SELECT name FROM item WHERE id > $1 ORDER BY id`, 1)
		names, err := db.Collect(rows, err, "list names", db.Column[string])
		if want := []string{"n2", "n3"}; err != nil || !reflect.DeepEqual(names, want) {
			t.Errorf("names = %v, %v, want %v", names, err, want)
		}
		rows, err = q.Query(t.Context(), `SELECT name FROM item WHERE id > $1 ORDER BY id`, 3)
		if names, err = db.Collect(rows, err, "list names", db.Column[string]); err != nil || names != nil {
			t.Errorf("Collect of no rows = %#v, %v, want nil", names, err)
		}
	})
}

func TestMap(t *testing.T) {
	t.Parallel()
	eachQuerier(t, func(t *testing.T, q db.Querier) {
		list := func(fail int64) (map[int64]string, error) {
			rows, err := q.Query(t.Context(), listItems)
			return db.Map(rows, err, "list items", func(id *int64, name *string, row db.Row) error {
				if *id != 0 || *name != "" {
					t.Errorf("scan was given %d and %q, want zero values", *id, *name)
				}
				if err := row.Scan(id, name); err != nil || *id == fail {
					return errors.Join(err, errBoom)
				}
				return nil
			})
		}
		got, err := list(0)
		if want := map[int64]string{1: "n1", 2: "n2", 3: "n3"}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Map = %v, %v, want %v", got, err, want)
		}
		if got, err := list(2); got != nil || !errors.Is(err, errBoom) {
			t.Errorf("Map after a failed scan = %v, %v", got, err)
		}
	})
}

func TestCollectSaysWhatFailed(t *testing.T) {
	t.Parallel()
	eachQuerier(t, func(t *testing.T, q db.Querier) {
		got, err := db.Collect(nil, errBoom, "list items", (*item).scan)
		if got != nil || !errors.Is(err, errBoom) || err.Error() != "list items: boom" {
			t.Errorf("Collect after a failed query = %v, %v", got, err)
		}
		for range 3 { // more often than there are connections
			rows, err := q.Query(t.Context(), listItems)
			n := 0
			got, err := db.Collect(rows, err, "list items", func(v *item, row db.Row) error {
				if n++; n == 2 {
					return errBoom
				}
				return v.scan(row)
			})
			if got != nil || n != 2 || !errors.Is(err, errBoom) || err.Error() != "list items: boom" {
				t.Errorf("Collect after a failed scan = %v, %v, after %d rows", got, err, n)
			}
		}
	})
}

// TestCollectSeesLateErrors has a statement fail after its first row: what was
// read until then is no answer.
func TestCollectSeesLateErrors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		items(t, d, 3)
		if _, err := d.Exec(t.Context(), `UPDATE item SET id = $1 WHERE id = 3`, int64(-1<<62)); err != nil {
			t.Fatal(err)
		}
		const overflow = `SELECT CASE WHEN id < 0 THEN abs(id + id) ELSE id END FROM item ORDER BY name`
		n := 0
		rows, err := d.Query(t.Context(), overflow)
		got, err := db.Collect(rows, err, "list numbers", func(v *int64, row db.Row) error {
			n++
			return row.Scan(v)
		})
		if got != nil || n == 3 || err == nil || !strings.HasPrefix(err.Error(), "list numbers: ") {
			t.Errorf("Collect of a failing statement = %v, %v, after %d rows", got, err, n)
		}
		rows, err = d.Query(t.Context(), listItems)
		if _, err := db.Collect(rows, err, "list items", db.Column[string]); err == nil || !strings.HasPrefix(err.Error(), "list items: ") {
			t.Errorf("Collect of too many columns = %v", err)
		}
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("Ping afterwards: %v", err)
		}
	}, one)
}

func TestEachStops(t *testing.T) {
	t.Parallel()
	eachQuerier(t, func(t *testing.T, q db.Querier) {
		for range 3 { // more often than there are connections
			n := 0
			rows, err := q.Query(t.Context(), listItems)
			err = db.Each(rows, err, "list items", func(row db.Row) error {
				if n++; n == 2 {
					return db.ErrStop
				}
				return nil
			})
			if err != nil || n != 2 {
				t.Errorf("Each = %v after %d rows, want 2", err, n)
			}
		}
	})
}

// TestEachClosesAfterPanic is about a panic that the edge recovers.
func TestEachClosesAfterPanic(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		items(t, d, 3)
		for range 3 { // more often than there are connections
			func() {
				defer func() { _ = recover() }()
				rows, err := d.Query(t.Context(), listItems)
				t.Errorf("Each = %v, want a panic", db.Each(rows, err, "list items", func(db.Row) error { panic(errBoom) }))
			}()
		}
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("Ping afterwards: %v", err)
		}
	}, one)
}

func TestExists(t *testing.T) {
	t.Parallel()
	eachQuerier(t, func(t *testing.T, q db.Querier) {
		for id, want := range map[int]bool{1: true, 4: false} {
			got, err := db.Exists(q.QueryRow(t.Context(), `SELECT name FROM item WHERE id = $1`, id), "find item")
			if got != want || err != nil {
				t.Errorf("Exists of item %d = %v, %v, want %v", id, got, err, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := db.Exists(q.QueryRow(ctx, `SELECT 1`), "find item"); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "find item: ") {
			t.Errorf("Exists for a caller that left = %v", err)
		}
	})
}

// BenchmarkCollect compares the walk by hand with Collect, on 100 rows.
func BenchmarkCollect(b *testing.B) {
	d := dbtest.SQLite(b)
	items(b, d, 100)
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if got, err := byHand(b.Context(), d); err != nil || len(got) != 100 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("Collect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			rows, err := d.Query(b.Context(), listItems)
			if got, err := db.Collect(rows, err, "list items", (*item).scan); err != nil || len(got) != 100 {
				b.Fatal(len(got), err)
			}
		}
	})
}

func byHand(ctx context.Context, d *db.DB) ([]item, error) {
	rows, err := d.Query(ctx, listItems)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []item
	for rows.Next() {
		var v item
		if err := rows.Scan(&v.id, &v.name); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

func TestWrap(t *testing.T) {
	t.Parallel()
	if err := db.Wrap("list items", nil); err != nil {
		t.Errorf("Wrap of nil = %v, want nil", err)
	}
	cause := errors.New("no table")
	if err := db.Wrap("list items", cause); !errors.Is(err, cause) || err.Error() != "list items: no table" {
		t.Errorf("Wrap = %v, want the text and the cause", err)
	}
}
