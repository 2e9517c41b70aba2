package auth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	sessionColumns = `s.hash, s.id, s.ws, s.key_id, k.name, k.principal, s.created_at, s.seen_at, s.addr, s.agent`
	sessionsSQL    = `SELECT ` + sessionColumns + ` FROM console_sessions s JOIN api_keys k ON k.id = s.key_id AND k.workspace = s.ws`
)

func insertSession(ctx context.Context, tx *db.Tx, v *Session) error {
	_, err := tx.Exec(ctx,
		`INSERT INTO console_sessions(hash, id, ws, key_id, created_at, seen_at, addr, agent) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		v.hash[:], v.ID, v.workspace, v.Key, v.CreatedAt.UnixMilli(), v.SeenAt.UnixMilli(), v.Address, v.Agent)
	return db.Wrap("insert session", err)
}

// sessionOf finds a session by the digest of its text, nil when there is none.
func sessionOf(ctx context.Context, q db.Querier, hash Digest) (*Session, error) {
	return oneSession(q.QueryRow(ctx, sessionsSQL+` WHERE s.hash = $1`, hash[:]))
}

// findSession finds a session of a workspace, nil when there is none.
func findSession(ctx context.Context, q db.Querier, workspace, id string) (*Session, error) {
	return oneSession(q.QueryRow(ctx, sessionsSQL+` WHERE s.ws = $1 AND s.id = $2`, workspace, id))
}

func oneSession(row db.Row) (*Session, error) {
	var v Session
	err := scanSession(&v, row)
	return db.Found(&v, err, "find session")
}

const (
	listSessionsSQL = sessionsSQL + ` WHERE s.ws = $1 AND s.id > $2 ORDER BY s.id LIMIT $3`
	listOwnSQL      = sessionsSQL + ` WHERE s.ws = $1 AND s.id > $2 AND s.key_id = $4 ORDER BY s.id LIMIT $3`
	endSessionsSQL  = `DELETE FROM console_sessions WHERE ws = $1 AND key_id = $2`
	endCodesSQL     = `DELETE FROM console_codes WHERE ws = $1 AND key_id = $2`
)

// sessionQuery asks for sessions of a workspace behind an id: those of one key,
// unless it is "".
type sessionQuery struct {
	workspace, key, after string
	limit                 int
}

func listSessions(ctx context.Context, q db.Querier, of sessionQuery) ([]Session, error) {
	if of.key != "" {
		rows, err := q.Query(ctx, listOwnSQL, of.workspace, of.after, of.limit, of.key)
		return db.Collect(rows, err, "list sessions of key", scanSession)
	}
	rows, err := q.Query(ctx, listSessionsSQL, of.workspace, of.after, of.limit)
	return db.Collect(rows, err, "list sessions", scanSession)
}

func scanSession(to *Session, row db.Row) error {
	var hash []byte
	var created, seen int64
	if err := row.Scan(&hash, &to.ID, &to.workspace, &to.Key, &to.Name, &to.Principal, &created, &seen, &to.Address, &to.Agent); err != nil {
		return err
	}
	copy(to.hash[:], hash)
	to.CreatedAt, to.SeenAt = time.UnixMilli(created).UTC(), time.UnixMilli(seen).UTC()
	return nil
}

// touchSession notes that a session was used, never an earlier time than stored.
func touchSession(ctx context.Context, tx *db.Tx, hash Digest, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE console_sessions SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`, hash[:], at.UnixMilli())
	return db.Wrap("note use of session", err)
}

func removeSession(ctx context.Context, tx *db.Tx, hash Digest) error {
	_, err := tx.Exec(ctx, `DELETE FROM console_sessions WHERE hash = $1`, hash[:])
	return db.Wrap("end session", err)
}

// maxSessions is how many sessions a key has at once: the oldest go.
const maxSessions = 20

// endOldest ends the oldest sessions of a key beyond the limit.
func endOldest(ctx context.Context, tx *db.Tx, workspace, key string) error {
	_, err := tx.Exec(ctx, `DELETE FROM console_sessions WHERE ws = $1 AND key_id = $2 AND id <=
		(SELECT id FROM console_sessions WHERE ws = $1 AND key_id = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)`, workspace, key, maxSessions)
	return db.Wrap("end old sessions of key", err)
}

// endSessions ends the sessions of a key, and what would open more.
func endSessions(ctx context.Context, tx *db.Tx, workspace, key string) error {
	_, err := tx.Exec(ctx, endSessionsSQL, workspace, key)
	if err == nil {
		_, err = tx.Exec(ctx, endCodesSQL, workspace, key)
	}
	return db.Wrap("end sessions of key", err)
}

// expireSessions removes sessions last used before a moment, codes that are over
// and invitations that were over long ago.
func expireSessions(ctx context.Context, q db.Querier, before, now time.Time, limit int) (int, error) {
	n, err := q.Exec(ctx, `DELETE FROM console_sessions WHERE hash IN (SELECT hash FROM console_sessions WHERE seen_at < $1 LIMIT $2)`,
		before.UnixMilli(), limit)
	if err != nil {
		return 0, fmt.Errorf("expire sessions: %w", err)
	}
	m, err := q.Exec(ctx, `DELETE FROM console_codes WHERE hash IN (SELECT hash FROM console_codes WHERE ends_at < $1 LIMIT $2)`,
		now.UnixMilli(), limit)
	if err != nil {
		return 0, fmt.Errorf("expire codes of sessions: %w", err)
	}
	k, err := q.Exec(ctx, expireInvitesSQL, now.Add(-inviteKept).UnixMilli(), limit)
	return int(n + m + k), db.Wrap("expire invitations", err)
}

// inviteKept is how long an invitation stays on the list after its end.
const inviteKept = 30 * 24 * time.Hour

// sessionCode opens a session on a key once.
type sessionCode struct {
	hash           Digest
	workspace, key string
	ends           time.Time
}

func insertCode(ctx context.Context, tx *db.Tx, c sessionCode) error {
	_, err := tx.Exec(ctx, `INSERT INTO console_codes(hash, ws, key_id, ends_at) VALUES ($1, $2, $3, $4)`,
		c.hash[:], c.workspace, c.key, c.ends.UnixMilli())
	return db.Wrap("insert code of session", err)
}

// takeCode removes a code and returns what it opens; key is "" when there is
// none or it has expired.
func takeCode(ctx context.Context, tx *db.Tx, hash Digest, now time.Time) (workspace, key string, err error) {
	var ends int64
	err = tx.QueryRow(ctx, `DELETE FROM console_codes WHERE hash = $1 RETURNING ws, key_id, ends_at`, hash[:]).Scan(&workspace, &key, &ends)
	if errors.Is(err, sql.ErrNoRows) || err == nil && now.UnixMilli() >= ends {
		return "", "", nil
	} else if err != nil {
		return "", "", fmt.Errorf("take code of session: %w", err)
	}
	return workspace, key, nil
}

// findLasting finds the newest key of a workspace for which Key.lasting holds, ""
// when there is none.
func findLasting(ctx context.Context, q db.Querier, workspace string) (string, error) {
	var id string
	err := q.QueryRow(ctx, `SELECT id FROM api_keys WHERE `+lastingSQL+` ORDER BY id DESC LIMIT 1`, workspace).Scan(&id)
	return db.Found(id, err, "find owner key")
}
