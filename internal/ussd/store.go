package ussd

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// row is a stored session before its record is read.
type row struct {
	id      string
	step    int64 // writes so far
	expires int64 // ms
	state   []byte
}

func find(ctx context.Context, q db.Querier, id string) (*row, error) {
	r := &row{id: id}
	err := q.QueryRow(ctx, `SELECT step, expires_at, state FROM ussd_sessions WHERE id = $1`, id).Scan(&r.step, &r.expires, &r.state)
	return db.Found(r, err, "find session")
}

// insert stores a new session. It reports false when there is one already.
func insert(ctx context.Context, tx *db.Tx, r *row) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO ussd_sessions(id, step, expires_at, state) VALUES ($1, 1, $2, $3) ON CONFLICT DO NOTHING`,
		r.id, r.expires, r.state)
	return n == 1, db.Wrap("insert session", err)
}

// Only on SQLite, where it saves a first dial the look for a draft; PostgreSQL
// does not know the types of parameters in a SELECT.
// OR IGNORE and not ON CONFLICT: with the latter SQLite keeps a journal of the
// statement, for its SELECT might give several rows.
const insertPlainSQLite = `INSERT OR IGNORE INTO ussd_sessions(id, step, expires_at, state)
	SELECT $1, 1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM ussd_drafts WHERE phone = $4 AND expires_at > $5)`

// insertPlain is insert for a number without a draft. It reports false also
// when there is one.
func insertPlain(ctx context.Context, tx *db.Tx, r *row, phone string, now int64) (bool, error) {
	n, err := tx.Exec(ctx, insertPlainSQLite, r.id, r.expires, r.state, phone, now)
	return n == 1, db.Wrap("insert session", err)
}

// update stores the next step of a session. It reports false when another
// instance has taken one meanwhile.
func update(ctx context.Context, tx *db.Tx, r *row) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE ussd_sessions SET step = step + 1, expires_at = $3, state = $4 WHERE id = $1 AND step = $2`,
		r.id, r.step, r.expires, r.state)
	return n == 1, db.Wrap("update session", err)
}

// within lists the sessions whose ids lie after one and before another.
func within(ctx context.Context, q db.Querier, from, to string, limit int) ([]*row, error) {
	rows, err := q.Query(ctx, `SELECT id, step, expires_at, state FROM ussd_sessions WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3`, from, to, limit)
	return scanRows(rows, err)
}

// after lists the sessions that follow an id.
func after(ctx context.Context, q db.Querier, id string, limit int) ([]*row, error) {
	rows, err := q.Query(ctx, `SELECT id, step, expires_at, state FROM ussd_sessions WHERE id > $1 ORDER BY id LIMIT $2`, id, limit)
	return scanRows(rows, err)
}

func scanRows(rows db.Rows, err error) ([]*row, error) {
	return db.Collect(rows, err, "list sessions", func(to **row, from db.Row) error {
		r := &row{}
		*to = r
		return from.Scan(&r.id, &r.step, &r.expires, &r.state)
	})
}

// remove deletes a session that has not changed since it was read; false when
// it has.
func remove(ctx context.Context, tx *db.Tx, r *row) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ussd_sessions WHERE id = $1 AND step = $2`, r.id, r.step)
	return n == 1, db.Wrap("remove session", err)
}

// expireNow ends a session that a gateway says is over.
func expireNow(ctx context.Context, tx *db.Tx, id string, now int64) error {
	err := tx.Send(ctx, `UPDATE ussd_sessions SET expires_at = $2 WHERE id = $1 AND expires_at > $2`, id, now)
	return db.Wrap("end session", err)
}

func findDraft(ctx context.Context, q db.Querier, phone string, now int64) ([]byte, error) {
	var state []byte
	err := q.QueryRow(ctx, `SELECT state FROM ussd_drafts WHERE phone = $1 AND expires_at > $2`, phone, now).Scan(&state)
	return db.Found(state, err, "find draft")
}

func putDraft(ctx context.Context, tx *db.Tx, phone string, expires int64, state []byte) error {
	err := tx.Send(ctx,
		`INSERT INTO ussd_drafts(phone, expires_at, state) VALUES ($1, $2, $3)
		 ON CONFLICT (phone) DO UPDATE SET expires_at = excluded.expires_at, state = excluded.state`, phone, expires, state)
	return db.Wrap("keep draft", err)
}

func removeDraft(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ussd_drafts WHERE phone = $1`, phone)
	return n, db.Wrap("remove draft", err)
}

func removeCalls(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ussd_calls WHERE phone = $1`, phone)
	return n, db.Wrap("remove ends of sessions", err)
}

func expireDrafts(ctx context.Context, q db.Querier, now int64, limit int) (int64, error) {
	n, err := q.Exec(ctx,
		`DELETE FROM ussd_drafts WHERE phone IN (SELECT phone FROM ussd_drafts WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`, now, limit)
	return n, db.Wrap("expire drafts", err)
}

// putCall keeps what a gateway says about a session that is over. The newest
// word counts.
func putCall(ctx context.Context, tx *db.Tx, e *wire.Event, now time.Time) error {
	err := tx.Send(ctx,
		`INSERT INTO ussd_calls(session_id, phone, gateway, status, cost, network, error, duration_ms, hops, at)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		 ON CONFLICT (session_id, phone, gateway) DO UPDATE SET status = excluded.status, cost = excluded.cost, network = excluded.network,
		 error = excluded.error, duration_ms = excluded.duration_ms, hops = excluded.hops, at = excluded.at`,
		e.SessionID, e.Phone, e.Gateway, e.Status, e.Cost, e.Network, e.Error, e.Duration.Milliseconds(), e.Hops, now.UnixMilli())
	return db.Wrap("keep end of session", err)
}

func callsOf(ctx context.Context, q db.Querier, id string, limit int) ([]Ended, error) {
	rows, err := q.Query(ctx,
		`SELECT phone, gateway, status, cost, network, error, duration_ms, hops, at FROM ussd_calls WHERE session_id = $1 ORDER BY phone, gateway LIMIT $2`, id, limit)
	return db.Collect(rows, err, "list ends of a session", func(e *Ended, row db.Row) error {
		var at int64
		err := row.Scan(&e.Phone, &e.Gateway, &e.Status, &e.Cost, &e.Network, &e.Error, &e.DurationMS, &e.Hops, &at)
		e.At = time.UnixMilli(at).UTC()
		return err
	})
}

func expireCalls(ctx context.Context, q db.Querier, before int64, limit int) (int64, error) {
	n, err := q.Exec(ctx,
		`DELETE FROM ussd_calls WHERE (session_id, phone, gateway) IN
		 (SELECT session_id, phone, gateway FROM ussd_calls WHERE at <= $1 ORDER BY at LIMIT $2)`, before, limit)
	return n, db.Wrap("expire ends of sessions", err)
}
