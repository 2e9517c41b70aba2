package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	beginWrite = "begin isolation level read committed"
	// mostSent is how many statements wait for the next one that has a result.
	mostSent = 100
)

// pgSession runs statements of a transaction that writes. Statements whose result is
// not needed are sent with the next one, the beginning with the first statement and
// the last ones with the commit: each round trip costs both sides as much as a small
// statement.
//
// The caller's context does not cut a statement short. The deadline of the
// connection detects a server that has silently gone, which saves a goroutine per
// statement that watches a context.
type pgSession struct {
	conn  *pgx.Conn
	ctx   context.Context //nolint:containedctx // has values, and never ends
	wait  *pgx.Batch      // sent with the next statement
	begun bool
}

// newPgSession begins a transaction on a connection that must have answered by until.
func newPgSession(ctx context.Context, conn *pgx.Conn, until time.Time) (*pgSession, error) {
	if err := conn.PgConn().Conn().SetDeadline(until); err != nil {
		return nil, err
	}
	s := &pgSession{conn: conn, ctx: context.WithoutCancel(ctx), wait: &pgx.Batch{}}
	s.wait.Queue(beginWrite)
	return s, nil
}

func (s *pgSession) exec(_ context.Context, sql string, args []any) (int64, error) {
	if isControl(sql) {
		return 0, errControl
	}
	if s.wait.Len() == 0 {
		tag, err := s.conn.Exec(s.ctx, sql, args...)
		return tag.RowsAffected(), mapPg(s.ctx, err)
	}
	res, err := s.ask(sql, args)
	if err != nil {
		return 0, err
	}
	tag, err := res.Exec()
	if end := res.Close(); err == nil {
		err = end
	}
	return tag.RowsAffected(), mapPg(s.ctx, err)
}

func (s *pgSession) send(_ context.Context, sql string, args []any) error {
	if isControl(sql) {
		return errControl
	}
	if s.wait.Len() >= mostSent {
		_, err := s.exec(s.ctx, sql, args)
		return err
	}
	s.wait.Queue(sql, args...)
	return nil
}

func (s *pgSession) query(_ context.Context, sql string, args []any) (Rows, error) {
	if isControl(sql) {
		return nil, errControl
	}
	if s.wait.Len() == 0 {
		r, err := s.conn.Query(s.ctx, sql, args...)
		if err != nil {
			return nil, mapPg(s.ctx, err)
		}
		return &pgRows{ctx: s.ctx, Rows: r}, nil
	}
	res, err := s.ask(sql, args)
	if err != nil {
		return nil, err
	}
	r, err := res.Query()
	if err != nil {
		_ = res.Close() // says the same
		return nil, mapPg(s.ctx, err)
	}
	return &sentRows{pgRows: pgRows{ctx: s.ctx, Rows: r}, res: res}, nil
}

// ask sends what waits with a statement, whose results are the next to be read.
func (s *pgSession) ask(sql string, args []any) (pgx.BatchResults, error) {
	before := s.wait.Len()
	s.wait.Queue(sql, args...)
	res := s.flush()
	for range before {
		if _, err := res.Exec(); err != nil {
			_ = res.Close() // says the same
			return nil, mapPg(s.ctx, err)
		}
	}
	return res, nil
}

// question is a query to run after a commit: one value as text.
type question struct{ sql, answer string }

// commit sends the pending statements, and stores everything; questions go in
// the same message. One that fails stays without an answer, because the commit
// is done by then. A transaction that never began has nothing to store.
func (s *pgSession) commit(then ...*question) error {
	switch {
	case s.begun:
	case s.wait.Len() == 1:
		return nil
	case len(then) == 0 && s.conn.PgConn().CustomData()[aloneSetting] == true:
		s.wait.QueuedQueries = s.wait.QueuedQueries[1:]
		return s.flush().Close() // reads all, to the answer that it is stored
	}
	before := s.wait.Len()
	s.wait.Queue("commit")
	for _, q := range then {
		s.wait.Queue(`SELECT (` + q.sql + `)::text`)
	}
	res := s.flush()
	for range before {
		if _, err := res.Exec(); err != nil {
			_ = res.Close() // says the same
			return err
		}
	}
	tag, err := res.Exec()
	for _, q := range then {
		if err == nil {
			_ = res.QueryRow().Scan(&q.answer) // see above
		}
	}
	if end := res.Close(); err == nil && len(then) == 0 {
		err = end
	}
	if err == nil && tag.String() == "ROLLBACK" {
		err = pgx.ErrTxCommitRollback
	}
	return err
}

// flush sends what waits.
func (s *pgSession) flush() pgx.BatchResults {
	sent := s.wait
	s.wait, s.begun = &pgx.Batch{}, true
	return s.conn.SendBatch(s.ctx, sent)
}

// close takes the connection out of the transaction, which is undone unless it was
// stored. A connection that cannot do that is not used again: the pool looks.
func (s *pgSession) close() {
	if s.begun && !s.conn.IsClosed() && s.conn.PgConn().TxStatus() != 'I' {
		_, _ = s.conn.Exec(s.ctx, "rollback")
	}
	_ = s.conn.PgConn().Conn().SetDeadline(time.Time{}) // it is closed, or has one
}

// sentRows are rows of a statement that was sent with others.
type sentRows struct {
	pgRows
	res  pgx.BatchResults
	done bool
	err  error
}

func (r *sentRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.finish()
	return false
}

// finish leaves the connection ready for the next statement.
func (r *sentRows) finish() {
	if r.done {
		return
	}
	r.done = true
	r.Rows.Close()
	if err := r.res.Close(); err != nil && r.Rows.Err() == nil {
		r.err = mapPg(r.ctx, fmt.Errorf("end of statements: %w", err))
	}
}

func (r *sentRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.pgRows.Err()
}

func (r *sentRows) Close() error {
	r.finish()
	return r.Err()
}

// pgView runs statements of a view, which may be cancelled and cannot write.
type pgView struct {
	tx      pgx.Tx
	primary *DB // of the replica that is read; nil: it is the primary
}

func (v pgView) exec(context.Context, string, []any) (int64, error) { return 0, errReadOnly }

func (v pgView) send(context.Context, string, []any) error { return errReadOnly }

func (v pgView) query(ctx context.Context, sql string, args []any) (Rows, error) {
	return boundQuery(ctx, func(ctx context.Context) (pgx.Rows, error) { return v.tx.Query(ctx, sql, args...) })
}

// pgRows is pgx.Rows with our Close and our errors.
type pgRows struct {
	ctx context.Context //nolint:containedctx // tells why rows ended early
	pgx.Rows
}

func (r *pgRows) Close() error {
	r.Rows.Close()
	return r.Err()
}

func (r *pgRows) Err() error { return mapPg(r.ctx, r.Rows.Err()) }
