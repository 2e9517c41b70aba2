package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// sessionRow is a session as stored.
type sessionRow struct {
	nid              int64
	user, id, title  string
	turns            int64
	run              string
	created, updated int64
}

// messageRow is a message as stored.
type messageRow struct {
	turn   int64
	body   string
	hidden *string
}

// size is how many bytes a message takes, with what clients do not see.
func (r *messageRow) size() int {
	if r.hidden == nil {
		return len(r.body)
	}
	return len(r.body) + len(*r.hidden)
}

const (
	countSessionText = `INSERT INTO chat_users(user_did, sessions, workspace, did) VALUES ($1, 1, $2, $3)
		ON CONFLICT (user_did) DO UPDATE SET sessions = chat_users.sessions + 1`
	meetText           = `INSERT INTO chat_users(user_did, sessions, workspace, did) VALUES ($1, 0, $2, $3) ON CONFLICT (user_did) DO NOTHING`
	uncountSessionText = `UPDATE chat_users SET sessions = sessions - 1 WHERE user_did = $1`
	countOfText        = `SELECT sessions FROM chat_users WHERE user_did = $1`
	insertSessionText  = `INSERT INTO chat_sessions(nid, user_did, id, title, turns, run, before, created_at, updated_at, noted)
		VALUES ($1, $2, $3, $4, 0, '', '', $5, $5, 1) ON CONFLICT (user_did, id) DO NOTHING`
	sessionColumns   = `nid, user_did, id, title, turns, run, created_at, updated_at`
	findSessionText  = `SELECT ` + sessionColumns + ` FROM chat_sessions WHERE user_did = $1 AND id = $2`
	listSessionsText = `SELECT ` + sessionColumns + ` FROM chat_sessions WHERE user_did = $1
		ORDER BY updated_at DESC, nid DESC LIMIT $2 OFFSET $3`
	updateTitleText   = `UPDATE chat_sessions SET title = $3 WHERE user_did = $1 AND id = $2 AND title = 'Untitled'`
	holdSessionText   = `UPDATE chat_sessions SET turns = turns WHERE user_did = $1 AND id = $2 RETURNING nid`
	removeEmptyText   = `DELETE FROM chat_sessions WHERE user_did = $1 AND id = $2 AND turns = 0 RETURNING nid`
	removeSessionText = `DELETE FROM chat_sessions WHERE user_did = $1 AND id = $2 RETURNING nid`

	insertTrashText    = `INSERT INTO chat_trash(session, at) VALUES ($1, $2)`
	oldestTrashText    = `SELECT session FROM chat_trash ORDER BY session LIMIT 1`
	removeTrashText    = `DELETE FROM chat_trash WHERE session = $1`
	shrinkMessagesText = `DELETE FROM chat_messages WHERE session = $1 AND (turn, n) IN
		(SELECT turn, n FROM chat_messages WHERE session = $1 ORDER BY turn, n LIMIT $2)`
	removeDeclaredText = `DELETE FROM chat_declared WHERE session = $1`

	newestMessagesText = `SELECT turn, body, hidden FROM chat_messages WHERE session = $1 AND turn >= $2 AND turn <= $3
		ORDER BY turn DESC, n DESC LIMIT $4`
	oldestMessagesText = `SELECT turn, body, hidden FROM chat_messages WHERE session = $1 AND turn >= $2 AND turn <= $3
		ORDER BY turn, n LIMIT $4`
	findAnswerText = `SELECT m.body FROM chat_sessions s JOIN chat_messages m ON m.session = s.nid
		WHERE s.user_did = $1 AND s.id = $2 AND m.turn = $3 AND m.n > 0 ORDER BY m.n DESC LIMIT 1`
	insertMessageText = `INSERT INTO chat_messages(session, turn, n, body, hidden) VALUES ($1, $2, $3, $4, $5)`
	keepFilesText     = `UPDATE chat_messages SET hidden = $4 WHERE turn = $3 AND n = 0 AND session =
		(SELECT nid FROM chat_sessions WHERE user_did = $1 AND id = $2)
		AND NOT EXISTS (SELECT 1 FROM oracle_runs r WHERE r.session = chat_messages.session AND r.turn = $3 AND r.erased = 1) RETURNING session`
	beginTurnText = `UPDATE chat_sessions SET turns = turns + 1, before = run, run = $3, updated_at = $4
		WHERE user_did = $1 AND id = $2 RETURNING nid, turns, before`
	touchText = `UPDATE chat_sessions SET updated_at = $2 WHERE nid = $1`

	putDeclaredText = `INSERT INTO chat_declared(session, body) VALUES ($1, $2)
		ON CONFLICT (session) DO UPDATE SET body = excluded.body WHERE chat_declared.body <> excluded.body`
	findDeclaredText = `SELECT d.body FROM chat_sessions s JOIN chat_declared d ON d.session = s.nid WHERE s.user_did = $1 AND s.id = $2`

	putDelegationText = `INSERT INTO chat_delegations(user_did, sealed, expires_at, updated_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_did) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at, updated_at = excluded.updated_at`
	findDelegationText    = `SELECT sealed, expires_at FROM chat_delegations WHERE user_did = $1`
	removeDelegationText  = `DELETE FROM chat_delegations WHERE user_did = $1`
	expireDelegationsText = `DELETE FROM chat_delegations WHERE user_did IN
		(SELECT user_did FROM chat_delegations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`
)

// countSession notes that a user has one session more, or one less.
func countSession(ctx context.Context, tx *db.Tx, user string, by int) (err error) {
	if by > 0 {
		t := TalkerOf(user)
		_, err = tx.Exec(ctx, countSessionText, user, t.In(), t.DID)
	} else {
		_, err = tx.Exec(ctx, uncountSessionText, user)
	}
	return db.Wrap("count sessions", err)
}

// Meet records a user without a session, so that an erasure finds what other
// packages keep about them.
func Meet(ctx context.Context, tx *db.Tx, user string) error {
	t := TalkerOf(user)
	_, err := tx.Exec(ctx, meetText, user, t.In(), t.DID)
	return db.Wrap("note user", err)
}

func countOf(ctx context.Context, q db.Querier, user string) (int64, error) {
	var n int64
	err := q.QueryRow(ctx, countOfText, user).Scan(&n)
	return db.Found(n, err, "count sessions")
}

// Voice reports whether a DID has conversations. A key that speaks for the DID
// can read them, and no scope gives that right, so deciding about it takes an
// owner; a caller who signs for the DID can read them anyway.
func Voice(ctx context.Context, q db.Querier, ws, id string) (scopes []string, talks bool, err error) {
	if ws != auth.OperatorWorkspace || web.CallerFrom(ctx).SignsFor(id) {
		return nil, false, nil
	}
	n, err := countOf(ctx, q, id)
	return []string{"*"}, n > 0, err
}

// insertSession reports false when the user has a session of that id.
func insertSession(ctx context.Context, tx *db.Tx, r *sessionRow) (bool, error) {
	n, err := tx.Exec(ctx, insertSessionText, r.nid, r.user, r.id, r.title, r.created)
	return n > 0, db.Wrap("insert session", err)
}

func (r *sessionRow) fields() []any {
	return []any{&r.nid, &r.user, &r.id, &r.title, &r.turns, &r.run, &r.created, &r.updated}
}

func findSession(ctx context.Context, q db.Querier, user, id string) (*sessionRow, error) {
	r := &sessionRow{}
	err := q.QueryRow(ctx, findSessionText, user, id).Scan(r.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NotFound()
	}
	return r, db.Wrap("find session", err)
}

func isMissing(err error) bool { return fault.KindOf(err) == fault.NotFound }

func listSessions(ctx context.Context, q db.Querier, user string, limit, offset int) ([]*sessionRow, error) {
	rows, err := q.Query(ctx, listSessionsText, user, limit, offset)
	return db.Collect(rows, err, "list sessions", func(r **sessionRow, row db.Row) error {
		*r = &sessionRow{}
		return row.Scan((*r).fields()...)
	})
}

func updateTitle(ctx context.Context, tx *db.Tx, user, id, title string) (bool, error) {
	n, err := tx.Exec(ctx, updateTitleText, user, id, title)
	return n > 0, db.Wrap("set title", err)
}

// holdSession locks the row of a session.
func holdSession(ctx context.Context, tx *db.Tx, user, id string) (int64, error) {
	var nid int64
	err := tx.QueryRow(ctx, holdSessionText, user, id).Scan(&nid)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, NotFound()
	}
	return nid, db.Wrap("hold session", err)
}

func removeSession(ctx context.Context, tx *db.Tx, user, id string) (int64, error) {
	var nid int64
	err := tx.QueryRow(ctx, removeSessionText, user, id).Scan(&nid)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, NotFound()
	}
	return nid, db.Wrap("remove session", err)
}

func insertTrash(ctx context.Context, tx *db.Tx, nid, at int64) error {
	_, err := tx.Exec(ctx, insertTrashText, nid, at)
	return db.Wrap("note removed session", err)
}

// oldestTrash is a deleted session of which rows are left, 0 without one.
func oldestTrash(ctx context.Context, q db.Querier) (int64, error) {
	var nid int64
	err := q.QueryRow(ctx, oldestTrashText).Scan(&nid)
	return db.Found(nid, err, "find removed session")
}

func shrinkMessages(ctx context.Context, tx *db.Tx, nid, limit int64) (int64, error) {
	n, err := tx.Exec(ctx, shrinkMessagesText, nid, limit)
	return n, db.Wrap("remove messages", err)
}

// removeTraces removes the rest of a session without messages.
func removeTraces(ctx context.Context, tx *db.Tx, nid int64) (int64, error) {
	if _, err := tx.Exec(ctx, removeDeclaredText, nid); err != nil {
		return 0, fmt.Errorf("remove declared tools: %w", err)
	}
	if _, err := tx.Exec(ctx, forgetAboutText, nid); err != nil {
		return 0, fmt.Errorf("forget DIDs: %w", err)
	}
	n, err := tx.Exec(ctx, removeTrashText, nid)
	return n, db.Wrap("forget removed session", err)
}

func eachMessage(ctx context.Context, q db.Querier, w window, each func(messageRow) bool) error {
	var rows db.Rows
	var err error
	if w.forward {
		rows, err = q.Query(ctx, oldestMessagesText, w.session, w.from, w.to, maxRows)
	} else {
		rows, err = q.Query(ctx, newestMessagesText, w.session, w.from, w.to, maxRows)
	}
	return db.Each(rows, err, "read messages", func(row db.Row) error {
		var r messageRow
		err := row.Scan(&r.turn, &r.body, &r.hidden)
		if err == nil && !each(r) {
			return db.ErrStop
		}
		return err
	})
}

func findAnswer(ctx context.Context, q db.Querier, user, session string, turn int64) (jsontext.Value, error) {
	var body string
	err := q.QueryRow(ctx, findAnswerText, user, session, turn).Scan(&body)
	return db.Found(jsontext.Value(body), err, "find answer")
}

// Begun is a turn that has begun.
type Begun struct {
	Session int64  // number of the session
	Turn    int64  // of the session, from 1
	Before  string // the run that was the newest of the session until now
}

// Opening says for whom a turn begins.
type Opening struct {
	User, Session string
	Run           string // that will answer
	At            int64  // ms
}

// BeginTurn begins a turn of a session. The fault for one that does not exist
// or belongs to somebody else is SESSION_NOT_FOUND.
func BeginTurn(ctx context.Context, tx *db.Tx, o Opening) (Begun, error) {
	var b Begun
	err := tx.QueryRow(ctx, beginTurnText, o.User, o.Session, o.Run, o.At).Scan(&b.Session, &b.Turn, &b.Before)
	if errors.Is(err, sql.ErrNoRows) {
		return b, NotFound()
	}
	return b, db.Wrap("begin turn", err)
}

// Say stores what the user said in a turn, and the tools it declared if any.
func Say(ctx context.Context, tx *db.Tx, b Begun, e Entry, declared []byte) error {
	if err := insertEntry(ctx, tx, b, 0, e); err != nil || declared == nil {
		return err
	}
	_, err := tx.Exec(ctx, putDeclaredText, b.Session, string(declared))
	return db.Wrap("keep declared tools", err)
}

// Answer stores the messages of a turn. It returns false, and stores nothing,
// when the session was deleted meanwhile.
func Answer(ctx context.Context, tx *db.Tx, b Begun, said []Entry, at int64) (bool, error) {
	n, err := tx.Exec(ctx, touchText, b.Session, at)
	if err != nil || n == 0 {
		return false, db.Wrap("touch session", err)
	}
	for i, e := range said {
		if err := insertEntry(ctx, tx, b, i+1, e); err != nil {
			return false, err
		}
	}
	return true, nil
}

func insertEntry(ctx context.Context, tx *db.Tx, b Begun, n int, e Entry) error {
	_, err := tx.Exec(ctx, insertMessageText, b.Session, b.Turn, n, e.body, e.hidden)
	return db.Wrap("insert message", err)
}

// fileRow is the texts of the files of a turn.
type fileRow struct {
	user, session string
	turn          int64
	text          string
}

// keepFiles returns the number of the session, 0 when it is gone.
func keepFiles(ctx context.Context, tx *db.Tx, r fileRow) (int64, error) {
	var nid int64
	err := tx.QueryRow(ctx, keepFilesText, r.user, r.session, r.turn, r.text).Scan(&nid)
	return db.Found(nid, err, "keep files")
}

func findDeclared(ctx context.Context, q db.Querier, user, id string) ([]byte, error) {
	var body string
	err := q.QueryRow(ctx, findDeclaredText, user, id).Scan(&body)
	return db.Found([]byte(body), err, "find declared tools")
}

// delegationRow is a delegation as stored.
type delegationRow struct {
	user             string
	sealed           []byte
	expires, updated int64 // seconds; ms
}

func putDelegation(ctx context.Context, q db.Querier, r delegationRow) error {
	_, err := q.Exec(ctx, putDelegationText, r.user, r.sealed, r.expires, r.updated)
	return db.Wrap("keep delegation", err)
}

func findDelegation(ctx context.Context, q db.Querier, user string) (*delegationRow, error) {
	r := &delegationRow{user: user}
	err := q.QueryRow(ctx, findDelegationText, user).Scan(&r.sealed, &r.expires)
	return db.Found(r, err, "find delegation")
}

func removeDelegation(ctx context.Context, q db.Querier, user string) error {
	_, err := q.Exec(ctx, removeDelegationText, user)
	return db.Wrap("remove delegation", err)
}

func expireDelegations(ctx context.Context, q db.Querier, now int64, limit int) (int, error) {
	n, err := q.Exec(ctx, expireDelegationsText, now, limit)
	return int(n), db.Wrap("expire delegations", err)
}
