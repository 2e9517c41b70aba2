package db

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hearth-dmrv/hearth/internal/db/sqlite"
)

// maxStmts bounds the prepared statements of one connection.
const maxStmts = 512

// liteConn is one SQLite connection with its prepared statements. Its owner
// ensures that one goroutine at a time uses it.
type liteConn struct {
	c     *sqlite.Conn
	stmts map[string]*liteStmt
	args  []any                  // reused: they are copied
	fail  func(sql string) error // tests make statements fail here; else nil
	dirty bool                   // for the writer: something may have changed since it was cleared
}

// liteStmt is a prepared statement. It serves one result at a time.
type liteStmt struct {
	s       *sqlite.Stmt
	busy    bool
	reads   bool // it cannot change anything, so it may stop half way
	plain   bool // it is undone by SQLite when it breaks a rule, and counts all it changes
	control bool // it begins or ends transactions, which is for the writer only
	cached  bool
	order   []int // which argument stands at each parameter
}

// existing is the mode of a file that must be there. One that has gone, say with
// its disk, must not come back empty.
const existing = "mode=rw"

// openLiteFile opens the file with parameters of SQLite's file URIs.
func openLiteFile(path, params string) (*liteConn, error) {
	uri, err := liteURI(path)
	if err != nil {
		return nil, err
	}
	c, err := sqlite.Open(uri + "?" + params)
	if err != nil {
		return nil, mapLite(err)
	}
	return &liteConn{c: c, stmts: make(map[string]*liteStmt)}, nil
}

// openLiteConn opens a file that exists and runs the pragmas.
func openLiteConn(path string, pragmas ...string) (*liteConn, error) {
	c, err := openLiteFile(path, existing)
	if err != nil {
		return nil, err
	}
	for _, p := range pragmas {
		if err := c.run("PRAGMA " + p); err != nil {
			c.close()
			return nil, fmt.Errorf("PRAGMA %s: %w", p, err)
		}
	}
	return c, nil
}

// createLite makes the file if it is not there.
func createLite(path string) error {
	if err := createPrivate(path); err != nil {
		return err
	}
	c, err := openLiteFile(path, existing)
	if err != nil {
		return err
	}
	return errors.Join(c.run("PRAGMA journal_mode=WAL"), c.close())
}

// liteURI is the file as a URI, so that no character of the path has a meaning.
func liteURI(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a Windows drive
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath(), nil
}

// busyPragma is how long SQLite itself waits for another process.
func busyPragma(d time.Duration) string {
	return fmt.Sprintf("busy_timeout=%d", d.Milliseconds())
}

// run executes a script of any number of statements without parameters. It is
// never cancelled, see exec.
func (c *liteConn) run(script string) error { return c.runUntil(context.Background(), script) }

// runUntil is run that ctx may interrupt; never on the writer's connection.
func (c *liteConn) runUntil(ctx context.Context, script string) error {
	if c.fail != nil {
		if err := c.fail(script); err != nil {
			return mapLite(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.dirty = true
	defer c.interruptedBy(ctx)()
	return cancelled(ctx, mapLite(c.c.Run(script)))
}

// interruptedBy makes the end of ctx interrupt the running statement until the
// returned function is called.
func (c *liteConn) interruptedBy(ctx context.Context) func() {
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		c.c.Interrupt()
	})
	return func() {
		if !stop() {
			<-done // otherwise it would interrupt the next statement
		}
	}
}

func (c *liteConn) send(ctx context.Context, sql string, args []any) error {
	_, err := c.exec(ctx, sql, args)
	return err
}

// exec runs one statement to its end. No context interrupts it: an interrupted
// write rolls back the transaction of everybody in the batch.
func (c *liteConn) exec(_ context.Context, sql string, args []any) (int64, error) {
	s, err := c.prepare(sql, false)
	if err != nil {
		return 0, err
	}
	s.busy = true
	if err := c.bind(s, args); err != nil {
		return 0, errors.Join(err, c.release(s))
	}
	err = s.finish()
	n := c.c.Changes()
	if rel := c.release(s); err == nil {
		err = rel
	}
	if err != nil {
		c.failed(s, err)
		return 0, mapLite(err)
	}
	c.dirty = c.dirty || n > 0 && !s.reads || !s.reads && !s.plain
	return n, nil
}

// finish runs the statement to its end, whatever rows it gives.
func (s *liteStmt) finish() error {
	for {
		if more, err := s.s.Step(); err != nil || !more {
			return err
		}
	}
}

// failed notes what an error of a statement may have left behind.
func (c *liteConn) failed(s *liteStmt, err error) {
	code := liteCode(err) & 0xff
	harmless := s.plain && code == sqlite3.SQLITE_CONSTRAINT || s.reads && code == sqlite3.SQLITE_ERROR
	c.dirty = c.dirty || !harmless
}

// control runs a statement that begins or ends a transaction or savepoint.
func (c *liteConn) control(sql string) error {
	s, err := c.prepare(sql, true)
	if err != nil {
		return err
	}
	s.busy = true
	err = s.finish()
	if rel := c.release(s); err == nil {
		err = rel
	}
	return mapLite(err)
}

// query starts a statement that returns rows.
func (c *liteConn) query(_ context.Context, sql string, args []any) (Rows, error) {
	return c.rows(context.Background(), sql, args)
}

// rows is query with a context that may interrupt the first step; only for
// connections that read.
func (c *liteConn) rows(ctx context.Context, sql string, args []any) (*liteRows, error) {
	s, err := c.prepare(sql, false)
	if err != nil {
		return nil, err
	}
	s.busy = true
	if err := c.bind(s, args); err != nil {
		return nil, errors.Join(err, c.release(s))
	}
	return c.start(ctx, s)
}

// start takes the first step of a statement whose parameters are set: most
// errors show there.
func (c *liteConn) start(ctx context.Context, s *liteStmt) (*liteRows, error) {
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, c.release(s))
	}
	end := c.interruptedBy(ctx)
	first, err := s.s.Step()
	end()
	c.dirty = c.dirty || !s.reads // RETURNING: the outcome is known only at its end
	if err != nil {
		c.failed(s, err)
		c.release(s)
		return nil, mapLite(err)
	}
	return &liteRows{c: c, s: s, first: first, end: !first, vals: make([]sqlite.Value, s.s.Columns())}, nil
}

// prepare returns an idle statement for the text, from the cache if possible.
// Preparing some PRAGMAs already executes them, so those that callers may not
// use are refused before.
func (c *liteConn) prepare(sql string, control bool) (*liteStmt, error) {
	if c.fail != nil {
		if err := c.fail(sql); err != nil {
			return nil, mapLite(err)
		}
	}
	old := c.stmts[sql]
	if !control && (old == nil && isControl(sql) || old != nil && old.control) {
		return nil, errControl
	}
	if old != nil && !old.busy {
		return old, nil
	}
	text, order := positional(sql)
	ds, err := c.c.Prepare(text)
	if err != nil {
		c.dirty = c.dirty || liteTrouble(err)
		return nil, mapLite(err)
	}
	s := &liteStmt{s: ds, reads: isSelect(sql), plain: isPlain(sql), control: control, order: order}
	if old == nil && c.room() {
		s.cached = true
		c.stmts[sql] = s
	}
	return s, nil
}

// room makes place for one more cached statement.
func (c *liteConn) room() bool {
	if len(c.stmts) < maxStmts {
		return true
	}
	for sql, s := range c.stmts {
		if !s.busy {
			delete(c.stmts, sql)
			s.s.Close()
			return true
		}
	}
	return false
}

// release ends a run of the statement. It returns the error of the last step
// again.
func (c *liteConn) release(s *liteStmt) error {
	s.busy = false
	err := s.s.Reset()
	if s.cached {
		return err
	}
	return errors.Join(err, s.s.Close())
}

func (c *liteConn) close() error {
	for _, s := range c.stmts {
		s.s.Close()
	}
	c.stmts = nil
	return c.c.Close()
}

// isSelect is true for statements that surely change nothing.
func isSelect(sql string) bool {
	sql = strings.TrimSpace(sql)
	return len(sql) >= 6 && strings.EqualFold(sql[:6], "SELECT")
}

// isPlain reports statements that change only what RowsAffected counts, and leave
// nothing when they break a rule. No trigger of ours writes; OR FAIL and OR ROLLBACK
// are recognised by their words, and OR IGNORE counts what it stores.
func isPlain(sql string) bool {
	words := strings.Fields(sql[:min(len(sql), 64)])
	if len(words) < 3 {
		return false
	}
	switch strings.ToUpper(words[0]) {
	case "INSERT":
		return strings.EqualFold(words[1], "INTO") || strings.EqualFold(words[2], "IGNORE")
	case "DELETE":
		return strings.EqualFold(words[1], "FROM")
	case "UPDATE":
		return !strings.EqualFold(words[1], "OR")
	}
	return false
}

var errControl = errors.New("statements that begin or end transactions, and PRAGMA, are not for callers")

// isControl is true for statements that would change the transaction or the
// connection under everybody else in the batch.
func isControl(sql string) bool {
	sql = strings.TrimSpace(sql)
	end := strings.IndexFunc(sql, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if end < 0 {
		end = len(sql)
	}
	switch strings.ToUpper(sql[:min(end, 10)]) {
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "PRAGMA", "ATTACH", "DETACH", "VACUUM":
		return true
	}
	return false
}
