package chat

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

const (
	listKeptText = `SELECT user_did, session, name, value FROM plugin_state WHERE plugin = $1 AND (user_did, session, name) > ($2, $3, $4) ORDER BY user_did, session, name LIMIT $5`
	sealKeptText = `UPDATE plugin_state SET value = $5 WHERE plugin = $1 AND user_did = $2 AND session = $3 AND name = $4 AND value = $6`
)

// sealedMark begins every sealed value. No JSON begins so.
const sealedMark = "sealed:"

// Kept seals what one plugin keeps about talkers. It is safe for concurrent
// use.
type Kept struct {
	db     *db.DB
	plugin string
	box    secret.Box

	mu   sync.Mutex
	done kept // the last that Backfill has looked at
}

// kept is a value that a plugin keeps.
type kept struct {
	user    string
	session int64
	name    string
	value   string
}

// Kept makes the Kept of a plugin.
func (s *Store) Kept(plugin string) *Kept {
	return &Kept{db: s.cfg.DB, plugin: plugin, box: s.cfg.Key.Box("plugin " + plugin)}
}

// Seal seals a value of the talker of ctx.
func (k *Kept) Seal(ctx context.Context, name string, value []byte) []byte {
	return k.seal(tool.From(ctx).Talker, name, value)
}

func (k *Kept) seal(user, name string, value []byte) []byte {
	return base64.RawStdEncoding.AppendEncode([]byte(sealedMark), k.box.Seal(keptBind(user, name), value))
}

// Open opens a value of the talker of ctx, nil when that is impossible. A value
// that is not sealed is from before sealing, and Backfill has not reached it.
func (k *Kept) Open(ctx context.Context, name string, value []byte) []byte {
	text, ok := bytes.CutPrefix(value, []byte(sealedMark))
	if !ok {
		return value
	}
	sealed, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil {
		return nil
	}
	opened, err := k.box.Open(keptBind(tool.From(ctx).Talker, name), sealed)
	if err != nil {
		return nil
	}
	return opened
}

// keptBind ties a sealed value to its place. No talker's name holds a zero.
func keptBind(user, name string) string { return user + "\x00" + name }

// Backfill seals what the plugin stored before values were sealed. It looks at the
// next limit values and returns how many there were; 0 means that it has seen all
// since this server started. Values that were changed or removed meanwhile are left
// alone.
func (k *Kept) Backfill(ctx context.Context, limit int) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all, err := k.list(ctx, limit)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	n, last := len(all), all[len(all)-1]
	all = slices.DeleteFunc(all, func(v kept) bool { return strings.HasPrefix(v.value, sealedMark) })
	if err := k.sealAll(ctx, all); err != nil {
		return 0, err
	}
	k.done = kept{user: last.user, session: last.session, name: last.name}
	return n, nil
}

func (k *Kept) sealAll(ctx context.Context, all []kept) error {
	if len(all) == 0 {
		return nil
	}
	return k.db.InTx(ctx, func(tx *db.Tx) error {
		for _, v := range all {
			sealed := string(k.seal(v.user, v.name, []byte(v.value)))
			if _, err := tx.Exec(ctx, sealKeptText, k.plugin, v.user, v.session, v.name, sealed, v.value); err != nil {
				return db.Wrap("seal what a plugin kept", err)
			}
		}
		return nil
	})
}

func (k *Kept) list(ctx context.Context, limit int) ([]kept, error) {
	rows, err := k.db.Query(ctx, listKeptText, k.plugin, k.done.user, k.done.session, k.done.name, limit)
	return db.Collect(rows, err, "read what a plugin kept", func(v *kept, row db.Row) error {
		return row.Scan(&v.user, &v.session, &v.name, &v.value)
	})
}
