package db_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestViewSeesOneMoment(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx := t.Context()
		read := func(q db.Querier) (n int) {
			if err := q.QueryRow(ctx, `SELECT count(*) FROM item`).Scan(&n); err != nil {
				t.Errorf("count: %v", err)
			}
			return n
		}
		var leaked db.Querier
		err := d.View(ctx, func(q db.Querier) error {
			leaked = q
			before := read(q)
			if err := d.InTx(ctx, put(t, 1)); err != nil {
				return err
			}
			if after := read(q); before != 0 || after != 0 {
				t.Errorf("view saw %d rows and then %d, want 0 and 0", before, after)
			}
			if n := read(d); n != 1 {
				t.Errorf("a read outside the view saw %d rows, want 1", n)
			}
			if err := insert(ctx, q, 2); err == nil {
				t.Error("a view could write")
			}
			return nil
		})
		if err != nil {
			t.Errorf("View: %v", err)
		}
		if err := leaked.QueryRow(ctx, `SELECT 1`).Scan(new(int)); err == nil {
			t.Error("a leaked view can read")
		}
		if err := d.View(ctx, func(db.Querier) error { return errBoom }); !errors.Is(err, errBoom) {
			t.Errorf("View = %v, want %v", err, errBoom)
		}
	})
}

func TestPanicInViewFreesItsConnection(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for range 3 * 8 { // more than there are connections
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic came out of View")
					}
				}()
				_ = d.View(t.Context(), func(db.Querier) error { panic(errBoom) })
			}()
		}
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("Ping afterwards: %v", err)
		}
	})
}

func TestReadsCannotWriteOnSQLite(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	schema(t, d)
	if err := d.QueryRow(t.Context(), `INSERT INTO item(id, name) VALUES (1, 'a') RETURNING id`).Scan(new(int)); err == nil {
		t.Error("QueryRow outside a transaction could write")
	}
	wantStored(t, d, "")
}

func TestRowsOfALeavingCallerAreFreed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		if err := d.InTx(t.Context(), put(t, 1)); err != nil {
			t.Fatalf("InTx: %v", err)
		}
		for range 10 { // more than there are connections
			ctx, cancel := context.WithCancel(t.Context())
			rows, err := d.Query(ctx, `SELECT id FROM item UNION ALL SELECT id FROM item`)
			if err != nil {
				t.Fatalf("Query: %v", err)
			}
			rows.Next()
			cancel()
			if d.Dialect() == db.Postgres {
				rows.Close() // pgx gives a connection back on Close only
			}
		}
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("Ping afterwards: %v", err)
		}
	})
}

func TestCancelledReadEnds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		const forever = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
		rows, err := d.Query(ctx, forever)
		if err == nil {
			rows.Next()
			err = rows.Err()
			rows.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("endless query = %v, want context.DeadlineExceeded", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err = d.View(ctx, func(q db.Querier) error { return q.QueryRow(ctx, forever).Scan(new(int)) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("endless view = %v, want context.DeadlineExceeded", err)
		}
		if err := d.Ping(t.Context()); err != nil {
			t.Errorf("Ping afterwards: %v", err)
		}
	})
}

func TestReadersAreBounded(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Readers = 1 }))
	err := d.View(t.Context(), func(db.Querier) error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return d.Ping(ctx)
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second reader of one = %v, want context.DeadlineExceeded", err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("Ping afterwards: %v", err)
	}
}

// Each connection that is open holds the schema, statements and pages of its own.
func TestReadersAreOpenedWhenOthersHaveWork(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	ping := func() error { return d.Ping(t.Context()) }
	for range 20 {
		if err := ping(); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.OpenReaders(); n != 1 {
		t.Errorf("after reads one by one %d readers are open, want 1", n)
	}
	inside := func(next func() error) func() error {
		return func() error { return d.View(t.Context(), func(db.Querier) error { return next() }) }
	}
	if err := inside(inside(ping))(); err != nil {
		t.Fatal(err)
	}
	if n := d.OpenReaders(); n != 3 {
		t.Errorf("after three at a time %d readers are open, want 3", n)
	}
}

func TestOneStatementTwiceAtATime(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	schema(t, d)
	ctx := t.Context()
	err := d.InTx(ctx, func(tx *db.Tx) error {
		for i := range 3 {
			if err := insert(ctx, tx, i); err != nil {
				return err
			}
		}
		const all = `SELECT id FROM item ORDER BY id`
		outer, err := tx.Query(ctx, all)
		if err != nil {
			return err
		}
		defer outer.Close()
		var pairs string
		for outer.Next() {
			inner, err := tx.Query(ctx, all)
			if err != nil {
				return err
			}
			for inner.Next() {
				var a, b int
				if err := errors.Join(outer.Scan(&a), inner.Scan(&b)); err != nil {
					return err
				}
				pairs += fmt.Sprint(a, b, ";")
			}
			inner.Close()
		}
		if want := "0 0;0 1;0 2;1 0;1 1;1 2;2 0;2 1;2 2;"; pairs != want {
			t.Errorf("pairs = %s, want %s", pairs, want)
		}
		return outer.Err()
	})
	if err != nil {
		t.Errorf("InTx: %v", err)
	}
}

func TestStatementCacheIsBounded(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		for i := range db.MaxStmts + 50 {
			if _, err := tx.Exec(t.Context(), fmt.Sprintf(`SELECT %d`, i)); err != nil {
				return err
			}
		}
		if n := d.StatementsCached(); n > db.MaxStmts {
			t.Errorf("%d statements are kept, want at most %d", n, db.MaxStmts)
		}
		return nil
	})
	if err != nil {
		t.Errorf("InTx: %v", err)
	}
}

// A read whose caller has gone ends with the error of its context, whenever that
// happens, and keeps its connection.
func TestCancelledReads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n`
		times := 300
		if d.Dialect() == db.Postgres { // a cancelled read costs it a connection
			times = 50
		}
		for i := range times {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for range i % 50 {
					runtime.Gosched()
				}
				cancel()
			}()
			rows, err := d.Query(ctx, numbers)
			if err == nil {
				for rows.Next() {
				}
				err = errors.Join(rows.Err(), rows.Close())
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled read: %v", err)
			}
			cancel()
		}
	})
}
