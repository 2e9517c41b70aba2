package extend

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Part of the users' data is cached in memory: every answer begins with what
// plugins know about its user, and that seldom changes.
const (
	keptRows   = 64       // values of a user in one plugin; with more none are cached
	keptBytes  = 32 << 10 // and so many bytes of them
	keptLimit  = 16 << 20 // bytes of all users
	keptWeight = 512      // bytes around the values of a user
)

// kept is all that a plugin keeps of a user, by name, ended values too.
type kept struct {
	rows  []keptRow
	large bool // too large to cache: it is read each time
}

type keptRow struct {
	plugin.Entry
	until int64 // 0: it does not end
}

// newKept makes the memory of a State. It is nil where other processes change the
// rows too: few wait for a read there, and all would wait for all with each change.
func newKept(d *db.DB) *cache.Cache[string, *kept] {
	if d.Dialect() == db.Postgres {
		return nil
	}
	return cache.New[string](cache.Config[*kept]{
		Topic: "", Lease: nil, // there is no other process
		Limit: keptLimit, Weigh: (*kept).weight,
	})
}

func (k *kept) weight() int {
	n := keptWeight
	for _, r := range k.rows {
		n += keptWeight/4 + len(r.Name) + len(r.Value)
	}
	return n
}

// kept are the values of a shelf; nil when they must be read from their rows.
func (s *shelf) kept(ctx context.Context) (*kept, error) {
	in := s.state.kept
	if in == nil || s.session != 0 {
		return nil, nil
	}
	k := in.Get(s.user, s.plugin)
	if k == nil {
		gen := in.Begin(s.user)
		var err error
		if k, err = readKept(ctx, s.state.db, s); err != nil {
			return nil, err
		}
		in.Put(s.user, s.plugin, k, gen)
	}
	if k.large {
		return nil, nil
	}
	return k, nil
}

// changed makes the values of the shelf be read again once tx is stored.
func (s *shelf) changed(tx *db.Tx) {
	if in := s.state.kept; in != nil && s.session == 0 {
		tx.AfterCommit(func() { in.Drop(s.user) })
	}
}

// behind are the values behind a name that have not ended at a time, copied: they
// are the plugin's own.
func (k *kept) behind(after string, limit int, now int64) []plugin.Entry {
	first := sort.Search(len(k.rows), func(i int) bool { return k.rows[i].Name > after })
	var out []plugin.Entry
	for _, r := range k.rows[first:] {
		if len(out) == limit {
			break
		}
		if r.until == 0 || r.until > now {
			out = append(out, plugin.Entry{Name: r.Name, Value: slices.Clone(r.Value), UpdatedAt: r.UpdatedAt})
		}
	}
	return out
}

// named returns the value of a name; nil when there is none.
func (k *kept) named(name string, now int64) []byte {
	i, found := slices.BinarySearchFunc(k.rows, name, func(r keptRow, name string) int { return strings.Compare(r.Name, name) })
	if !found || k.rows[i].until != 0 && k.rows[i].until <= now {
		return nil
	}
	return append([]byte{}, k.rows[i].Value...)
}
