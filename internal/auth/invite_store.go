package auth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const inviteColumns = `id, ws, hash, draft, key_id, created_by, created_at, ends_at, used_at, revoked_at, principal, made`

const (
	insertInviteSQL    = `INSERT INTO invites(` + inviteColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, NULL, $9, '')`
	findInviteSQL      = `SELECT ` + inviteColumns + ` FROM invites WHERE ws = $1 AND id = $2`
	inviteOfSQL        = `SELECT ` + inviteColumns + ` FROM invites WHERE hash = $1`
	lockInviteSQL      = `UPDATE invites SET ws = ws WHERE id = $1 RETURNING ` + inviteColumns
	listInvitesSQL     = `SELECT ` + inviteColumns + ` FROM invites WHERE ws = $1 AND id > $2 ORDER BY id LIMIT $3`
	listOwnInvitesSQL  = `SELECT ` + inviteColumns + ` FROM invites WHERE ws = $1 AND id > $2 AND key_id = $4 ORDER BY id LIMIT $3`
	countInvitesSQL    = `SELECT count(*) FROM (SELECT 1 FROM invites WHERE ws = $1 AND ends_at > $2 AND used_at IS NULL AND revoked_at IS NULL LIMIT $3) AS n`
	countOwnInvitesSQL = `SELECT count(*) FROM (SELECT 1 FROM invites WHERE ws = $1 AND created_by = $2 AND ends_at > $3 AND used_at IS NULL AND revoked_at IS NULL LIMIT $4) AS n`
	endInviteSQL       = `UPDATE invites SET used_at = $2, revoked_at = $3, principal = $4, made = $5 WHERE id = $1`
	// Unused, unrevoked invitations of a key that ends.
	openOfKey         = `ws = $1 AND key_id = $2 AND used_at IS NULL AND revoked_at IS NULL`
	revokeInvitesSQL  = `UPDATE invites SET revoked_at = $3 WHERE ` + openOfKey + ` AND ends_at > $3 RETURNING id`
	shortenInvitesSQL = `UPDATE invites SET ends_at = $3 WHERE ` + openOfKey + ` AND ends_at > $3`
	removeInvitesSQL  = `DELETE FROM invites WHERE ` + openOfKey
	// A person who is erased is named in what she was invited with.
	forgetInvitesSQL = `DELETE FROM invites WHERE ws = $1 AND principal = $2`
	expireInvitesSQL = `DELETE FROM invites WHERE id IN (SELECT id FROM invites WHERE ends_at < $1 LIMIT $2)`
)

func insertInvite(ctx context.Context, tx *db.Tx, v *Invite) error {
	draft, err := json.Marshal(v.draft)
	if err == nil {
		_, err = tx.Exec(ctx, insertInviteSQL, v.ID, v.workspace, v.hash[:], string(draft), v.maker, v.CreatedBy, v.CreatedAt.UnixMilli(), v.EndsAt.UnixMilli(), v.Principal)
	}
	return db.Wrap("insert invitation", err)
}

// findInvite finds an invitation of a workspace. One of another workspace is as
// missing as one that never was.
func findInvite(ctx context.Context, q db.Querier, workspace, id string) (*Invite, error) {
	var v Invite
	err := scanInvite(&v, q.QueryRow(ctx, findInviteSQL, workspace, id))
	return db.Need(&v, err, "find invitation", fault.New(fault.NotFound, "INVITE_NOT_FOUND", "There is no such invitation."))
}

// inviteOf finds an invitation by the digest of its code, nil when there is none.
func inviteOf(ctx context.Context, q db.Querier, hash Digest) (*Invite, error) {
	var v Invite
	err := scanInvite(&v, q.QueryRow(ctx, inviteOfSQL, hash[:]))
	return db.Found(&v, err, "find invitation")
}

// lockInvite keeps others from using an invitation until the transaction ends.
func lockInvite(ctx context.Context, tx *db.Tx, id string) (*Invite, error) {
	var v Invite
	if err := scanInvite(&v, tx.QueryRow(ctx, lockInviteSQL, id)); errors.Is(err, sql.ErrNoRows) {
		return nil, inviteInvalid()
	} else if err != nil {
		return nil, fmt.Errorf("lock invitation: %w", err)
	}
	return &v, nil
}

// inviteQuery asks for invitations of a workspace behind an id: those that one key
// has made, unless it is "".
type inviteQuery struct {
	workspace, key, after string
	limit                 int
}

func listInvites(ctx context.Context, q db.Querier, of inviteQuery) ([]Invite, error) {
	if of.key != "" {
		rows, err := q.Query(ctx, listOwnInvitesSQL, of.workspace, of.after, of.limit, of.key)
		return db.Collect(rows, err, "list invitations of key", scanInvite)
	}
	rows, err := q.Query(ctx, listInvitesSQL, of.workspace, of.after, of.limit)
	return db.Collect(rows, err, "list invitations", scanInvite)
}

// countInvites counts the invitations of a workspace that can be used, as far as
// the limit.
func countInvites(ctx context.Context, q db.Querier, workspace string, now time.Time) (int, error) {
	var n int
	if err := q.QueryRow(ctx, countInvitesSQL, workspace, now.UnixMilli(), maxInvites).Scan(&n); err != nil {
		return 0, fmt.Errorf("count invitations: %w", err)
	}
	return n, nil
}

// countOwnInvites is countInvites of those that the caller has made, with whichever
// key, as far as the limit of those.
func countOwnInvites(ctx context.Context, q db.Querier, c web.Caller, now time.Time) (int, error) {
	var n int
	if err := q.QueryRow(ctx, countOwnInvitesSQL, c.Workspace, c.DID, now.UnixMilli(), maxOwnInvites).Scan(&n); err != nil {
		return 0, fmt.Errorf("count invitations of maker: %w", err)
	}
	return n, nil
}

// revokeInvites ends the open invitations of a key that was revoked, and returns
// which ones.
func revokeInvites(ctx context.Context, tx *db.Tx, k *Key) ([]string, error) {
	rows, err := tx.Query(ctx, revokeInvitesSQL, k.Workspace, k.ID, k.RevokedAt.UnixMilli())
	ids, err := db.Collect(rows, err, "revoke invitations of key", db.Column[string])
	slices.Sort(ids)
	return ids, err
}

// shortenInvites has the open invitations of a key end no later than it does.
func shortenInvites(ctx context.Context, tx *db.Tx, k *Key) error {
	until := k.until()
	if until.IsZero() {
		return nil
	}
	_, err := tx.Exec(ctx, shortenInvitesSQL, k.Workspace, k.ID, until.UnixMilli())
	return db.Wrap("shorten invitations of key", err)
}

// endInvite stores that an invitation was used or revoked.
func endInvite(ctx context.Context, tx *db.Tx, v *Invite) error {
	_, err := tx.Exec(ctx, endInviteSQL, v.ID, millis(v.UsedAt), millis(v.RevokedAt), v.Principal, v.Key)
	return db.Wrap("end invitation", err)
}

func scanInvite(to *Invite, row db.Row) error {
	var hash []byte
	var draft string
	var created, ends int64
	var used, revoked *int64
	err := row.Scan(&to.ID, &to.workspace, &hash, &draft, &to.maker, &to.CreatedBy, &created, &ends, &used, &revoked, &to.Principal, &to.Key)
	if err != nil {
		return err
	}
	copy(to.hash[:], hash)
	to.CreatedAt, to.EndsAt = time.UnixMilli(created).UTC(), time.UnixMilli(ends).UTC()
	to.UsedAt, to.RevokedAt = moment(used), moment(revoked)
	if err := json.Unmarshal([]byte(draft), &to.draft); err != nil {
		return fmt.Errorf("decode invitation %s: %w", to.ID, err)
	}
	return nil
}
