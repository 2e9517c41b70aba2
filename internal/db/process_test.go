package db_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

const (
	helperEnv  = "HEARTH_DB_TEST_FILE" // makes TestHelperProcess write to that file
	helperRows = 100
)

// TestHelperProcess is the second process of the test below.
func TestHelperProcess(t *testing.T) {
	path := os.Getenv(helperEnv)
	if path == "" {
		t.Skip("not a test: the second process of TestSecondProcessWrites")
	}
	d, err := db.Open(t.Context(), db.Config{Path: path})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	for i := range helperRows {
		if err := insert(t.Context(), d, 1000+i); err != nil {
			t.Fatalf("insert: %v", err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// A command works on the file while the server does.
func TestSecondProcessWrites(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	schema(t, d)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), helperEnv+"="+d.Path())
	out := make(chan error, 1)
	go func() {
		text, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
		out <- err
	}()
	n := 0
	for done := false; !done || n < 100; n++ {
		if err := insert(t.Context(), d, 10_000+n); err != nil {
			t.Errorf("insert beside another process: %v", err)
		}
		select {
		case err := <-out:
			if err != nil {
				t.Fatalf("second process: %v", err)
			}
			done = true
		default:
		}
	}
	if got := count(t, d); got != n+helperRows {
		t.Errorf("stored %d rows, want %d", got, n+helperRows)
	}
}

// A second process in the middle of a transaction is waited for, up to a limit.
func TestBusyFileIsWaitedFor(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Busy = time.Second }))
	schema(t, d)
	other := reopen(t, db.Config{Path: d.Path(), TxLimit: time.Minute}, nil)
	release := hold(t, other)
	started := time.Now()
	wantTrouble(t, insert(t.Context(), d, 1))
	if took := time.Since(started); took < 900*time.Millisecond {
		t.Errorf("gave up after %v, want about 1 s", took)
	}
	wantStored(t, d, "") // reads go on
	release()
	if err := insert(t.Context(), d, 2); err != nil {
		t.Errorf("insert when the other is done: %v", err)
	}
	release = hold(t, other)
	done := make(chan error, 1)
	go func() { done <- insert(t.Context(), d, 3) }()
	release()
	if err := <-done; err != nil {
		t.Errorf("insert that had to wait: %v", err)
	}
	wantStored(t, d, "2 3")
}

func TestRemovedFileStopsWrites(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	schema(t, d)
	aside := d.Path() + ".aside"
	if err := os.Rename(d.Path(), aside); err != nil {
		t.Skipf("SKIPPED: an open file cannot be renamed here: %v", err)
	}
	wantTrouble(t, insert(t.Context(), d, 1))
	wantTrouble(t, d.Ping(t.Context()))
	if _, err := os.Stat(d.Path()); !os.IsNotExist(err) {
		t.Errorf("a new file appeared: %v", err)
	}
	if err := os.Rename(aside, d.Path()); err != nil {
		t.Fatal(err)
	}
	if err := insert(t.Context(), d, 2); err != nil {
		t.Errorf("insert with the file back: %v", err)
	}
	wantStored(t, d, "2")
}

// Two seconds after the last commit the file holds all there is.
func TestLogIsCopiedWhenIdle(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	schema(t, d)
	if err := insert(t.Context(), d, 1); err != nil {
		t.Fatalf("insert: %v", err)
	}
	eventually(t, "the log is copied", func() bool {
		left, err := d.LogLeft()
		return err == nil && left == 0
	})
	wantStored(t, d, "1")
	// A reader in the middle of something is not waited for.
	err := d.View(t.Context(), func(q db.Querier) error {
		if err := q.QueryRow(t.Context(), `SELECT count(*) FROM item`).Scan(new(int)); err != nil {
			return err
		}
		if err := insert(t.Context(), d, 2); err != nil {
			return err
		}
		started := time.Now()
		copyLog(t, d, 1)
		if took := time.Since(started); took > 2*time.Second {
			t.Errorf("copying waited %v for a reader", took)
		}
		return nil
	})
	if err != nil {
		t.Errorf("View: %v", err)
	}
	wantStored(t, d, "1 2")
}

func TestStrangePaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "a%20b.db", "a?mode=memory.db", "a#b.db", "ü'\"&=.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			f, err := os.Create(path)
			if err != nil {
				t.Skipf("SKIPPED: not a file name here: %v", err)
			}
			f.Close()
			d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Path = path }))
			schema(t, d)
			if fi, err := os.Stat(path); err != nil || fi.Size() == 0 {
				t.Errorf("the store is not in %s: %v", path, err)
			}
		})
	}
}
