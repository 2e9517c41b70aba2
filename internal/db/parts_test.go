package db_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// parted is a table of tests that can be kept in parts.
func parted(d *db.DB) db.Parts {
	return db.Parts{DB: d, Table: "measured", By: "at", Key: "device, at"}
}

const (
	makeMeasured = `CREATE TABLE measured (device BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (device, at))`
	fillMeasured = `INSERT INTO measured SELECT n % 1000, $1 - n * 1000 FROM generate_series(1, $2::bigint) AS n`
	addMeasured  = `INSERT INTO measured (device, at) VALUES ($1, $2) ON CONFLICT (device, at) DO NOTHING`
	allMeasured  = `SELECT count(*) FROM measured`
	partsOf      = `SELECT count(*) FROM pg_inherits WHERE inhparent = 'measured'::regclass`
)

func tally(t *testing.T, d *db.DB, sql string) (n int64) {
	t.Helper()
	if err := d.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPartsUnderLoad: a table with many rows is turned into parts while others write it,
// and none of them is refused.
func TestPartsUnderLoad(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	const before = 1_000_000
	if _, err := d.Exec(t.Context(), makeMeasured); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	if _, err := d.Exec(t.Context(), fillMeasured, now, before); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var added atomic.Int64
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := 0; !stop.Load(); i++ {
				if _, err := d.Exec(t.Context(), addMeasured, 10_000+w, now+int64(i)); err != nil {
					t.Errorf("a writer is refused: %v", err)
					return
				}
				added.Add(1)
			}
		})
	}
	errs := make(chan error, 2)
	for range cap(errs) { // two servers at once
		go func() { errs <- parted(d).Make(t.Context()) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	more := added.Load() + 50
	soon(t, "writing goes on", func() bool { return added.Load() >= more || t.Failed() })
	stop.Store(true)
	writers.Wait()
	if got := tally(t, d, allMeasured); got != before+added.Load() {
		t.Errorf("%d rows, want %d", got, before+added.Load())
	}
	if made, err := parted(d).Made(t.Context()); err != nil || !made {
		t.Errorf("Made() = %v, %v", made, err)
	}
}

// TestPartsComeAndGo: months are made ahead, a rest that filled up becomes months, old
// parts go whole, and rows of any time are taken before and after.
func TestPartsComeAndGo(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	if _, err := d.Exec(t.Context(), makeMeasured); err != nil {
		t.Fatal(err)
	}
	p := parted(d)
	add := func(months int) {
		t.Helper()
		at := time.Now().UTC().AddDate(0, months, 0).UnixMilli()
		if _, err := d.Exec(t.Context(), addMeasured, 1, at); err != nil {
			t.Fatalf("a row of %d months from now: %v", months, err)
		}
	}
	add(-30)
	early := p // for a table with rows of after the months ahead nothing is promised
	early.Now = func() time.Time { return time.Now().AddDate(0, -40, 0) }
	if err := early.Make(t.Context()); err == nil {
		t.Error("rows of later than the first part can be are made part of it")
	}
	add(-29)
	if err := p.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, months := range []int{-200, 0, 1, 5, 40} {
		add(months)
	}
	if got := tally(t, d, partsOf); got != 2 {
		t.Errorf("%d parts, want the past and the rest", got)
	}
	// Half a year later what was the rest has rows of a month: it is all up to that one.
	later := p
	later.Now = func() time.Time { return time.Now().AddDate(0, 6, 0) }
	if err := later.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tally(t, d, partsOf); got != 3 {
		t.Errorf("%d parts, want the past, one and the rest", got)
	}
	// And without rows each month is one.
	later.Now = func() time.Time { return time.Now().AddDate(0, 44, 0) }
	if err := later.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tally(t, d, partsOf); got < 7 || got > 9 {
		t.Errorf("%d parts, want some months more", got)
	}
	end, past, err := p.Until(t.Context(), time.Now().AddDate(1, 0, 0).UnixMilli())
	if err != nil || end == 0 || past != end {
		t.Fatalf("Until() = %d, %d, %v", end, past, err)
	}
	rows := tally(t, d, allMeasured)
	if gone, err := p.Drop(t.Context(), end, func(db.Querier) (bool, error) { return true, nil }); err != nil || gone || tally(t, d, allMeasured) != rows {
		t.Errorf("Drop() that must not be = %v, %v", gone, err)
	}
	if gone, err := p.Drop(t.Context(), end, func(db.Querier) (bool, error) { return false, nil }); err != nil || !gone {
		t.Errorf("Drop() = %v, %v", gone, err)
	}
	if got := tally(t, d, allMeasured); got != 2 { // those of 5 and 40 months from now, which share a part
		t.Errorf("%d rows are left, want 2", got)
	}
	add(-30)
	if again, _, err := p.Until(t.Context(), end); err != nil || again != end {
		t.Errorf("Until() = %d, %v, want %d: a row came late", again, err, end)
	}
}

// TestPartsTakeAKey: a table whose primary key is without the column is turned once no
// program needs that key any more, while others write it by either.
func TestPartsTakeAKey(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	const put = `WITH again AS (UPDATE named SET said = $3 WHERE id = $1 AND at = $2 RETURNING 1)
		INSERT INTO named (id, at, said) SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM again) ON CONFLICT DO NOTHING`
	now := time.Now().UnixMilli()
	for _, sql := range []string{
		`CREATE TABLE named (id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, said TEXT NOT NULL)`,
		`CREATE INDEX named_said ON named (said)`,
	} {
		if _, err := d.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Exec(t.Context(), `INSERT INTO named SELECT 'old' || n, $1::bigint - n, '' FROM generate_series(1, 1000) AS n`, now); err != nil {
		t.Fatal(err)
	}
	p := db.Parts{DB: d, Table: "named", By: "at", Key: "id, at", Weekly: true, Contract: 9999, Indexes: map[string]string{"named_said": "(said)"}}
	if err := p.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if made, err := p.Made(t.Context()); err != nil || made {
		t.Fatalf("Made() = %v, %v before the contract", made, err)
	}
	var stop atomic.Bool
	var writers sync.WaitGroup
	var last [3]int64
	for w := range last {
		writers.Go(func() {
			for i := int64(1); !stop.Load(); i++ {
				for _, said := range []string{"first", "last"} {
					if _, err := d.Exec(t.Context(), put, fmt.Sprint(w, " ", i), now+i, said); err != nil {
						t.Errorf("a writer is refused: %v", err)
						return
					}
				}
				last[w] = i
			}
		})
	}
	p.Contract = 0
	for range 2 {
		if err := p.Make(t.Context()); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	writers.Wait()
	if made, err := p.Made(t.Context()); err != nil || !made {
		t.Errorf("Made() = %v, %v", made, err)
	}
	if got, want := tally(t, d, `SELECT count(*) FROM named WHERE said = 'last'`), last[0]+last[1]+last[2]; got != want {
		t.Errorf("%d rows have the last word, want %d", got, want)
	}
	if got, want := tally(t, d, `SELECT count(*) FROM named`), 1000+last[0]+last[1]+last[2]; got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	if got := tally(t, d, `SELECT array_length(indkey::int2[], 1) FROM pg_index WHERE indrelid = 'named'::regclass AND indisprimary`); got != 2 {
		t.Errorf("the key has %d columns, want 2", got)
	}
	p.Now = func() time.Time { return time.Now().AddDate(0, 0, 28) } // four weeks later
	if err := p.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tally(t, d, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'named'::regclass`); got != 6 {
		t.Errorf("%d parts, want the past, four weeks and the rest", got)
	}
}

// TestPartsWaitForDumps: no table changes its parts while a backup is made, nor the other
// way round: a dump looks for indexes that are gone by then.
func TestPartsWaitForDumps(t *testing.T) {
	t.Parallel()
	d := dbtest.Postgres(t)
	if _, err := d.Exec(t.Context(), makeMeasured); err != nil {
		t.Fatal(err)
	}
	p := parted(d)
	for what, step := range map[string]struct {
		lock string
		run  func() error
	}{
		"a dump": {`SELECT pg_advisory_xact_lock_shared(1215451253, 0)`, func() error { return p.Make(t.Context()) }},
		"another turn": {`SELECT pg_advisory_xact_lock(1215451253, 0)`, func() error {
			_, err := d.Backup(t.Context(), filepath.Join(t.TempDir(), "copy"))
			return err
		}},
	} {
		ended := make(chan error, 1)
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			if _, err := tx.Exec(t.Context(), step.lock); err != nil {
				return err
			}
			go func() { ended <- step.run() }()
			soon(t, "it waits", func() bool {
				return tally(t, d, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1215451253 AND NOT granted`) > 0
			})
			select {
			case err := <-ended:
				t.Errorf("beside %s: ended with %v", what, err)
				ended <- err
			default:
			}
			return nil
		})
		if err := errors.Join(err, <-ended); err != nil {
			t.Errorf("after %s: %v", what, err)
		}
	}
	if made, err := p.Made(t.Context()); err != nil || !made {
		t.Errorf("Made() = %v, %v", made, err)
	}
}
