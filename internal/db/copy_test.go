package db_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// fillLog writes rows of about a page each.
func fillLog(t *testing.T, d *db.DB, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO item(id, name) VALUES ($1, $2)`, i, fmt.Sprint(i, strings.Repeat("x", 3000)))
			return err
		})
		if err != nil {
			t.Fatalf("InTx: %v", err)
		}
	}
}

// copyLog gives the pages of the log after a log of at least so many was copied.
func copyLog(t *testing.T, d *db.DB, pages int64) int64 {
	t.Helper()
	n, err := d.CopyLog(pages)
	if err != nil {
		t.Fatalf("CopyLog: %v", err)
	}
	return n
}

// The log is copied beside the writer and begins anew with the next commit.
func TestLogBeginsAnew(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	fillLog(t, d, 0, 100)
	long := copyLog(t, d, math.MaxInt64)
	if long < 100 {
		t.Fatalf("the log has %d pages, want 100 and more", long)
	}
	if n := copyLog(t, d, 50); n != long {
		t.Errorf("the log has %d pages after it was copied, want %d: it begins anew with a commit", n, long)
	}
	wantNewLog(t, d, 100)
}

// A reader keeps the log it reads from, and the log begins anew after it.
func TestLogOutlivesItsReaders(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	fillLog(t, d, 0, 60)
	reading, let, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ctx := context.WithoutCancel(t.Context())
		ended <- d.View(ctx, func(q db.Querier) error {
			var before, after int
			if err := q.QueryRow(ctx, `SELECT count(*) FROM item`).Scan(&before); err != nil {
				return err
			}
			close(reading)
			<-let
			if err := q.QueryRow(ctx, `SELECT count(*) FROM item`).Scan(&after); err != nil {
				return err
			}
			if before != 60 || after != 60 {
				t.Errorf("the reader saw %d rows, then %d; want 60 twice", before, after)
			}
			return nil
		})
	}()
	<-reading
	fillLog(t, d, 60, 120)
	copyLog(t, d, 50)
	fillLog(t, d, 120, 121)
	if n := copyLog(t, d, math.MaxInt64); n < 120 {
		t.Errorf("the log has %d pages while it is read, want all of it", n)
	}
	close(let)
	if err := <-ended; err != nil {
		t.Fatalf("View: %v", err)
	}
	wantNewLog(t, d, 121)
}

// What a reader has kept out of the file when nobody writes any more is copied
// once the reader has gone.
func TestIdleLogIsCopiedAfterAReader(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	look, now := d.Copier(t), time.Now()
	fillLog(t, d, 0, 10)
	err := d.View(t.Context(), func(q db.Querier) error {
		if err := q.QueryRow(t.Context(), `SELECT count(*) FROM item`).Scan(new(int)); err != nil {
			return err
		}
		fillLog(t, d, 10, 20)
		for _, at := range []time.Duration{0, time.Minute, 2 * time.Minute} {
			if done, err := look(now.Add(at)); done || err != nil {
				t.Errorf("with a reader after %v: done %v, error %v", at, done, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	done := false
	eventually(t, "the log is copied", func() bool { // the store itself may be at it
		now = now.Add(time.Hour)
		done, err = look(now)
		return done && err == nil
	})
	if left, err := d.LogLeft(); left != 0 || err != nil {
		t.Errorf("%d pages are left, error %v; want none", left, err)
	}
}

// wantNewLog copies the log until a commit begins it anew, which whoever reads at
// that moment, as the store itself does now and then, puts off.
func wantNewLog(t *testing.T, d *db.DB, rows int) {
	t.Helper()
	eventually(t, "the log begins anew", func() bool {
		copyLog(t, d, 50)
		fillLog(t, d, rows, rows+1)
		rows++
		return copyLog(t, d, math.MaxInt64) <= 20
	})
	var n int
	if err := d.QueryRow(t.Context(), `SELECT count(*) FROM item`).Scan(&n); err != nil || n != rows {
		t.Errorf("%d rows, error %v; want %d", n, err, rows)
	}
}
