package db_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestBackupWhileWriting(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		ctx := t.Context()
		stop, done := make(chan struct{}), make(chan int)
		started := make(chan struct{})
		go func() {
			n := 0
			defer func() { done <- n }()
			for ; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				err := d.InTx(ctx, func(tx *db.Tx) error { // two rows or none
					if err := insert(ctx, tx, n); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, `INSERT INTO part(id, item) VALUES ($1, $1)`, n)
					return err
				})
				if err != nil {
					t.Errorf("InTx: %v", err)
					return
				}
				if n == 5 {
					close(started)
				}
			}
		}()
		<-started
		file := filepath.Join(t.TempDir(), d.BackupName(time.Now()))
		b, err := d.Backup(ctx, file)
		close(stop)
		<-done
		if err != nil {
			t.Fatalf("Backup: %v", err)
		}
		if b.File != file || b.Bytes == 0 || len(b.SHA256) != 64 || b.Dialect != d.Dialect() {
			t.Errorf("Backup = %+v", b)
		}
		v, err := db.VerifyFile(ctx, file)
		if err != nil || v.SHA256 != b.SHA256 || v.Schema != b.Schema {
			t.Errorf("VerifyFile = %+v, %v; want the same as %+v", v, err, b)
		}
		r := restored(t, d.Dialect(), file)
		var items, parts int
		if err := r.QueryRow(ctx, `SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM part)`).Scan(&items, &parts); err != nil {
			t.Fatalf("read the restored store: %v", err)
		}
		if items < 6 || items != parts {
			t.Errorf("restored %d items and %d parts, want as many of each and at least 6", items, parts)
		}
		if err := r.Migrate(ctx); err != nil {
			t.Errorf("Migrate of the restored store: %v", err)
		}
		if err := insert(ctx, r, 1_000_000); err != nil {
			t.Errorf("write to the restored store: %v", err)
		}
	})
}

// restored opens a new store made from a backup.
func restored(t *testing.T, dialect db.Dialect, file string) *db.DB {
	t.Helper()
	cfg := db.Config{Path: filepath.Join(t.TempDir(), "hearth.db")}
	if dialect == db.Postgres {
		cfg = db.Config{URL: dbtest.URL(t), Conns: 4}
	}
	if _, err := db.Restore(t.Context(), cfg, file); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open the restored store: %v", err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// backedUp gives a backup of a store that holds item 1.
func backedUp(t *testing.T) string {
	t.Helper()
	d := dbtest.SQLite(t)
	schema(t, d)
	if err := insert(t.Context(), d, 1); err != nil {
		t.Fatalf("insert: %v", err)
	}
	file := filepath.Join(t.TempDir(), "backup.db")
	if _, err := d.Backup(t.Context(), file); err != nil {
		t.Fatalf("Backup: %v", err)
	}
	return file
}

func TestRestoreKeepsTheOldStoreAside(t *testing.T) {
	t.Parallel()
	file := backedUp(t)
	path := filepath.Join(t.TempDir(), "hearth.db")
	cfg := db.Config{Path: path}
	old := reopen(t, cfg, nil)
	if err := old.Migrate(t.Context()); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	schema(t, old)
	if err := insert(t.Context(), old, 2); err != nil {
		t.Fatalf("insert: %v", err)
	}
	// What a crash leaves: the last rows are in the log only.
	wal, err := os.ReadFile(path + "-wal")
	if err != nil || len(wal) == 0 {
		t.Fatalf("no write-ahead log: %v", err)
	}
	main, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	for name, data := range map[string][]byte{path: main, path + "-wal": wal} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := db.Restore(t.Context(), cfg, file)
	if err != nil {
		t.Fatalf("Restore: %v", err)
	}
	wantStored(t, reopen(t, cfg, nil), "1")
	wantStored(t, reopen(t, db.Config{Path: aside}, nil), "2")
}

func TestRestoreReplacesADamagedStore(t *testing.T) {
	t.Parallel()
	file := backedUp(t)
	cfg := db.Config{Path: filepath.Join(t.TempDir(), "hearth.db")}
	for _, ext := range []string{"", "-wal"} {
		if err := os.WriteFile(cfg.Path+ext, []byte("this is no database"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := db.Restore(t.Context(), cfg, file)
	if err != nil {
		t.Fatalf("Restore: %v", err)
	}
	wantStored(t, reopen(t, cfg, nil), "1")
	if text, err := os.ReadFile(aside); err != nil || string(text) != "this is no database" {
		t.Errorf("the damaged store = %q, %v; want it aside", text, err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	file := backedUp(t)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) string {
		name := filepath.Join(t.TempDir(), "b.db")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	flipped := slices.Clone(good)
	for i := 4096; i < len(flipped); i += 64 {
		flipped[i] ^= 0x5a
	}
	summed := write(good)
	if err := os.WriteFile(summed+".sha256", []byte(strings.Repeat("0", 64)+"  b.db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, name := range map[string]string{
		"missing":     filepath.Join(t.TempDir(), "none"),
		"empty":       write(nil),
		"no backup":   write([]byte("a text of some length, not a backup")),
		"cut":         write(good[:len(good)/2]),
		"damaged":     write(flipped),
		"checksum":    summed,
		"broken dump": write([]byte("PGDMP\x01\x0e\x00 and nothing else")),
	} {
		if _, err := db.VerifyFile(t.Context(), name); err == nil {
			t.Errorf("%s: VerifyFile found nothing wrong", what)
		}
		cfg := db.Config{Path: filepath.Join(t.TempDir(), "hearth.db")}
		if _, err := db.Restore(t.Context(), cfg, name); err == nil {
			t.Errorf("%s: Restore took it", what)
		}
		if _, err := os.Stat(cfg.Path); !os.IsNotExist(err) {
			t.Errorf("%s: Restore left a store behind", what)
		}
	}
	dir := t.TempDir()
	lock, err := db.Lock(dir)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	if _, err := db.Restore(t.Context(), db.Config{Path: filepath.Join(dir, "hearth.db")}, file); !errors.Is(err, db.ErrLocked) {
		t.Errorf("Restore under a server = %v, want ErrLocked", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Errorf("Unlock: %v", err)
	}
	full := dbtest.URL(t)
	reopenPg := reopen(t, db.Config{URL: full}, nil)
	schema(t, reopenPg)
	dump := filepath.Join(t.TempDir(), "x.pgdump")
	if _, err := reopenPg.Backup(t.Context(), dump); err != nil {
		t.Fatalf("Backup: %v", err)
	}
	if _, err := db.Restore(t.Context(), db.Config{URL: full}, dump); err == nil || !strings.Contains(err.Error(), "already has tables") {
		t.Errorf("Restore over tables = %v, want it refused", err)
	}
	if _, err := db.Restore(t.Context(), db.Config{URL: full}, file); err == nil {
		t.Error("a SQLite file was restored to PostgreSQL")
	}
}

func TestFailedBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Backup(ctx, filepath.Join(dir, "a.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("Backup = %v, want context.Canceled", err)
	}
	if _, err := d.Backup(t.Context(), filepath.Join(dir, "none", "a.db")); err == nil {
		t.Error("Backup into a missing folder worked")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPruneBackups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := dbtest.SQLite(t)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 5 {
		name := filepath.Join(dir, d.BackupName(start.Add(time.Duration(i)*time.Hour)))
		for _, f := range []string{name, name + ".sha256"} {
			if err := os.WriteFile(f, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine := filepath.Join(dir, "hearth-mine.db")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{true, false, true} {
		oldest := filepath.Join(dir, d.BackupName(start))
		if err := db.MarkVerified(oldest, whole); err != nil {
			t.Fatal(err)
		}
		if kept, err := db.ListBackups(dir); err != nil || len(kept) != 5 || kept[0].Path != oldest || kept[0].VerifiedAt.IsZero() == whole || !kept[1].VerifiedAt.IsZero() {
			t.Errorf("ListBackups = %+v, %v; want five, of which the oldest may be verified: %v", kept, err, whole)
		}
	}
	if kept, err := db.ListBackups(filepath.Join(dir, "none")); err != nil || kept != nil {
		t.Errorf("a folder that is not there: %v, %v; want none", kept, err)
	}
	removed, err := db.PruneBackups(dir, 2)
	if err != nil || len(removed) != 3 {
		t.Errorf("PruneBackups = %v, %v; want three", removed, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 5 || left[0] != filepath.Join(dir, "hearth-20260102T060405Z.db") || !slices.Contains(left, mine) {
		t.Errorf("left = %v; want the newest two, their sums and the other file", left)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, err := d.Check(t.Context())
		if err != nil || !r.OK() || len(r.Findings) < 4 {
			t.Errorf("Check = %+v, %v; want all well", r, err)
		}
	})
	t.Run("constraints", func(t *testing.T) {
		t.Parallel()
		d := dbtest.Postgres(t)
		for _, step := range []struct {
			name string
			ok   bool
		}{
			{"parts_promise", true}, // a table that is being put in parts beside us
			{"half_made", false},
		} {
			if err := d.InTx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `ALTER TABLE device_readings ADD CONSTRAINT `+step.name+` CHECK (at < 9223372036854775807) NOT VALID`)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if r, err := d.Check(t.Context()); err != nil || r.OK() != step.ok {
				t.Errorf("Check with the constraint %s not validated = %+v, %v; want OK %v", step.name, r, err, step.ok)
			}
		}
	})
	t.Run("broken key", func(t *testing.T) {
		t.Parallel()
		d := batchStore(t, time.Minute)
		if err := db.RunOn(d.Path(), `PRAGMA foreign_keys=OFF; INSERT INTO part(id, item) VALUES (1, 99);`); err != nil {
			t.Fatalf("break a key: %v", err)
		}
		r, err := d.Check(t.Context())
		if err != nil || r.OK() {
			t.Errorf("Check = %+v, %v; want the broken key found", r, err)
		}
	})
	t.Run("not migrated", func(t *testing.T) {
		t.Parallel()
		d := reopen(t, db.Config{Path: filepath.Join(t.TempDir(), "hearth.db")}, nil)
		r, err := d.Check(t.Context())
		if err != nil || r.OK() {
			t.Errorf("Check = %+v, %v; want pending migrations found", r, err)
		}
	})
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := db.Lock(dir)
	if err != nil {
		t.Fatalf("Lock: %v", err)
	}
	if _, err := db.Lock(dir); !errors.Is(err, db.ErrLocked) || !strings.Contains(err.Error(), "process ") {
		t.Errorf("second Lock = %v, want ErrLocked with the process", err)
	}
	if err := l.Unlock(); err != nil {
		t.Errorf("Unlock: %v", err)
	}
	l, err = db.Lock(dir)
	if err != nil {
		t.Fatalf("Lock again: %v", err)
	}
	l.Unlock()
	if _, err := db.Lock(filepath.Join(dir, "none")); err == nil || errors.Is(err, db.ErrLocked) {
		t.Errorf("Lock of a missing folder = %v", err)
	}
}
