package event

import (
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// places counts open streams, in all and by key.
type places struct {
	mu         sync.Mutex
	all, byKey int // limits
	used       int
	keys       map[string]int
}

func newPlaces(all, byKey int) *places {
	return &places{all: all, byKey: byKey, keys: map[string]int{}}
}

// take finds a place for a stream of key, or returns TOO_MANY_STREAMS. Call
// the function it returns when the stream has ended.
func (p *places) take(key string) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys[key] >= p.byKey {
		return nil, fault.New(fault.TooMany, "TOO_MANY_STREAMS", "This key has too many open streams. Close one first.").After(10 * time.Second)
	}
	if p.used >= p.all {
		return nil, fault.New(fault.TooMany, "TOO_MANY_STREAMS", "The server has too many open streams. Try again shortly.").After(10 * time.Second)
	}
	p.used++
	p.keys[key]++
	return func() { p.leave(key) }, nil
}

func (p *places) leave(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used--
	if p.keys[key]--; p.keys[key] == 0 {
		delete(p.keys, key)
	}
}

func (p *places) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}
