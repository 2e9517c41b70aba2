package ucan

import (
	"crypto/sha256"
	"sync"
)

// cacheShards keeps callers on different cores out of each other's way.
const cacheShards = 16

// entryWeight is about what a grant takes besides the content of its token.
const entryWeight = 1024

type cacheID [sha256.Size]byte

// cacheKey identifies a token for one purpose: a valid delegation is not
// necessarily a valid invocation.
func cacheKey(purpose byte, text string) cacheID {
	var buf [2048]byte // most tokens fit, and nothing is allocated
	return sha256.Sum256(append(append(buf[:0], purpose), text...))
}

// cache remembers valid tokens. Each shard has two generations: when the young
// one is full, the old one is dropped and the young one becomes old. An entry
// that is used becomes young again, so the tokens in use stay.
type cache struct {
	entries, bytes int // of one generation of one shard
	shards         [cacheShards]shard
}

type shard struct {
	mu         sync.Mutex
	young, old map[cacheID]cacheEntry
	weight     int // of young
}

type cacheEntry struct {
	grant  *Grant
	until  int64 // Unix seconds
	weight int
}

func newCache(entries, bytes int) *cache {
	return &cache{entries: max(1, entries/cacheShards/2), bytes: bytes / cacheShards / 2}
}

func (c *cache) get(id cacheID, now int64) *Grant {
	s := &c.shards[id[0]%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.young[id]
	if !ok {
		if e, ok = s.old[id]; !ok {
			return nil
		}
		delete(s.old, id)
		if now < e.until {
			c.add(s, id, e)
		}
	}
	if now >= e.until {
		return nil
	}
	return e.grant
}

func (c *cache) put(id cacheID, g *Grant, until int64, size int) {
	s := &c.shards[id[0]%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	c.add(s, id, cacheEntry{g, until, entryWeight + 3*size})
}

// add puts an entry among the young ones of s, which is locked.
func (c *cache) add(s *shard, id cacheID, e cacheEntry) {
	if s.young == nil || len(s.young) >= c.entries || s.weight+e.weight > c.bytes {
		s.old, s.young, s.weight = s.young, map[cacheID]cacheEntry{}, 0
	}
	s.young[id] = e
	s.weight += e.weight
}
