package db_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// fill inserts an item with a large note.
func fill(t *testing.T, id, bytes int) func(tx *db.Tx) error {
	return func(tx *db.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO item(id, name, note) VALUES ($1, $2, $3)`, id, db.NewID(), strings.Repeat("x", bytes))
		return err
	}
}

// wantTrouble checks the fault a troubled store answers with.
func wantTrouble(t *testing.T, err error) {
	t.Helper()
	wantCode(t, err, "STORE_UNAVAILABLE")
	f := fault.As(err)
	if f == nil {
		return
	}
	if f.Kind != fault.Unavailable || f.RetryAfter < time.Second || f.RetryAfter > 5*time.Second {
		t.Errorf("fault kind %v, retry after %v; want Unavailable and 1–5 s", f.Kind, f.RetryAfter)
	}
}

func TestFullStoreFailsOneCallerAndHeals(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	limit := func(pages string) {
		t.Helper()
		err := d.InTx(t.Context(), func(*db.Tx) error { return d.OnWriter("PRAGMA max_page_count=" + pages) })
		if err != nil {
			t.Fatalf("set page limit: %v", err)
		}
	}
	limit("60")
	out := together(t, d, put(t, 1), fill(t, 2, 1<<20), put(t, 3))
	wantNil(t, out[0], out[2])
	wantTrouble(t, out[1].err)
	wantStored(t, d, "1 3") // reads go on
	limit("1000000")
	if err := d.InTx(t.Context(), fill(t, 4, 1<<20)); err != nil {
		t.Errorf("InTx with room again: %v", err)
	}
	wantStored(t, d, "1 3 4")
}

func TestReadOnlyStoreHeals(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	if err := d.InTx(t.Context(), put(t, 1)); err != nil {
		t.Fatalf("InTx: %v", err)
	}
	// What SQLite says to a write on a connection that may only read.
	readOnly := d.QueryRow(t.Context(), `INSERT INTO item(id, name) VALUES (9, 'n9') RETURNING id`).Scan(new(int))
	wantTrouble(t, readOnly)
	d.FailWriter(func(sql string) error {
		if strings.HasPrefix(sql, "BEGIN") {
			return readOnly
		}
		return nil
	})
	for range 2 {
		wantTrouble(t, d.InTx(t.Context(), put(t, 2)))
	}
	wantTrouble(t, db.Writable(t.Context(), d))
	wantStored(t, d, "1")
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("Ping of a read-only store: %v", err)
	}
	d.FailWriter(nil)
	if err := d.InTx(t.Context(), put(t, 2)); err != nil {
		t.Errorf("InTx of a healed store: %v", err)
	}
	wantStored(t, d, "1 2")
}

// A connection in a state that lasts is replaced.
func TestBrokenConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		if err := d.OnWriter("PRAGMA query_only=ON"); err != nil {
			return err
		}
		return insert(t.Context(), tx, 1)
	})
	wantTrouble(t, err)
	if err := d.InTx(t.Context(), put(t, 2)); err != nil {
		t.Errorf("InTx afterwards: %v", err)
	}
	wantStored(t, d, "2")
}

// Errors of the disk at each statement the writer itself makes.
func TestDiskErrorsStoreNothingAndHeal(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"BEGIN", "SAVEPOINT", "RELEASE", "COMMIT", "ROLLBACK", "INSERT"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			d := batchStore(t, time.Minute)
			if err := d.InTx(t.Context(), func(tx *db.Tx) error {
				if at == "SAVEPOINT" || at == "RELEASE" {
					d.Guard(100)
				}
				return insert(t.Context(), tx, 1)
			}); err != nil {
				t.Fatalf("InTx: %v", err)
			}
			d.FailWriter(func(sql string) error {
				if strings.HasPrefix(sql, at) || at == "ROLLBACK" && strings.HasPrefix(sql, "INSERT") {
					return fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "disk").After(time.Second).Wrap(errors.New("disk I/O error"))
				}
				return nil
			})
			for range 2 {
				wantTrouble(t, d.InTx(t.Context(), put(t, 2)))
			}
			wantStored(t, d, "1")
			d.FailWriter(nil)
			if err := d.InTx(t.Context(), put(t, 3)); err != nil {
				t.Errorf("InTx of a healed disk: %v", err)
			}
			wantStored(t, d, "1 3")
		})
	}
}

func TestFailedCommitIsTriedAloneForEach(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	var commits atomic.Int32
	release := hold(t, d)
	d.FailWriter(func(sql string) error {
		if sql == "COMMIT" && commits.Add(1) == 1 {
			return fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "disk")
		}
		return nil
	})
	errs := make(chan error, 3)
	for i := range 3 {
		go func() { errs <- d.InTx(t.Context(), put(t, i+1)) }()
	}
	eventually(t, "all are queued", func() bool { return d.Stats().Queued == 3 })
	release()
	for range 3 {
		if err := <-errs; err != nil {
			t.Errorf("InTx: %v", err)
		}
	}
	wantStored(t, d, "1 2 3")
	if s := d.Stats(); s.Failures != 1 || s.Retries != 4 {
		t.Errorf("failures %d, retries %d; want 1 and 4", s.Failures, s.Retries)
	}
}

// A real disk of a few megabytes that is full.
func TestRealFullDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting a small disk needs Linux and root")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: a small disk cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if out, err := exec.CommandContext(ctx, "umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Path = filepath.Join(dir, "hearth.db"); c.TxLimit = time.Minute }))
	d.SetMaxFill(time.Hour)
	schema(t, d)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatalf("write ballast: %v", err)
	}
	out := together(t, d, put(t, 1), fill(t, 2, 8<<20), put(t, 3))
	wantNil(t, out[0], out[2])
	wantTrouble(t, out[1].err)
	var err error
	n := 10
	for ; err == nil && n < 10_000; n++ {
		err = d.InTx(t.Context(), fill(t, n, 16<<10))
	}
	wantTrouble(t, err)
	if got := count(t, d); got != n-10+2-1 {
		t.Errorf("%d rows on the full disk, want the %d acknowledged ones", got, n-10+2-1)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatalf("make room: %v", err)
	}
	if err := d.InTx(t.Context(), fill(t, 9, 16<<10)); err != nil {
		t.Errorf("InTx with room again: %v", err)
	}
	r, err := d.Check(t.Context())
	if err != nil || !r.OK() {
		t.Errorf("Check = %+v, %v; want all well", r, err)
	}
}
