package db_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// pair makes a set of migrations that is the same for both engines.
func pair(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, sql := range files {
		for _, d := range []string{"sqlite", "postgres"} {
			m[d+"/"+name+".sql"] = &fstest.MapFile{Data: []byte(sql)}
		}
	}
	return m
}

// reopen opens the store of a test again with other migrations.
func reopen(t *testing.T, where db.Config, set fs.FS) *db.DB {
	t.Helper()
	where.Migrations = set
	d, err := db.Open(t.Context(), where)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// each gives an empty place for a store on each engine.
func each(t *testing.T, f func(t *testing.T, where db.Config)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, db.Config{Path: filepath.Join(t.TempDir(), "hearth.db"), Log: dbtest.Log(t)})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, db.Config{URL: dbtest.URL(t), Conns: 4, Log: dbtest.Log(t)})
	})
}

const (
	createA = `CREATE TABLE a (id BIGINT PRIMARY KEY); INSERT INTO a VALUES (1);`
	createB = `CREATE TABLE b (id BIGINT PRIMARY KEY REFERENCES a(id)); INSERT INTO b VALUES (1);`
)

// These show only at COMMIT, or end the transaction of everybody in a batch.
func TestMigrationsHaveImmediateConstraintsOnly(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`(?is)\bDEFERRABLE\b|\bON\s+CONFLICT\s+ROLLBACK\b|\bOR\s+ROLLBACK\b|RAISE\s*\(\s*ROLLBACK|\bDEFERRED\b`)
	comment := regexp.MustCompile(`(?m)--.*$`)
	err := filepath.WalkDir("migrations", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bad := forbidden.FindString(comment.ReplaceAllString(string(text), "")); bad != "" {
			t.Errorf("%s holds %q", path, bad)
		}
		return err
	})
	if err != nil {
		t.Errorf("read migrations: %v", err)
	}
	for _, bad := range []string{"x DEFERRABLE INITIALLY DEFERRED", "ON CONFLICT  ROLLBACK", "RAISE (ROLLBACK, 'x')"} {
		if !forbidden.MatchString(bad) {
			t.Errorf("%q is not noticed", bad)
		}
	}
}

func TestEmbeddedMigrationsApply(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, nil)
		for range 2 { // the second time there is nothing to do
			if err := d.Migrate(t.Context()); err != nil {
				t.Fatalf("Migrate: %v", err)
			}
		}
		s, err := d.Schema(t.Context())
		if err != nil || len(s.Pending) != 0 || s.Version != s.Newest || s.Newest < 0 {
			t.Errorf("Schema = %+v, %v; want all applied", s, err)
		}
	})
}

func TestMigrateIsResumable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		broken := pair(map[string]string{
			"0001_a": createA,
			"0002_b": createB + ` CREATE TABLE c (id BIGINT PRIMARY KEY); INSERT INTO nothing VALUES (1);`,
		})
		d := reopen(t, where, broken)
		err := d.Migrate(t.Context())
		if err == nil || !strings.Contains(err.Error(), "0002_b") {
			t.Fatalf("Migrate = %v, want an error that names 0002_b", err)
		}
		s, err := d.Schema(t.Context())
		if err != nil || s.Version != 1 || len(s.Pending) != 1 || s.Pending[0] != "0002_b" {
			t.Errorf("Schema = %+v, %v; want 0001 applied and 0002_b pending", s, err)
		}
		d = reopen(t, where, pair(map[string]string{"0001_a": createA, "0002_b": createB, "0003_c": `CREATE TABLE c (id BIGINT PRIMARY KEY);`}))
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate again: %v", err)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM b, a`).Scan(&n); err != nil || n != 1 {
			t.Errorf("rows = %d, %v; want 1", n, err)
		}
	})
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		first := reopen(t, where, pair(map[string]string{"0001_a": createA, "0007_contract_b": createB}))
		if err := first.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		err := reopen(t, where, pair(map[string]string{"0001_a": createA})).Migrate(t.Context())
		var newer *db.NewerError
		if !errors.As(err, &newer) || newer.Store != 7 || newer.Binary != 1 {
			t.Errorf("newer store: %v, want NewerError 7 over 1", err)
		} else if text := err.Error(); !strings.Contains(text, "0007") || !strings.Contains(text, "0001") {
			t.Errorf("%q does not name both versions", text)
		}
		for what, tt := range map[string]struct {
			set  fs.FS
			want string
		}{
			"changed":     {pair(map[string]string{"0001_a": createA + " ", "0007_contract_b": createB}), "0001_a was changed"},
			"unknown":     {pair(map[string]string{"0007_contract_b": createB, "0009_c": ""}), "0001_a, which"},
			"bad name":    {pair(map[string]string{"1_a": createA}), "0007_name.sql"},
			"same number": {pair(map[string]string{"0001_a": "", "0001_b": ""}), "same number"},
			"no folder":   {fstest.MapFS{}, "read migrations"},
		} {
			if err := reopen(t, where, tt.set).Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want an error with %q", what, err, tt.want)
			}
		}
	})
}

func TestLateMigrationIsApplied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		for _, set := range []map[string]string{
			{"0001_a": createA, "0003_c": `CREATE TABLE c (id BIGINT PRIMARY KEY);`},
			{"0001_a": createA, "0002_b": createB, "0003_c": `CREATE TABLE c (id BIGINT PRIMARY KEY);`},
		} {
			if err := reopen(t, where, pair(set)).Migrate(t.Context()); err != nil {
				t.Fatalf("Migrate: %v", err)
			}
		}
	})
}

func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		set := pair(map[string]string{"0001_a": createA, "0002_b": createB})
		errs := make(chan error, 4)
		for range cap(errs) {
			d := reopen(t, where, set)
			go func() { errs <- d.Migrate(t.Context()) }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Errorf("Migrate: %v", err)
			}
		}
	})
}

func TestMigrationMayNotBreakForeignKeys(t *testing.T) {
	t.Parallel()
	where := db.Config{Path: filepath.Join(t.TempDir(), "hearth.db")}
	set := map[string]string{"0001_a": createA, "0002_b": createB}
	if err := reopen(t, where, pair(set)).Migrate(t.Context()); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	// The way SQLite documents to change a table others refer to.
	set["0003_rebuild"] = `CREATE TABLE a2 (id BIGINT PRIMARY KEY, note TEXT); INSERT INTO a2(id) SELECT id FROM a; DROP TABLE a; ALTER TABLE a2 RENAME TO a;`
	if err := reopen(t, where, pair(set)).Migrate(t.Context()); err != nil {
		t.Fatalf("rebuild of a table: %v", err)
	}
	set["0004_bad"] = `DELETE FROM a;`
	if err := reopen(t, where, pair(set)).Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "foreign keys") {
		t.Errorf("Migrate = %v, want it to refuse broken foreign keys", err)
	}
}

func TestCopyBeforeMigration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	where := db.Config{Path: filepath.Join(dir, "it's [1].db")}
	set := map[string]string{}
	for _, v := range []string{"0001_a", "0002_b", "0003_c", "0004_d", "0005_e"} {
		set[v] = `CREATE TABLE ` + v[5:] + ` (id BIGINT PRIMARY KEY); INSERT INTO ` + v[5:] + ` VALUES (1);`
		d := reopen(t, where, pair(set))
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate to %s: %v", v, err)
		}
	}
	got, err := filepath.Glob(filepath.Join(dir, "*.before-*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	want := []string{"it's [1].db.before-0003", "it's [1].db.before-0004", "it's [1].db.before-0005"}
	if !slices.Equal(got, want) {
		t.Errorf("copies = %v, want the newest three %v", got, want)
	}
	old := reopen(t, db.Config{Path: filepath.Join(dir, want[0])}, pair(map[string]string{"0001_a": set["0001_a"], "0002_b": set["0002_b"]}))
	s, err := old.Schema(t.Context())
	if err != nil || s.Version != 2 || len(s.Pending) != 0 {
		t.Errorf("the copy has schema %+v, %v; want version 2", s, err)
	}
}

func TestCancelledMigration(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, pair(map[string]string{"0001_a": createA}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Migrate(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Migrate = %v, want context.Canceled", err)
		}
		if err := d.Migrate(t.Context()); err != nil {
			t.Errorf("Migrate afterwards: %v", err)
		}
	})
}
