package oracle

import (
	"context"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxBlocked is how many addresses that send bad tokens are remembered.
const maxBlocked = 10_000

// guard refuses addresses that have sent too many bad tokens, before any work
// is done on the next one. Tokens known to be good are not held up.
type guard struct {
	tries *web.Limiter
	now   func() time.Time

	mu      sync.Mutex
	blocked map[string]time.Time // until when
}

var _ ucan.Throttle = (*guard)(nil)

func newGuard(c CallersConfig) *guard {
	return &guard{
		tries: web.NewLimiter(web.LimiterConfig{PerMinute: c.Failures, Now: c.Now, Fleet: c.Fleet, Name: "bad-tokens"}), now: c.Now,
		blocked: map[string]time.Time{},
	}
}

// Allow reports whether the address of ctx has tries left.
func (g *guard) Allow(ctx context.Context) bool {
	return isUnguarded(ctx) || g.left(addrName(ctx)) <= 0
}

// Failed takes a try from the address of ctx.
func (g *guard) Failed(ctx context.Context) {
	if isUnguarded(ctx) {
		return
	}
	name := addrName(ctx)
	v := g.tries.Allow(name)
	if v.OK {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.blocked) >= maxBlocked {
		g.forget()
	}
	g.blocked[name] = g.now().Add(v.RetryAfter)
}

// wait is how long the address of ctx must wait, at least a second.
func (g *guard) wait(ctx context.Context) time.Duration {
	return max(g.left(addrName(ctx)), time.Second)
}

func (g *guard) left(name string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.blocked[name]
	if !ok {
		return 0
	}
	wait := until.Sub(g.now())
	if wait <= 0 {
		delete(g.blocked, name)
	}
	return wait
}

// forget makes room: it removes expired entries, and a few others when there
// are none.
func (g *guard) forget() {
	now, spare := g.now(), 16
	for name, until := range g.blocked {
		if !until.After(now) {
			delete(g.blocked, name)
		}
	}
	for name := range g.blocked {
		if len(g.blocked) < maxBlocked-spare {
			return
		}
		delete(g.blocked, name)
	}
}
