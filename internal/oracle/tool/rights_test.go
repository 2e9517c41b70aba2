package tool_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// books are where rights stand.
type books struct {
	mu     sync.Mutex
	scopes []string
	err    error
	takes  time.Duration
	asked  atomic.Int64
}

func (b *books) set(err error, scopes ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.scopes, b.err = scopes, err
}

func (b *books) find(ctx context.Context, user string) (web.Caller, error) {
	b.asked.Add(1)
	b.mu.Lock()
	found, err, takes := web.Caller{DID: user, Scopes: b.scopes}, b.err, b.takes
	b.mu.Unlock()
	select {
	case <-time.After(takes):
		return found, err
	case <-ctx.Done():
		return web.Caller{}, ctx.Err()
	}
}

// look asks for the rights of a user and wants one answer.
func (b *books) look(t *testing.T, when string, c tool.Context, scopes int, asked int64) {
	t.Helper()
	got, err := c.Caller(t.Context(), b.find)
	if err != nil || got.DID != c.User || len(got.Scopes) != scopes || b.asked.Load() != asked {
		t.Errorf("%s: %+v, %v after %d questions; want %d scopes of %s after %d", when, got, err, b.asked.Load(), scopes, c.User, asked)
	}
}

// The tools of a run ask for the rights of its user once in a second, also those
// that run at the same time.
func TestRightsAreAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &books{scopes: []string{"entities:read"}, takes: 10 * time.Millisecond}
		c := tool.Context{User: "did:key:a", Rights: tool.NewRights(time.Now)}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { b.look(t, "at the same time", c, 1, 1) })
		}
		all.Wait()
		b.look(t, "soon after", c, 1, 1)
		time.Sleep(989 * time.Millisecond)
		b.look(t, "just before the second is over", c, 1, 1)
		time.Sleep(time.Millisecond)
		b.look(t, "after a second", c, 1, 2)
		other := tool.Context{User: "did:key:b", Rights: tool.NewRights(time.Now)}
		b.look(t, "in another run", other, 1, 3)
		b.look(t, "without a run", tool.Context{User: "did:key:c"}, 1, 4)
		b.look(t, "without a run, again", tool.Context{User: "did:key:c"}, 1, 5)
	})
}

// A right that is taken away during a run is gone a second later, however often
// tools have asked meanwhile and however long the answer took.
func TestRightTakenAwayIsNoticed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &books{scopes: []string{"entities:read"}, takes: 600 * time.Millisecond}
		c := tool.Context{User: "did:key:a", Rights: tool.NewRights(time.Now)}
		start := time.Now()
		b.look(t, "at first", c, 1, 1)
		b.set(nil)
		for time.Since(start) < 950*time.Millisecond {
			b.look(t, "meanwhile", c, 1, 1)
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Second - time.Since(start))
		b.look(t, "a second after the first question", c, 0, 2)
	})
}

// What is not known is asked again: a failure is nobody's right, and a call that
// gives up leaves the question to the next.
func TestRightsNotFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &books{err: errors.New("disk full"), takes: time.Millisecond}
		c := tool.Context{User: "did:key:a", Rights: tool.NewRights(time.Now)}
		if got, err := c.Caller(t.Context(), b.find); err == nil || got.DID != "" {
			t.Errorf("Caller() = %+v, %v; want the error", got, err)
		}
		b.set(nil, "entities:read")
		b.takes = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		for range 2 { // one asks, the other waits for it
			all.Go(func() {
				if _, err := c.Caller(ctx, b.find); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Caller() = %v, want the end of its time", err)
				}
			})
		}
		all.Wait()
		b.takes = 0
		if got, err := c.Caller(t.Context(), b.find); err != nil || len(got.Scopes) != 1 {
			t.Errorf("Caller() = %+v, %v; want the rights", got, err)
		}
	})
}
