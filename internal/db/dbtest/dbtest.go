// Package dbtest gives tests real stores: SQLite in a temporary folder and a
// throw-away PostgreSQL. Both are migrated and empty, and each test gets its
// own.
//
// PostgreSQL is the server HEARTH_TEST_POSTGRES_URL names (with a user that may
// create databases), or a cluster this package starts from the installed
// binaries, never as root, and removes when the test binary ends, however it
// ends. Where there is neither, tests on PostgreSQL are skipped and say so;
// HEARTH_TEST_REQUIRE=all makes that a failure.
package dbtest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Option changes the store a test gets.
type Option func(*db.Config)

// Migrations replaces the embedded migrations.
func Migrations(fsys fs.FS) Option { return func(c *db.Config) { c.Migrations = fsys } }

// With changes the configuration before the store is opened.
func With(f func(*db.Config)) Option { return f }

// Each runs f as two subtests in parallel, on SQLite and on PostgreSQL.
func Each(t *testing.T, f func(t *testing.T, d *db.DB), opts ...Option) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite(t, opts...))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, Postgres(t, opts...))
	})
}

// Everything reports whether make test-all runs, which has time for more.
func Everything() bool { return os.Getenv("HEARTH_TEST_DATABASES") == "all" }

// Any runs f as a subtest on SQLite, and with HEARTH_TEST_DATABASES=all on
// PostgreSQL too: for rules that are the same on any database. Tests that take
// locks, compete with other writers, get killed or use a SQL dialect need Each, and
// so do the cases of routes, which reach nearly every query on both databases.
// internal/archtest tests that PostgreSQL accepts every statement.
func Any(t *testing.T, f func(t *testing.T, d *db.DB), opts ...Option) {
	t.Helper()
	if Everything() {
		Each(t, f, opts...)
		return
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite(t, opts...))
	})
}

// SQLite opens a migrated store in a temporary folder.
func SQLite(t testing.TB, opts ...Option) *db.DB {
	t.Helper()
	// On a busy machine with the race detector a slow function is not stuck;
	// tests of the limit set their own.
	cfg := db.Config{Path: filepath.Join(t.TempDir(), "hearth.db"), Log: Log(t), TxLimit: 30 * time.Second}
	for _, o := range opts {
		o(&cfg)
	}
	if cfg.Migrations != nil {
		return open(t, cfg, true)
	}
	template, err := migratedFile()
	if err != nil {
		t.Fatalf("prepare test store: %v", err)
	}
	if err := os.WriteFile(cfg.Path, template, 0o600); err != nil {
		t.Fatalf("prepare test store: %v", err)
	}
	return open(t, cfg, false)
}

// migratedFile is a migrated, empty SQLite store, made once per test binary.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hearth-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "hearth.db")
	if err := migrate(context.Background(), db.Config{Path: path}); err != nil { // no test owns it
		return nil, err
	}
	return os.ReadFile(path)
})

func migrate(ctx context.Context, cfg db.Config) error {
	d, err := db.Open(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(d.Migrate(ctx), d.Close())
}

// Postgres opens a migrated store in its own PostgreSQL database, or skips the
// test if there is no PostgreSQL.
func Postgres(t testing.TB, opts ...Option) *db.DB {
	t.Helper()
	s := server(t)
	cfg := db.Config{Log: Log(t), Conns: 8}
	for _, o := range opts {
		o(&cfg)
	}
	if cfg.Migrations != nil { // not what the template holds
		cfg.URL = s.database(t, "template0")
		return open(t, cfg, true)
	}
	cfg.URL = s.database(t, s.template(t))
	return open(t, cfg, false)
}

// URL returns the URL of an empty PostgreSQL database for this test only.
func URL(t testing.TB) string {
	t.Helper()
	return server(t).database(t, "template0")
}

// Migrated is URL for a database that has the server's tables already, for programs
// that open it themselves: copying the tables takes a tenth of creating them.
func Migrated(t testing.TB) string {
	t.Helper()
	s := server(t)
	return s.database(t, s.template(t))
}

// Own starts a cluster for one test, with additional lines of settings. It skips the
// test if PostgreSQL's programs are not installed.
func Own(t testing.TB, more ...string) *Cluster {
	t.Helper()
	if _, err := binaries(); err != nil {
		missing(t, err)
	}
	c, err := Start(t.Context(), more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Skewed opens a migrated PostgreSQL store as a process whose clock is ahead would
// open it.
func Skewed(t testing.TB, url string, ahead time.Duration) *db.DB {
	t.Helper()
	return open(t, db.Config{URL: url, Log: Log(t), Conns: 8, Clock: func() time.Time { return time.Now().Add(ahead) }}, false)
}

func open(t testing.TB, cfg db.Config, migrate bool) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open test store: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close test store: %v", err)
		}
	})
	if migrate {
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("migrate test store: %v", err)
		}
	}
	return d
}

// Log returns a logger that writes warnings and errors to the log of a test.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// cleanupContext returns a context for work after the test's own has ended.
func cleanupContext(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
}

// missing skips a test that needs PostgreSQL, or fails it if everything is required.
func missing(t testing.TB, why error) {
	t.Helper()
	if os.Getenv("HEARTH_TEST_REQUIRE") == "all" {
		t.Fatalf("PostgreSQL is required and cannot be had: %v", why)
	}
	t.Skipf("SKIPPED: no PostgreSQL to test on: %v", why)
}
