package extend

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	findStateText = `SELECT value FROM plugin_state WHERE plugin = $1 AND user_did = $2 AND session = $3 AND name = $4 AND (expires_at = 0 OR expires_at > $5)`
	putStateText  = `INSERT INTO plugin_state(plugin, user_did, session, name, workspace, did, value, updated_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (plugin, user_did, session, name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, expires_at = excluded.expires_at`
	removeStateText = `DELETE FROM plugin_state WHERE plugin = $1 AND user_did = $2 AND session = $3 AND name = $4`
	readStateText   = `SELECT name, value, updated_at FROM plugin_state WHERE plugin = $1 AND user_did = $2 AND session = $3 AND name > $4 AND (expires_at = 0 OR expires_at > $6) ORDER BY name LIMIT $5`
	keptText        = `SELECT name, value, updated_at, expires_at FROM plugin_state WHERE plugin = $1 AND user_did = $2 AND session = 0 ORDER BY name LIMIT $3`
	// The last of the values there may be, unless it is the one to be replaced.
	lastStateText   = `SELECT name FROM plugin_state WHERE plugin = $1 AND user_did = $2 AND session = $3 AND name <> $4 ORDER BY name LIMIT 1 OFFSET $5`
	expireStateText = `DELETE FROM plugin_state WHERE (plugin, user_did, session, name) IN
		(SELECT plugin, user_did, session, name FROM plugin_state WHERE expires_at <> 0 AND expires_at <= $1 ORDER BY expires_at LIMIT $2)`
	eraseStateText  = `DELETE FROM plugin_state WHERE workspace = $1 AND did = $2 AND session = 0`
	shrinkStateText = `DELETE FROM plugin_state WHERE session = $1 AND session <> 0 AND (plugin, user_did, name) IN
		(SELECT plugin, user_did, name FROM plugin_state WHERE session = $1 AND session <> 0 LIMIT $2)`
)

func findState(ctx context.Context, q db.Querier, s *shelf, name string) ([]byte, error) {
	var value string
	err := q.QueryRow(ctx, findStateText, s.plugin, s.user, s.session, name, s.state.now().UnixMilli()).Scan(&value)
	return db.Found([]byte(value), err, "find state of a plugin")
}

// stateValue is a value to be stored; until is 0 when it does not end.
type stateValue struct {
	name  string
	value []byte
	until int64
}

func putState(ctx context.Context, tx *db.Tx, s *shelf, v stateValue) error {
	t := chat.TalkerOf(s.user)
	_, err := tx.Exec(ctx, putStateText, s.plugin, s.user, s.session, v.name, t.In(), t.DID, string(v.value), s.state.now().UnixMilli(), v.until)
	return db.Wrap("put state of a plugin", err)
}

func removeState(ctx context.Context, tx *db.Tx, s *shelf, name string) error {
	_, err := tx.Exec(ctx, removeStateText, s.plugin, s.user, s.session, name)
	return db.Wrap("remove state of a plugin", err)
}

func readState(ctx context.Context, q db.Querier, s *shelf, after string, limit int) ([]plugin.Entry, error) {
	var out []plugin.Entry
	size := 0
	rows, err := q.Query(ctx, readStateText, s.plugin, s.user, s.session, after, limit, s.state.now().UnixMilli())
	err = db.Each(rows, err, "read state of a plugin", func(row db.Row) error {
		var name, value string
		var at int64
		if err := row.Scan(&name, &value, &at); err != nil {
			return err
		}
		if size += len(value); size > plugin.MaxRead && len(out) > 0 {
			return db.ErrStop
		}
		out = append(out, plugin.Entry{Name: name, Value: []byte(value), UpdatedAt: time.UnixMilli(at).UTC()})
		return nil
	})
	return out, err
}

// readKept reads what a plugin keeps about a user, unless it is too large to
// cache.
func readKept(ctx context.Context, q db.Querier, s *shelf) (*kept, error) {
	size := 0
	rows, err := q.Query(ctx, keptText, s.plugin, s.user, keptRows+1)
	all, err := db.Collect(rows, err, "read state of a plugin", func(r *keptRow, row db.Row) error {
		var value string
		var at int64
		err := row.Scan(&r.Name, &value, &at, &r.until)
		size += len(value)
		r.Value, r.UpdatedAt = []byte(value), time.UnixMilli(at).UTC()
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) > keptRows || size > keptBytes {
		return &kept{large: true}, nil
	}
	return &kept{rows: all}, nil
}

// isFull reports whether there is no room for a further value besides name.
func isFull(ctx context.Context, q db.Querier, s *shelf, name string) (bool, error) {
	return db.Exists(q.QueryRow(ctx, lastStateText, s.plugin, s.user, s.session, name, plugin.MaxEntries-1), "count state of a plugin")
}

func eraseState(ctx context.Context, tx *db.Tx, workspace, did string) error {
	if _, err := tx.Exec(ctx, eraseLinks, workspace, did); err != nil {
		return db.Wrap("erase links of plugins", err)
	}
	_, err := tx.Exec(ctx, eraseStateText, workspace, did)
	return db.Wrap("erase state of plugins", err)
}

// shrinkState removes at most limit values of a conversation.
func shrinkState(ctx context.Context, tx *db.Tx, session int64, limit int) (int64, error) {
	n, err := tx.Exec(ctx, shrinkStateText, session, limit)
	return n, db.Wrap("shrink state of plugins", err)
}

func expireState(ctx context.Context, tx *db.Tx, now int64, limit int) (int64, error) {
	n, err := tx.Exec(ctx, expireStateText, now, limit)
	return n, db.Wrap("expire state of plugins", err)
}
