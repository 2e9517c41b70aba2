// Package cache keeps what was made of the records of a workspace, such as
// compiled forms, until they change or the cache is full.
//
// It promises that what was read before a change is never put in after it: the
// reader passes the generation in which it began to read.
package cache

import (
	"hash/maphash"
	"sync"
)

// generations is how many counters of changes there are. Workspaces that share
// one only read a little more often.
const generations = 256

// Config configures a Cache. Topic, Limit and Weigh are needed.
type Config[V any] struct {
	// Topic is the topic under which other processes learn of changes to the
	// rows.
	Topic string
	// Lease says whether cached values may be used; nil where one process alone
	// changes the rows.
	Lease *Lease
	Limit int         // of the weights of all values
	Weigh func(V) int // always the same of the same value
	// Older reports whether a value was read before the cached one; then that
	// stays. Never by default.
	Older func(next, kept V) bool
}

// Cache keeps values of workspaces by name. It is safe for many goroutines.
type Cache[K comparable, V any] struct {
	cfg    Config[V]
	seed   maphash.Seed
	mu     sync.RWMutex
	gens   [generations]uint64 // by hash of the workspace
	kept   map[string]map[K]V
	weight int
}

// New makes an empty Cache.
func New[K comparable, V any](cfg Config[V]) *Cache[K, V] {
	if cfg.Older == nil {
		cfg.Older = func(V, V) bool { return false }
	}
	return &Cache[K, V]{cfg: cfg, seed: maphash.MakeSeed(), kept: map[string]map[K]V{}}
}

func (c *Cache[K, V]) slot(ws string) *uint64 {
	return &c.gens[maphash.String(c.seed, ws)%generations]
}

// Begin is the generation of a workspace: call it before reading the store.
func (c *Cache[K, V]) Begin(ws string) uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return *c.slot(ws)
}

// Get finds a value; the zero value when it is not cached, or must not be used.
func (c *Cache[K, V]) Get(ws string, k K) V {
	if !c.cfg.Lease.Held() {
		var none V
		return none
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.kept[ws][k]
}

// Put caches a value that was read in a generation, and evicts others when
// there is no room. It returns false when the workspace has changed since: then
// the cache may have a different value, and the caller should read again.
func (c *Cache[K, V]) Put(ws string, k K, v V, gen uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.slot(ws) != gen {
		return false
	}
	if old, ok := c.kept[ws][k]; ok && c.cfg.Older(v, old) {
		return true
	}
	c.remove(ws, k)
	weight := c.cfg.Weigh(v)
	c.makeRoom(weight)
	if c.kept[ws] == nil {
		c.kept[ws] = map[K]V{}
	}
	c.kept[ws][k] = v
	c.weight += weight
	return true
}

// makeRoom removes values, any of them, until there is room for a weight.
func (c *Cache[K, V]) makeRoom(weight int) {
	for ws, all := range c.kept {
		for k := range all {
			if c.weight+weight <= c.cfg.Limit {
				return
			}
			c.remove(ws, k)
		}
	}
}

func (c *Cache[K, V]) remove(ws string, k K) {
	old, ok := c.kept[ws][k]
	if !ok {
		return
	}
	c.weight -= c.cfg.Weigh(old)
	if delete(c.kept[ws], k); len(c.kept[ws]) == 0 {
		delete(c.kept, ws)
	}
}

// Doubt forgets a value before a caller is refused because of it, where others
// change the rows too: it reports whether to read the row once more.
func (c *Cache[K, V]) Doubt(ws string, k K) bool {
	if c.cfg.Lease == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(ws, k)
	return true
}

// Drop forgets a workspace, because something in it has changed.
func (c *Cache[K, V]) Drop(ws string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.slot(ws)++
	for k := range c.kept[ws] {
		c.remove(ws, k)
	}
}

// Flush forgets all.
func (c *Cache[K, V]) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.gens {
		c.gens[i]++
	}
	clear(c.kept)
	c.weight = 0
}

// Weight is the weight of all cached values.
func (c *Cache[K, V]) Weight() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.weight
}
