package db_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestCloseStoresWhatIsQueued(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hearth.db")
	d := reopen(t, db.Config{Path: path}, nil)
	schema(t, d)
	release := hold(t, d)
	errs := make(chan error, 3)
	for i := range 3 {
		go func() { errs <- d.InTx(context.WithoutCancel(t.Context()), put(t, i+1)) }()
	}
	eventually(t, "all are queued", func() bool { return d.Stats().Queued == 3 })
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	release()
	for range 3 {
		if err := <-errs; err != nil {
			t.Errorf("InTx queued before Close: %v", err)
		}
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	wantStored(t, reopen(t, db.Config{Path: path}, nil), "1 2 3")
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, nil)
		for range 2 {
			if err := d.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		wantTrouble(t, d.InTx(t.Context(), put(t, 1)))
		wantTrouble(t, d.View(t.Context(), func(db.Querier) error { return nil }))
		wantTrouble(t, d.Ping(t.Context()))
		_, err := d.Query(t.Context(), `SELECT 1`)
		wantTrouble(t, err)
	})
}

func TestLeakedRowsDoNotBlockClose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		db.CloseSoon(&where)
		d := reopen(t, where, nil)
		rows, err := d.Query(context.WithoutCancel(t.Context()), `SELECT 1 UNION ALL SELECT 2`)
		if err != nil || !rows.Next() {
			t.Fatalf("Query: %v", err)
		}
		if err := d.Close(); err == nil || !strings.Contains(err.Error(), "left open") {
			t.Errorf("Close = %v, want it to name the rows left open", err)
		}
		rows.Close()
	})
}

// The connection is free when effects run: they may use the store.
func TestAfterCommitMayUseTheStore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		where.Conns, where.Readers = 1, 1
		d := reopen(t, where, nil)
		schema(t, d)
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			tx.AfterCommit(func() {
				if err := insert(t.Context(), d, 2); err != nil {
					t.Errorf("insert after the commit: %v", err)
				}
			})
			return insert(t.Context(), tx, 1)
		})
		if err != nil {
			t.Errorf("InTx: %v", err)
		}
		wantStored(t, d, "1 2")
	})
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows has no such rights")
	}
	dir := t.TempDir()
	d := reopen(t, db.Config{Path: filepath.Join(dir, "hearth.db")}, nil)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	if _, err := d.Backup(t.Context(), filepath.Join(dir, "b.db")); err != nil {
		t.Fatalf("Backup: %v", err)
	}
	if _, err := d.Backup(t.Context(), filepath.Join(dir, "b.db")); err == nil {
		t.Error("a second backup replaced the first")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 4 {
		t.Fatalf("files = %v, %v", entries, err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want it for the owner only", e.Name(), fi.Mode())
		}
	}
}

func TestDurability(t *testing.T) {
	t.Parallel()
	for sync, want := range map[string]string{"": "full", "full": "full", "NORMAL": "normal"} {
		d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Sync = sync }))
		if got := d.Durability(); got != want {
			t.Errorf("Sync %q: Durability = %q, want %q", sync, got, want)
		}
		var syncs atomic.Int64
		d.FailWriter(func(sql string) error {
			if sql == "sync" {
				syncs.Add(1)
			}
			return nil
		})
		if err := db.Writable(t.Context(), d); err != nil {
			t.Errorf("Sync %q: write: %v", sync, err)
		}
		if err := d.InTx(t.Context(), func(tx *db.Tx) error {
			return tx.QueryRow(t.Context(), `SELECT id FROM store_probe`).Scan(new(int))
		}); err != nil {
			t.Errorf("Sync %q: read: %v", sync, err)
		}
		if n, want := syncs.Load(), map[string]int64{"full": 1, "normal": 0}[want]; n != want {
			t.Errorf("Sync %q: %d syncs for a write and a read, want %d", sync, n, want)
		}
	}
	d := dbtest.Postgres(t)
	if got := d.Durability(); got != "full" && !strings.HasSuffix(got, " off") {
		t.Errorf("Durability of PostgreSQL = %q", got)
	}
}
