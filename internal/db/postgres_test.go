package db_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestDeadlockRunsTheFunctionAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	schema(t, d)
	ctx := t.Context()
	for i := range 2 {
		if err := d.InTx(ctx, put(t, i)); err != nil {
			t.Fatalf("InTx: %v", err)
		}
	}
	var met sync.WaitGroup // both hold their first row before they want the other
	met.Add(2)
	var runs atomic.Int32
	errs := make(chan error, 2)
	for i := range 2 {
		first := sync.OnceFunc(func() {
			met.Done()
			met.Wait()
		})
		go func() {
			errs <- d.InTx(ctx, func(tx *db.Tx) error {
				runs.Add(1)
				if _, err := tx.Exec(ctx, `UPDATE item SET price = coalesce(price, 0) + 1 WHERE id = $1`, i); err != nil {
					return err
				}
				first()
				_, err := tx.Exec(ctx, `UPDATE item SET price = coalesce(price, 0) + 1 WHERE id = $1`, 1-i)
				return err
			})
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Errorf("InTx: %v", err)
		}
	}
	var sum float64
	if err := d.QueryRow(ctx, `SELECT sum(price) FROM item`).Scan(&sum); err != nil || sum != 4 {
		t.Errorf("sum = %v, %v; want 4: each of the two stored once", sum, err)
	}
	// PostgreSQL ends one of the two; the second try may meet the other again.
	if n, again := int64(runs.Load()), d.Stats().Retries; again < 1 || n != 2+again {
		t.Errorf("functions ran %d times with %d retries, want one run for each caller and each retry, and a retry", n, again)
	}
}

func TestLeavingCallersDoNotEmptyThePool(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t, dbtest.With(func(c *db.Config) { c.Conns = 1 }))
	schema(t, d)
	pid := func() (n int) {
		if err := d.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&n); err != nil {
			t.Fatalf("backend: %v", err)
		}
		return n
	}
	before := pid()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		err := d.QueryRow(ctx, `SELECT 1 FROM pg_sleep(20)`).Scan(new(int))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read = %v, want context.DeadlineExceeded", err)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := d.InTx(ctx, func(tx *db.Tx) error {
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := tx.Exec(ctx, `SELECT pg_sleep(0.1)`); err != nil {
			t.Errorf("a running statement was cut: %v", err)
		}
		return insert(ctx, tx, 1)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("InTx = %v, want context.Canceled", err)
	}
	if after := pid(); after != before {
		t.Errorf("connection %d was replaced by %d", before, after)
	}
	wantStored(t, d, "")
}

func TestLostConnectionIsTroubleAndHeals(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	schema(t, d)
	other := d // the pool has a second connection for the killing
	kill := func(pid int) {
		t.Helper()
		if err := other.QueryRow(t.Context(), `SELECT pg_terminate_backend($1)`, pid).Scan(new(bool)); err != nil {
			t.Errorf("terminate: %v", err)
		}
	}
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		var pid int
		if err := tx.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return err
		}
		kill(pid)
		return insert(t.Context(), tx, 1)
	})
	wantTrouble(t, err)
	if db.OutcomeUnknown(err) {
		t.Errorf("%v: want a known outcome, nothing was committed", err)
	}
	err = d.InTx(t.Context(), func(tx *db.Tx) error {
		var pid int
		if err := tx.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
			return err
		}
		defer kill(pid)
		return insert(t.Context(), tx, 1)
	})
	wantTrouble(t, err)
	if err := d.InTx(t.Context(), put(t, 2)); err != nil {
		t.Errorf("InTx afterwards: %v", err)
	}
	wantStored(t, d, "2")
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, err := db.Open(ctx, db.Config{URL: "postgres://nobody:secret@127.0.0.1:1/x?sslmode=disable", Busy: time.Second})
	wantTrouble(t, err)
	_, err = db.Open(ctx, db.Config{URL: "postgres://u:secret@[bad"})
	if err == nil || fault.As(err) != nil {
		t.Errorf("bad URL: %v, want a plain error", err)
	}
	for _, cfg := range []db.Config{{}, {Path: "a", URL: "b"}, {Path: t.TempDir() + "/x.db", Sync: "off"}} {
		if _, err := db.Open(ctx, cfg); err == nil {
			t.Errorf("Open(%+v) worked", cfg)
		}
	}
}

func TestRowLockTimesOut(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t, dbtest.With(func(c *db.Config) { c.Busy = 100 * time.Millisecond }))
	schema(t, d)
	if err := d.InTx(t.Context(), put(t, 1)); err != nil {
		t.Fatalf("InTx: %v", err)
	}
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.Exec(t.Context(), `UPDATE item SET note = 'a' WHERE id = 1`); err != nil {
			return err
		}
		_, err := d.Exec(t.Context(), `UPDATE item SET note = 'b' WHERE id = 1`)
		wantCode(t, err, "STORE_BUSY")
		if !db.IsLocked(err) {
			t.Errorf("IsLocked(%v) = false", err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("InTx: %v", err)
	}
}

func TestInstancesOnPostgresHaveDifferentNumbers(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	seen := map[int64]bool{}
	for range 6 {
		d, err := db.Open(t.Context(), db.Config{URL: url, Conns: 2})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		t.Cleanup(func() { d.Close() })
		n := d.NewNID() >> 12 & 1023
		if seen[n] {
			t.Errorf("instance %d was given twice", n)
		}
		seen[n] = true
	}
}

func TestPlanMadeBeforeAMigrationIsMadeAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t, dbtest.With(func(c *db.Config) { c.Conns = 1 }))
	schema(t, d)
	read := func(tx *db.Tx) error {
		rows, err := tx.Query(t.Context(), `SELECT * FROM item`)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return errors.Join(rows.Err(), rows.Close())
	}
	if err := d.InTx(t.Context(), read); err != nil {
		t.Fatalf("InTx: %v", err)
	}
	if _, err := d.Exec(t.Context(), `ALTER TABLE item ADD COLUMN extra TEXT`); err != nil {
		t.Fatalf("alter: %v", err)
	}
	if err := d.InTx(t.Context(), read); err != nil {
		t.Errorf("InTx after the change: %v", err)
	}
}

// Whatever the role or the database has as its default, a transaction is read
// committed, also one that is a single message.
func TestTransactionsAreReadCommitted(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		u, err := url.Parse(dbtest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("default_transaction_isolation", level)
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
		d, err := db.Open(t.Context(), db.Config{URL: u.String()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		schema(t, d)
		err = d.InTx(t.Context(), func(tx *db.Tx) error {
			return tx.Send(t.Context(), `INSERT INTO item(id, name) VALUES (1, current_setting('transaction_isolation'))`)
		})
		var got string
		if err == nil {
			err = d.QueryRow(t.Context(), `SELECT name FROM item WHERE id = 1`).Scan(&got)
		}
		if err != nil || got != "read committed" {
			t.Errorf("default %s: %q, %v; want read committed", level, got, err)
		}
	}
}
