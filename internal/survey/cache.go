package survey

import (
	"hash/maphash"
	"sync"
)

const (
	maxCached   = 64 << 20 // bytes of campaigns in the cache, about
	cachedBase  = 4 << 10  // what a campaign weighs besides its record
	perByte     = 4        // what a byte of its record weighs
	generations = 256
)

// cache keeps campaigns as responses need them. What was read before a change
// is never put in after it: the reader shows the generation it began in.
type cache struct {
	seed maphash.Seed
	mu   sync.RWMutex
	gens [generations]uint64 // by hash of the workspace
	open map[string]map[string]*Open
	size int // bytes, about
}

func newCache() *cache {
	return &cache{seed: maphash.MakeSeed(), open: map[string]map[string]*Open{}}
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

func (c *cache) get(ws, id string) *Open {
	c.mu.RLock()
	o := c.open[ws][id]
	c.mu.RUnlock()
	return o
}

func (c *cache) put(o *Open, gen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.slot(o.Workspace) != gen {
		return
	}
	if old := c.open[o.Workspace][o.SurveyID]; old != nil && old.Revision > o.Revision {
		return // read before a commit that somebody else has seen already
	}
	c.remove(o.Workspace, o.SurveyID)
	for ws, all := range c.open { // in no order: any may go
		for id := range all {
			if c.size+o.weight <= maxCached {
				break
			}
			c.remove(ws, id)
		}
	}
	if c.open[o.Workspace] == nil {
		c.open[o.Workspace] = map[string]*Open{}
	}
	c.open[o.Workspace][o.SurveyID] = o
	c.size += o.weight
}

func (c *cache) remove(ws, id string) {
	if old := c.open[ws][id]; old != nil {
		c.size -= old.weight
		if delete(c.open[ws], id); len(c.open[ws]) == 0 {
			delete(c.open, ws)
		}
	}
}

// drop forgets a workspace.
func (c *cache) drop(ws string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.slot(ws)++
	for id := range c.open[ws] {
		c.remove(ws, id)
	}
}

// flush forgets all.
func (c *cache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.gens {
		c.gens[i]++
	}
	clear(c.open)
	c.size = 0
}
