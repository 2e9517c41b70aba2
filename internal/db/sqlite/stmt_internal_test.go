package sqlite

import (
	"path/filepath"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"
)

// TestStatementsStayPrepared: a partial index makes the planner look at
// parameters, unless it was told not to.
func TestStatementsStayPrepared(t *testing.T) {
	t.Parallel()
	c, err := Open("file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "a.db")) + "?mode=rwc")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := c.Run(`CREATE TABLE t (a, b); CREATE INDEX whole ON t (a); CREATE INDEX part ON t (b) WHERE b = 0; INSERT INTO t VALUES (1, 1)`); err != nil {
		t.Fatal(err)
	}
	s, err := c.Prepare(`SELECT b FROM t WHERE a = $1 AND b = $2`)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 10 {
		if err := s.Bind([]any{int64(1), int64(i - 5)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Step(); err != nil {
			t.Fatal(err)
		}
		if err := s.Reset(); err != nil {
			t.Fatal(err)
		}
	}
	if n := sqlite3.Xsqlite3_stmt_status(c.tls, s.p, sqlite3.SQLITE_STMTSTATUS_REPREPARE, 0); n > 0 {
		t.Errorf("prepared anew %d times", n)
	}
}
