package sqlite_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hearth-dmrv/hearth/internal/db/sqlite"
)

// open is a new file with one table.
func open(t *testing.T) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.Open("file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "a.db")) + "?mode=rwc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Run(`CREATE TABLE t (a, b UNIQUE); INSERT INTO t VALUES (0, 'first')`); err != nil {
		t.Fatal(err)
	}
	return c
}

func prepare(t *testing.T, c *sqlite.Conn, sql string) *sqlite.Stmt {
	t.Helper()
	s, err := c.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // again where the test has: nothing happens
	return s
}

func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func TestValuesRoundTrip(t *testing.T) {
	t.Parallel()
	c := open(t)
	s := prepare(t, c, `SELECT $1, typeof($2)`)
	big := strings.Repeat("ü", 1<<20) // more than a statement keeps room for
	tests := []struct {
		in   any
		kind sqlite.Kind
		is   func(sqlite.Value) bool
	}{
		{nil, sqlite.Null, func(sqlite.Value) bool { return true }},
		{int64(math.MinInt64), sqlite.Int, func(v sqlite.Value) bool { return v.Int() == math.MinInt64 }},
		{math.MaxInt64, sqlite.Int, func(v sqlite.Value) bool { return v.Int() == math.MaxInt64 }},
		{true, sqlite.Int, func(v sqlite.Value) bool { return v.Int() == 1 }},
		{false, sqlite.Int, func(v sqlite.Value) bool { return v.Int() == 0 }},
		{-0.5, sqlite.Float, func(v sqlite.Value) bool { return v.Float() == -0.5 }},
		{"", sqlite.Text, func(v sqlite.Value) bool { return v.Text() == "" }},
		{"a\x00ü", sqlite.Text, func(v sqlite.Value) bool { return v.Text() == "a\x00ü" }},
		{big, sqlite.Text, func(v sqlite.Value) bool { return v.Text() == big }},
		{[]byte{}, sqlite.Blob, func(v sqlite.Value) bool { return v.Bytes() != nil && len(v.Bytes()) == 0 }},
		{[]byte{0, 255}, sqlite.Blob, func(v sqlite.Value) bool { return string(v.Bytes()) == "\x00\xff" }},
	}
	for _, tt := range tests {
		if err := s.Bind([]any{tt.in, tt.in}); err != nil {
			t.Fatalf("%T: %v", tt.in, err)
		}
		row, err := s.Step()
		if err != nil || !row {
			t.Fatalf("%T: row %v, %v", tt.in, row, err)
		}
		if v := s.Column(0); v.Kind != tt.kind || !tt.is(v) {
			t.Errorf("%T came back as kind %d, or changed", tt.in, v.Kind)
		}
		if err := s.Reset(); err != nil {
			t.Error(err)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	t.Parallel()
	s := prepare(t, open(t), `SELECT $1`)
	for _, vals := range [][]any{{}, {1, 2}, {uint8(1)}, {time.Now()}} {
		if err := s.Bind(vals); err == nil {
			t.Errorf("%v was bound", vals)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	c := open(t)
	tests := map[string]string{
		``:                           "no statement",
		`-- nothing`:                 "no statement",
		`SELECT 1; SELECT 2`:         "more than one statement",
		`SELECT "no_such_column"`:    "no such column",
		`SELECT * FROM no_such`:      "no such table",
		`SELECT 1 FROM t WHERE a = `: "incomplete input",
	}
	for sql, want := range tests {
		if _, err := c.Prepare(sql); code(err) != sqlite3.SQLITE_ERROR || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", sql, err, want)
		}
	}
	prepare(t, c, "SELECT 1 ; \n")
}

// A statement that broke a rule can be used again, and says why once.
func TestFailureAndReset(t *testing.T) {
	t.Parallel()
	c := open(t)
	s := prepare(t, c, `INSERT INTO t VALUES ($1, $2)`)
	add := func(b string) error {
		if err := s.Bind([]any{1, b}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Step()
		s.Reset()
		return err
	}
	if err := add("first"); code(err) != sqlite3.SQLITE_CONSTRAINT_UNIQUE || !strings.Contains(err.Error(), "t.b") {
		t.Errorf("a second row of one name: %v", err)
	}
	if err := add("second"); err != nil {
		t.Error(err)
	}
	if n := c.Changes(); n != 1 {
		t.Errorf("%d rows changed; want 1", n)
	}
}

func TestInTx(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, tt := range []struct {
		sql  string
		open bool
	}{{`BEGIN`, true}, {`SAVEPOINT s`, true}, {`ROLLBACK TO s`, true}, {`INSERT OR ROLLBACK INTO t VALUES (1, 'first')`, false}} {
		c.Run(tt.sql) // the last one fails
		if c.InTx() != tt.open {
			t.Errorf("after %s: open is %v", tt.sql, c.InTx())
		}
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	c := open(t)
	s := prepare(t, c, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`)
	started, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			if i == 1 {
				close(started)
			}
			if _, err := s.Step(); err != nil {
				stopped <- err
				return
			}
		}
	}()
	<-started
	c.Interrupt()
	if err := <-stopped; code(err) != sqlite3.SQLITE_INTERRUPT {
		t.Errorf("interrupted: %v", err)
	}
	s.Reset()
	if err := c.Run(`SELECT 1`); err != nil {
		t.Errorf("after an interrupt: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := filepath.ToSlash(t.TempDir())
	for _, name := range []string{dir + "/none.db?mode=rw", dir + "?mode=rw", dir + "/a.db?vfs=none"} {
		if c, err := sqlite.Open("file://" + name); err == nil {
			c.Close()
			t.Errorf("%s was opened", name)
		}
	}
}

// After the end nothing happens, and nothing falls over.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	c := open(t)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c.Interrupt()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
