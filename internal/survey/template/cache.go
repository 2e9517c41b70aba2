package template

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

const (
	maxCached     = 64 << 20 // bytes of compiled templates in the cache, about
	weightPerByte = 16       // what a byte of a template weighs compiled, about
	cachedBase    = 16 << 10 // what a template weighs besides
	maxSelections = 32       // selections of sections that one template keeps
	generations   = 256
)

// cacheKey names a version of a template; 0 is the one used when none is
// named.
type cacheKey struct {
	ws, id  string
	version int
}

// entry is a version, compiled. It never changes but for the selections it
// keeps; share it freely.
type entry struct {
	v    *Version
	body []byte // the version as it is sent
	form *form.Form

	mu       sync.Mutex
	selected map[string]*form.Form
}

func newEntry(v *Version, body []byte, f *form.Form) *entry {
	return &entry{v: v, body: body, form: f, selected: map[string]*form.Form{}}
}

// of is the form with these sections only; none means all.
func (e *entry) of(sections []string) (*form.Form, error) {
	if len(sections) == 0 {
		return e.form, nil
	}
	key := strings.Join(sections, "\x00")
	e.mu.Lock()
	f := e.selected[key]
	e.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := e.form.Select(sections)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.selected) >= maxSelections {
		clear(e.selected)
	}
	e.selected[key] = f
	return f, nil
}

func (e *entry) weight() int { return weightPerByte*len(e.body) + cachedBase }

// cache keeps compiled templates. What was read before a change is never put
// in after it: the reader shows the generation it began in.
type cache struct {
	seed    maphash.Seed
	mu      sync.RWMutex
	gens    [generations]uint64 // by hash of the workspace
	entries map[cacheKey]*entry
	weight  int
}

func newCache() *cache {
	return &cache{seed: maphash.MakeSeed(), entries: map[cacheKey]*entry{}}
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

func (c *cache) get(k cacheKey) *entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[k]
}

func (c *cache) put(k cacheKey, e *entry, gen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.slot(k.ws) != gen {
		return
	}
	if old := c.entries[k]; old != nil {
		c.weight -= old.weight()
	}
	c.entries[k] = e
	c.weight += e.weight()
	for other, q := range c.entries { // in no order: any may go
		if c.weight <= maxCached {
			break
		}
		if other != k {
			delete(c.entries, other)
			c.weight -= q.weight()
		}
	}
}

// drop forgets a workspace.
func (c *cache) drop(ws string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.slot(ws)++
	for k, e := range c.entries {
		if k.ws == ws {
			delete(c.entries, k)
			c.weight -= e.weight()
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
	clear(c.entries)
	c.weight = 0
}
