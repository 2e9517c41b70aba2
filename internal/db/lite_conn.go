package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// maxStmts bounds the prepared statements of one connection.
const maxStmts = 512

// liteConn is one SQLite connection below database/sql, with its prepared
// statements. Its owner sees to it that one goroutine uses it at a time.
type liteConn struct {
	c     driver.Conn
	stmts map[string]*liteStmt
	args  []driver.NamedValue    // reused: the driver copies what it is given
	fail  func(sql string) error // tests make statements fail here; else nil

	// For the writer: what became of the transaction since these were cleared.
	dirty bool // something may have changed
	ended bool // SQLite has rolled back, by itself or because it was told to
}

// liteStmt is a prepared statement. It serves one result at a time.
type liteStmt struct {
	s       driver.Stmt
	busy    bool
	reads   bool // it cannot change anything, so it may stop half way
	plain   bool // it is undone by SQLite when it breaks a rule, and counts all it changes
	control bool // it begins or ends transactions, which is for the writer only
	cached  bool
	order   []int // which argument stands at each parameter
}

// openLiteFile opens the file with parameters of SQLite's file URIs.
func openLiteFile(ctx context.Context, path, params string) (*liteConn, error) {
	dsn, err := liteDSN(path)
	if err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(dsn + "&" + params)
	if err != nil {
		return nil, err
	}
	dc, err := connector.Connect(ctx)
	if err != nil {
		return nil, mapLite(err)
	}
	c := &liteConn{c: dc, stmts: make(map[string]*liteStmt)}
	hook, ok := dc.(sqlite.HookRegisterer)
	if !ok {
		return nil, errors.Join(errors.New("driver cannot tell of a rollback"), dc.Close())
	}
	hook.RegisterRollbackHook(func() { c.ended = true })
	return c, nil
}

// openLiteConn opens a file that exists and runs the pragmas. A file that has
// gone, say with its disk, must not come back empty.
func openLiteConn(ctx context.Context, path string, pragmas ...string) (*liteConn, error) {
	c, err := openLiteFile(ctx, path, "mode=rw")
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
func createLite(ctx context.Context, path string) error {
	if err := createPrivate(path); err != nil {
		return err
	}
	c, err := openLiteFile(ctx, path, "mode=rw")
	if err != nil {
		return err
	}
	return errors.Join(c.run("PRAGMA journal_mode=WAL"), c.close())
}

// liteDSN is the file as a URI, so that no character of the path has a
// meaning. Double-quoted text is a name, as on PostgreSQL.
func liteDSN(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a Windows drive
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath() + "?_dqs=0", nil
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
	ex, ok := c.c.(driver.ExecerContext)
	if !ok {
		return errors.New("driver cannot execute scripts")
	}
	c.dirty = true
	_, err := ex.ExecContext(ctx, script, nil)
	return mapLite(err)
}

// exec runs one statement to its end. No cancellable context reaches the
// driver: it would interrupt the connection, and an interrupted write rolls
// back the transaction of everybody in the batch.
func (c *liteConn) exec(_ context.Context, sql string, args []any) (int64, error) {
	s, err := c.prepare(sql, false)
	if err != nil {
		return 0, err
	}
	s.busy = true
	vals, err := c.bind(s.order, args)
	if err != nil {
		return 0, errors.Join(err, c.release(s))
	}
	res, err := s.s.(driver.StmtExecContext).ExecContext(context.Background(), vals)
	clear(vals)
	if rel := c.release(s); err == nil {
		err = rel
	}
	if err != nil {
		c.failed(s, err)
		return 0, mapLite(err)
	}
	n, err := res.RowsAffected()
	c.dirty = c.dirty || n > 0 && !s.reads || !s.reads && !s.plain
	return n, err
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
	_, err = s.s.(driver.StmtExecContext).ExecContext(context.Background(), nil)
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
	vals, err := c.bind(s.order, args)
	if err != nil {
		return nil, errors.Join(err, c.release(s))
	}
	r, err := s.s.(driver.StmtQueryContext).QueryContext(ctx, vals)
	clear(vals)
	c.dirty = c.dirty || !s.reads // RETURNING: nobody knows before its end
	if err != nil {
		c.failed(s, err)
		c.release(s)
		return nil, mapLite(err)
	}
	return &liteRows{c: c, s: s, r: r, vals: make([]driver.Value, len(r.Columns()))}, nil
}

// prepare gives an idle statement for the text, from the cache if it can.
// Preparing some PRAGMAs already carries them out, so what is not for callers
// is refused before.
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

func (c *liteConn) release(s *liteStmt) error {
	s.busy = false
	if s.cached {
		return nil
	}
	return s.s.Close()
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

// isPlain is true for statements that change only what RowsAffected counts, and
// of which nothing stays when they break a rule. No trigger of ours writes;
// OR FAIL and OR ROLLBACK are told by their second word.
func isPlain(sql string) bool {
	words := strings.Fields(sql[:min(len(sql), 64)])
	if len(words) < 2 {
		return false
	}
	switch strings.ToUpper(words[0]) {
	case "INSERT":
		return strings.EqualFold(words[1], "INTO")
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
