package group

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// speaker is a key that speaks for a DID in a workspace.
type speaker struct{ ws, did, key string }

// voucher is what is known about a key of a DID: who put it there or confirmed
// it, when, and what they could do in the whole workspace.
type voucher struct {
	by      string // "" when nobody knows
	at      int64
	scopes  []string
	refused bool // somebody has said that it is not the member's, or it was removed
	proven  bool // they have the scope *, and know that it is the member's; not read back
}

// counts reports whether the key speaks for its DID at all.
func (v voucher) counts() bool { return v.by != "" && !v.refused }

// speaks reports whether the key can talk to the oracle. A key of unknown
// origin can, because it was there before origins were kept; one whose voucher
// was forgotten cannot.
func (v voucher) speaks() bool { return !v.refused && (v.by != "" || v.at == 0) }

// covers reports whether the voucher of the key had all of these scopes.
func (v voucher) covers(ws string, scopes []string) bool {
	return !v.refused && covers(ws, v.scopes, scopes)
}

func covers(ws string, has, scopes []string) bool {
	return auth.CheckGrant(web.Caller{Workspace: ws, Scopes: auth.Effective(ws, has)}, "", auth.Effective(ws, scopes)) == nil
}

// about is the message about a key that needs a second look.
func (v voucher) about(key string) string {
	if v.by == "" {
		return key + ": it is not known who added it."
	}
	return key + ": put there or confirmed by " + v.by + " on " + time.UnixMilli(v.at).UTC().Format(time.RFC3339) + "."
}

// vouch records what is known about a key of a DID from now on.
func vouch(ctx context.Context, tx *db.Tx, who speaker, v voucher) error {
	scopes, err := json.Marshal(v.scopes)
	if err != nil {
		return fmt.Errorf("encode scopes of key: %w", err)
	}
	refused, proven := 0, 0
	if v.refused {
		refused = 1
	} else if v.proven {
		proven = 1
	}
	_, err = tx.Exec(ctx, `INSERT INTO entity_keys(ws, did, key, scopes, added_by, added_at, refused, proven) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (ws, did, key) DO UPDATE SET scopes = excluded.scopes, added_by = excluded.added_by, added_at = excluded.added_at, refused = excluded.refused,
			proven = CASE entity_keys.proven WHEN 1 THEN 1 ELSE excluded.proven END`,
		who.ws, who.did, who.key, string(scopes), v.by, v.at, refused, proven)
	return db.Wrap("vouch for key", err)
}

// findVoucher returns what is known about a key of a DID; the zero voucher for
// nothing.
func findVoucher(ctx context.Context, q db.Querier, who speaker) (voucher, error) {
	v, err := scanVoucher(q.QueryRow(ctx, `SELECT scopes, added_by, added_at, refused FROM entity_keys WHERE ws = $1 AND did = $2 AND key = $3`,
		who.ws, who.did, who.key).Scan)
	return db.Found(v, err, "find key of twin")
}

// scanVoucher reads scopes, added_by, added_at and refused after other columns.
func scanVoucher(scan func(...any) error, before ...any) (v voucher, err error) {
	var scopes string
	var refused int64
	if err := scan(append(before, &scopes, &v.by, &v.at, &refused)...); err != nil {
		return v, err
	}
	v.refused = refused != 0
	if err := json.Unmarshal([]byte(scopes), &v.scopes); err != nil {
		return v, fmt.Errorf("read scopes of key: %w", err)
	}
	return v, nil
}

// dropKeys forgets the keys of a DID.
func dropKeys(ctx context.Context, tx *db.Tx, ws, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM entity_keys WHERE ws = $1 AND did = $2`, ws, id)
	return db.Wrap("drop keys of twin", err)
}

// endKey records that a key was taken from a DID. Its earlier signatures remain
// attributed to it.
func endKey(ctx context.Context, tx *db.Tx, who speaker) error {
	_, err := tx.Exec(ctx, `UPDATE entity_keys SET refused = 2, scopes = '[]' WHERE ws = $1 AND did = $2 AND key = $3`, who.ws, who.did, who.key)
	return db.Wrap("end key of twin", err)
}

// listSpeakers lists the keys of a DID, including those that no longer speak
// for it.
func listSpeakers(ctx context.Context, q db.Querier, ws, id string) (keys []string, vouchers []voucher, err error) {
	rows, err := q.Query(ctx, `SELECT key, scopes, added_by, added_at, refused FROM entity_keys WHERE ws = $1 AND did = $2 ORDER BY key`, ws, id)
	err = db.Each(rows, err, "list keys of twin", func(row db.Row) error {
		var key string
		v, err := scanVoucher(row.Scan, &key)
		keys, vouchers = append(keys, key), append(vouchers, v)
		return err
	})
	return keys, vouchers, err
}

const listVouchersSQL = `SELECT m.member, k.key, k.scopes, k.added_by, k.added_at, k.refused
	FROM group_members m JOIN entity_keys k ON k.ws = m.ws AND k.did = m.member
	WHERE m.grp = $1 AND m.member >= $2 AND m.member <= $3 ORDER BY m.member, k.key`

// addKeys fills in which keys speak for the members of a group, who are sorted,
// with all that it gives or with a part.
func addKeys(ctx context.Context, q db.Querier, r *entity.Row, scopes []string, members []Member) error {
	if len(members) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, listVouchersSQL, r.NID, members[0].Member, members[len(members)-1].Member)
	i := 0
	return db.Each(rows, err, "list keys of members", func(row db.Row) error {
		var member, key string
		v, err := scanVoucher(row.Scan, &member, &key)
		if err != nil {
			return err
		}
		for i < len(members) && members[i].Member < member {
			i++
		}
		if i < len(members) && members[i].Member == member { // else it has only just come
			members[i].show(r.Workspace, scopes, key, v)
		}
		return nil
	})
}

// show adds a key to a member.
func (m *Member) show(ws string, scopes []string, key string, v voucher) {
	switch {
	case !v.counts():
	case v.covers(ws, scopes):
		m.Keys = append(m.Keys, key)
	default:
		m.Limited = append(m.Limited, key)
	}
}

// Signed records that the did:key of a caller has signed for its DID, if it has
// not before: the holder of the key is known by that name, too.
func Signed(ctx context.Context, d *db.DB, c web.Caller) error {
	first, err := db.Exists(d.QueryRow(ctx, `SELECT 1 FROM entity_keys WHERE ws = $1 AND did = $2 AND key = $3 AND proven = 0`, c.Workspace, c.DID, c.Signer), "find key of twin")
	if err != nil || !first {
		return err
	}
	_, err = d.Exec(ctx, `UPDATE entity_keys SET proven = 1 WHERE ws = $1 AND did = $2 AND key = $3`, c.Workspace, c.DID, c.Signer)
	return db.Wrap("note that a key has signed", err)
}

// listNames lists the did:keys that are known to speak for a DID, or once did, and
// the twins that it speaks for if it is one; limit at most.
func listNames(ctx context.Context, q db.Querier, ws, id string, limit int) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT key AS name FROM entity_keys WHERE ws = $1 AND did = $2 AND proven = 1
		UNION ALL SELECT did FROM entity_keys WHERE ws = $1 AND key = $2 AND proven = 1 ORDER BY name LIMIT $3`, ws, id, limit)
	return db.Collect(rows, err, "list names", db.Column[string])
}
