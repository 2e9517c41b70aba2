package oracle

import (
	"context"
	"sync"
	"time"
)

// background runs work that nobody waits for, until it is closed.
type background struct {
	wg sync.WaitGroup

	mu     sync.Mutex
	closed bool
	next   int
	stops  map[int]context.CancelFunc
}

// start runs f in the background. f may take up to limit, and does not end with
// ctx.
func (b *background) start(ctx context.Context, limit time.Duration, f func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		cancel()
		return
	}
	if b.stops == nil {
		b.stops = map[int]context.CancelFunc{}
	}
	b.next++
	id := b.next
	b.stops[id] = cancel
	b.wg.Go(func() {
		defer b.forget(id, cancel)
		f(ctx)
	})
}

func (b *background) forget(id int, cancel context.CancelFunc) {
	cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.stops, id)
}

// close stops all of it and waits.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	for _, stop := range b.stops {
		stop()
	}
	b.mu.Unlock()
	b.wg.Wait()
}
