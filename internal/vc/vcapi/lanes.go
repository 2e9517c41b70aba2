package vcapi

import (
	"context"
	"sync"
)

// lanes are queues with a few places each. A request that enters several starts with the
// narrowest: then only one of each caller, and no more than the share of each workspace,
// waits in the last queue, which is first come, first served. That is how they take
// turns.
type lanes struct {
	width int // places of each door
	mu    sync.Mutex
	of    map[string]*lane
}

type lane struct {
	door  chan struct{}
	users int // inside or waiting
}

func newLanes(width int) *lanes { return &lanes{width: width, of: map[string]*lane{}} }

// enter takes a place in the lane of a name, or waits for it until ctx ends.
func (l *lanes) enter(ctx context.Context, name string) (leave func(), ok bool) {
	l.mu.Lock()
	at := l.of[name]
	if at == nil {
		at = &lane{door: make(chan struct{}, l.width)}
		l.of[name] = at
	}
	at.users++
	l.mu.Unlock()
	select {
	case at.door <- struct{}{}: // of those that wait the first is next
		return func() { <-at.door; l.forget(name, at) }, true
	case <-ctx.Done():
		l.forget(name, at)
		return nil, false
	}
}

// forget drops an unused lane.
func (l *lanes) forget(name string, at *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.users--; at.users == 0 {
		delete(l.of, name)
	}
}
