package auth

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	memory "github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// grant is the cached data about a working key. It never changes.
type grant struct {
	hash     Digest
	caller   web.Caller
	networks []netip.Prefix
	until    time.Time // zero is never
	replaced bool      // by a key it was rotated to
	loaded   time.Time
	era      int64 // of the cache when the key was looked up
}

// expired reports whether the key's time is over.
func (g *grant) expired(now time.Time) bool { return !g.until.IsZero() && !now.Before(g.until) }

// cache keeps the grants of keys by the digest of their text. It contains only
// keys that worked, so guesses cannot fill it.
type cache struct {
	era    atomic.Int64
	age    time.Duration
	lease  *memory.Lease
	grants recent[Digest, *grant]
	byID   recent[string, *grant] // the same, by the id of the key
}

func newCache(size int, age time.Duration, lease *memory.Lease) *cache {
	return &cache{age: age, lease: lease, grants: recent[Digest, *grant]{size: size}, byID: recent[string, *grant]{size: size}}
}

// get finds a grant. fresh reports whether it may be used; one that is not has
// worked before and must be looked up again.
func (c *cache) get(hash Digest, now time.Time) (g *grant, fresh bool) {
	g, ok := c.grants.get(hash)
	return g, ok && c.fresh(g, now)
}

// getID is get by the id of the key.
func (c *cache) getID(id string, now time.Time) (g *grant, fresh bool) {
	g, ok := c.byID.get(id)
	return g, ok && c.fresh(g, now)
}

// groupsAge is how old cached scopes of groups may be: a group can end with the
// time of its relationships, without a notification.
const groupsAge = time.Second

func (c *cache) fresh(g *grant, now time.Time) bool {
	age := c.age
	if len(g.caller.Through) > 0 {
		age = min(age, groupsAge)
	}
	return g.era == c.era.Load() && now.Sub(g.loaded) < age && c.lease.Held()
}

// begin is the era to give to a grant that is about to be looked up. A flush
// during the look-up makes the grant stale at once.
func (c *cache) begin() int64 { return c.era.Load() }

func (c *cache) put(g *grant) {
	c.grants.put(g.hash, g)
	c.byID.put(g.caller.Key, g)
}

func (c *cache) drop(hash Digest) { c.grants.drop(hash) }

// flush makes every grant stale. They are still known as keys that have worked,
// so their owners are not taken for strangers guessing.
func (c *cache) flush() { c.era.Add(1) }

// recent is a map that holds at most size entries and forgets those that were
// not used for longest, roughly: half of it is kept in two generations.
type recent[K comparable, V any] struct {
	mu         sync.Mutex
	size       int
	young, old map[K]V
}

func (r *recent[K, V]) get(k K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	if ok {
		r.set(k, v)
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(k, v)
}

// set puts k into the young generation. The caller holds mu.
func (r *recent[K, V]) set(k K, v V) {
	if _, ok := r.young[k]; !ok && len(r.young) >= max(r.size/2, 1) {
		r.young, r.old = nil, r.young
	}
	if r.young == nil {
		r.young = make(map[K]V)
	}
	r.young[k] = v
	delete(r.old, k)
}

func (r *recent[K, V]) drop(k K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.young, k)
	delete(r.old, k)
}

func (r *recent[K, V]) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.young) + len(r.old)
}
