package protocol

import (
	"hash/maphash"
	"math"
	"sync"
)

const (
	maxCached   = 64 << 20 // bytes of records and schemas in the cache, about
	cachedBase  = 4 << 10  // what a protocol weighs besides
	maxAnswers  = 4096     // cached answers for filters
	generations = 256

	never = math.MaxUint64 // the generation of what is not kept
)

// cacheKey names a version of a protocol; an empty version is the one used
// when none is named.
type cacheKey struct{ ws, did, version string }

// answerKey names what was asked for: a property, a class, or a protocol.
type answerKey struct{ ws, kind, name string }

type answer struct {
	declared []Declared
	open     bool
	dids     []string
	names    []string // of properties
}

// cache keeps compiled protocols. What was read before a change is never put
// in after it: the reader shows the generation it began in.
type cache struct {
	seed      maphash.Seed
	mu        sync.RWMutex
	gens      [generations]uint64 // by hash of the workspace
	protocols map[cacheKey]*Protocol
	weight    int
	answers   map[answerKey]answer
}

func newCache() *cache {
	return &cache{seed: maphash.MakeSeed(), protocols: map[cacheKey]*Protocol{}, answers: map[answerKey]answer{}}
}

func (c *cache) slot(ws string) *uint64 {
	return &c.gens[maphash.String(c.seed, ws)%generations]
}

// begin is the generation of a workspace: take it before reading the store.
func (c *cache) begin(ws string) uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return *c.slot(ws)
}

func (c *cache) get(k cacheKey) *Protocol {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.protocols[k]
}

func (c *cache) put(k cacheKey, p *Protocol, gen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.slot(k.ws) != gen {
		return
	}
	if old := c.protocols[k]; old != nil {
		c.weight -= weight(old)
	}
	c.protocols[k] = p
	c.weight += weight(p)
	for other, q := range c.protocols { // in no order: any may go
		if c.weight <= maxCached {
			break
		}
		if other != k {
			delete(c.protocols, other)
			c.weight -= weight(q)
		}
	}
}

func weight(p *Protocol) int { return len(p.body) + 4*len(p.set.Text()) + cachedBase }

func (c *cache) answer(k answerKey) (answer, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	a, ok := c.answers[k]
	return a, ok
}

func (c *cache) putAnswer(k answerKey, a answer, gen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.slot(k.ws) != gen {
		return
	}
	for other := range c.answers {
		if len(c.answers) < maxAnswers {
			break
		}
		delete(c.answers, other)
	}
	c.answers[k] = a
}

// drop forgets a workspace.
func (c *cache) drop(ws string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.slot(ws)++
	for k, p := range c.protocols {
		if k.ws == ws {
			delete(c.protocols, k)
			c.weight -= weight(p)
		}
	}
	for k := range c.answers {
		if k.ws == ws {
			delete(c.answers, k)
		}
	}
}

// flush forgets all.
func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.gens {
		c.gens[i]++
	}
	clear(c.protocols)
	clear(c.answers)
	c.weight = 0
}
