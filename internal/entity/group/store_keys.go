package group

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// insertSpeaker notes where a key of a twin came from.
func insertSpeaker(ctx context.Context, tx *db.Tx, who speaker, o origin) error {
	scopes, err := json.Marshal(o.scopes)
	if err != nil {
		return fmt.Errorf("encode scopes of key: %w", err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO entity_keys(ws, did, key, scopes, added_by, added_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (ws, did, key) DO UPDATE SET scopes = excluded.scopes, added_by = excluded.added_by, added_at = excluded.added_at`,
		who.ws, who.did, who.key, string(scopes), o.by, o.at)
	if err != nil {
		return fmt.Errorf("insert key of twin: %w", err)
	}
	return nil
}

// findSpeaker gives where a key of a twin came from; the zero origin when that
// is not known.
func findSpeaker(ctx context.Context, q db.Querier, who speaker) (o origin, err error) {
	var scopes string
	err = q.QueryRow(ctx, `SELECT scopes, added_by, added_at FROM entity_keys WHERE ws = $1 AND did = $2 AND key = $3`, who.ws, who.did, who.key).
		Scan(&scopes, &o.by, &o.at)
	if errors.Is(err, sql.ErrNoRows) {
		return origin{}, nil
	} else if err != nil {
		return origin{}, fmt.Errorf("find key of twin: %w", err)
	}
	if err := json.Unmarshal([]byte(scopes), &o.scopes); err != nil {
		return origin{}, fmt.Errorf("read scopes of key: %w", err)
	}
	return o, nil
}

// dropKey forgets a key of a twin, in all groups too.
func dropKey(ctx context.Context, tx *db.Tx, who speaker) error {
	_, err := tx.Exec(ctx, `DELETE FROM entity_keys WHERE ws = $1 AND did = $2 AND key = $3`, who.ws, who.did, who.key)
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM group_keys WHERE ws = $1 AND member = $2 AND key = $3`, who.ws, who.did, who.key)
	}
	if err != nil {
		return fmt.Errorf("drop key of twin: %w", err)
	}
	return nil
}

// admit has a group admit a key of a member.
func admit(ctx context.Context, tx *db.Tx, grp int64, who speaker) error {
	_, err := tx.Exec(ctx, `INSERT INTO group_keys(ws, member, grp, key) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, who.ws, who.did, grp, who.key)
	if err != nil {
		return fmt.Errorf("admit key: %w", err)
	}
	return nil
}

// replaceAdmitted has a group admit these keys of a member and no others.
func replaceAdmitted(ctx context.Context, tx *db.Tx, grp int64, who speaker, keys ...string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM group_keys WHERE ws = $1 AND member = $2 AND grp = $3`, who.ws, who.did, grp); err != nil {
		return fmt.Errorf("replace admitted keys: %w", err)
	}
	for _, who.key = range keys {
		if err := admit(ctx, tx, grp, who); err != nil {
			return err
		}
	}
	return nil
}

// listAdmitted lists the keys of a member that a group admits, in order.
func listAdmitted(ctx context.Context, q db.Querier, ws, member string, grp int64) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT key FROM group_keys WHERE ws = $1 AND member = $2 AND grp = $3 ORDER BY key`, ws, member, grp)
	return collect(rows, err, func() (key string, err error) { return key, rows.Scan(&key) })
}

// addKeys fills in which keys of members, who are in order, a group admits.
func addKeys(ctx context.Context, q db.Querier, grp int64, members []Member) error {
	if len(members) == 0 {
		return nil
	}
	type row struct{ member, key string }
	rows, err := q.Query(ctx, `SELECT member, key FROM group_keys WHERE grp = $1 AND member >= $2 AND member <= $3 ORDER BY member, key`,
		grp, members[0].Member, members[len(members)-1].Member)
	found, err := collect(rows, err, func() (r row, err error) { return r, rows.Scan(&r.member, &r.key) })
	for i := range members {
		for len(found) > 0 && found[0].member <= members[i].Member {
			if found[0].member == members[i].Member {
				members[i].Keys = append(members[i].Keys, found[0].key)
			}
			found = found[1:]
		}
	}
	return err
}

// admittedTo are the numbers of the groups that admit the key a UCAN caller has
// signed with.
func admittedTo(ctx context.Context, q db.Querier, c web.Caller) (map[int64]bool, error) {
	rows, err := q.Query(ctx, `SELECT grp FROM group_keys WHERE ws = $1 AND member = $2 AND key = $3`, c.Workspace, c.DID, c.Signer)
	list, err := collect(rows, err, func() (grp int64, err error) { return grp, rows.Scan(&grp) })
	out := make(map[int64]bool, len(list))
	for _, grp := range list {
		out[grp] = true
	}
	return out, err
}
