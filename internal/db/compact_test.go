package db_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// What was deleted leaves the disk, what was not stays, also when the last of it was
// only in the log; and nobody compacts a store that a server has.
func TestCompact(t *testing.T) {
	t.Parallel()
	cfg := db.Config{Path: filepath.Join(t.TempDir(), "hearth.db")}
	d := reopen(t, cfg, nil)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	schema(t, d)
	if _, err := d.Exec(t.Context(), `CREATE TABLE bulk (data BLOB)`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), `INSERT INTO bulk SELECT zeroblob(100000) FROM pragma_function_list LIMIT 50`); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(t.Context(), `DELETE FROM bulk`); err != nil {
		t.Fatal(err)
	}
	if err := insert(t.Context(), d, 2); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err := db.Lock(filepath.Dir(cfg.Path))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Compact(t.Context(), cfg); err == nil {
		t.Error("a store in use was compacted")
	}
	lock.Unlock()
	before, after, err := db.Compact(t.Context(), cfg)
	if err != nil || before-after < 4_000_000 {
		t.Errorf("%d bytes became %d, %v", before, after, err)
	}
	if fi, err := os.Stat(cfg.Path); err != nil || fi.Size() != after || fi.Mode().Perm() != 0o600 {
		t.Errorf("the file has %v, %v", fi, err)
	}
	r := reopen(t, cfg, nil)
	wantStored(t, r, "2")
	if report, err := r.Check(t.Context()); err != nil || !report.OK() {
		t.Errorf("check: %+v, %v", report, err)
	}
}

// A server on PostgreSQL gives space back by itself.
func TestCompactPostgres(t *testing.T) {
	t.Parallel()
	if _, _, err := db.Compact(t.Context(), db.Config{URL: "postgres://x"}); err == nil {
		t.Error("no error")
	}
}
