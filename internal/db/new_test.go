package db_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

var update = flag.Bool("update", false, "write migrations/sqlite.sql, which new stores are made of")

const (
	wholeFile = "migrations/sqlite.sql"
	howToGo   = "go test ./internal/db -run TestNewStores -update"
)

// oneByOne is the migrations of SQLite without the file of new stores.
func oneByOne(t *testing.T) fstest.MapFS {
	t.Helper()
	set := fstest.MapFS{}
	names, err := fs.Glob(os.DirFS("migrations"), "sqlite/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("migrations", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		set[name] = &fstest.MapFile{Data: text}
	}
	return set
}

// made is a store that these migrations have made.
func made(t *testing.T, set fs.FS) *db.DB {
	t.Helper()
	d := reopen(t, db.Config{Path: filepath.Join(t.TempDir(), "hearth.db"), Log: dbtest.Log(t)}, set)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatalf("Migrate: %v", err)
	}
	return d
}

// columnOf reads a column.
func columnOf(t *testing.T, d *db.DB, query string) []string {
	t.Helper()
	rows, err := d.Query(t.Context(), query)
	all, err := db.Collect(rows, err, "read texts", func(s *string, r db.Row) error { return r.Scan(s) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// schemaOf is the statements that make the tables of a store, in the order of
// the store.
func schemaOf(t *testing.T, d *db.DB) string {
	t.Helper()
	all := columnOf(t, d, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> 'schema_migrations' ORDER BY rowid`)
	return strings.Join(all, ";\n") + ";\n"
}

// TestNewStores holds that a new store, which is made at once, is the one that
// the migrations make one by one: the same tables, the same entries of what was
// applied, and no row that a migration would have written.
func TestNewStores(t *testing.T) {
	t.Parallel()
	sum, err := db.MigrationSum(db.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	slow := made(t, oneByOne(t))
	want := schemaOf(t, slow)
	text := fmt.Sprintf("-- What the migrations make, for new stores. Written by %s. %s\n%s", howToGo, sum, want)
	if *update {
		if err := os.WriteFile(wholeFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(wholeFile); err != nil || strings.ReplaceAll(string(got), "\r\n", "\n") != text {
		t.Fatalf("%s is not what the migrations make: run %s (%v)", wholeFile, howToGo, err)
	}
	quick := made(t, nil)
	if got := schemaOf(t, quick); got != want {
		t.Errorf("schema of a new store =\n%s\nwant\n%s", got, want)
	}
	const applied = `SELECT version || ' ' || name || ' ' || checksum FROM schema_migrations ORDER BY version`
	if got, want := columnOf(t, quick, applied), columnOf(t, slow, applied); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("applied in a new store = %q, want %q", got, want)
	}
	for _, table := range columnOf(t, slow, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations'`) {
		if rows := columnOf(t, slow, `SELECT 'row' FROM "`+table+`"`); len(rows) > 0 {
			t.Errorf("the migrations write %d rows of %s, which a new store does not have", len(rows), table)
		}
	}
}

// A file of new stores that is of other migrations is not used.
func TestNewStoresOfOtherMigrations(t *testing.T) {
	t.Parallel()
	set := oneByOne(t)
	set["sqlite.sql"] = &fstest.MapFile{Data: []byte("-- 0123\nCREATE TABLE other (id BIGINT);")}
	d := made(t, set)
	if got, want := schemaOf(t, d), schemaOf(t, made(t, oneByOne(t))); got != want {
		t.Errorf("schema =\n%s\nwant what the migrations make\n%s", got, want)
	}
}
