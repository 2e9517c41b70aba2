package event

import (
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// places counts open streams, in all, by workspace and by key.
type places struct {
	mu                  sync.Mutex
	all, bySpace, byKey int // limits
	used                int
	spaces, keys        map[string]int
}

func newPlaces(c Config) *places {
	return &places{all: c.Streams, bySpace: c.WorkspaceStreams, byKey: c.KeyStreams, spaces: map[string]int{}, keys: map[string]int{}}
}

// take finds a place for a stream of key in workspace ws, or returns TOO_MANY_STREAMS. Call
// the function it returns when the stream has ended.
func (p *places) take(ws, key string) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys[key] >= p.byKey {
		return nil, fault.New(fault.TooMany, "TOO_MANY_STREAMS", "This key has too many open streams. Close one first.").After(10 * time.Second)
	}
	if p.spaces[ws] >= p.bySpace {
		return nil, fault.New(fault.TooMany, "TOO_MANY_STREAMS", "This workspace has too many open streams. Close one first.").After(10 * time.Second)
	}
	if p.used >= p.all {
		return nil, fault.New(fault.TooMany, "TOO_MANY_STREAMS", "The server has too many open streams. Try again shortly.").After(10 * time.Second)
	}
	p.used++
	p.spaces[ws]++
	p.keys[key]++
	return func() { p.leave(ws, key) }, nil
}

func (p *places) leave(ws, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	if p.spaces[ws]--; p.spaces[ws] == 0 {
		delete(p.spaces, ws)
	}
	if p.keys[key]--; p.keys[key] == 0 {
		delete(p.keys, key)
	}
}

func (p *places) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}
