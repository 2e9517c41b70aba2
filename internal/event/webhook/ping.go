package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits on concurrent pings of this process. They are for people who work on a
// receiver, and need one at a time.
const (
	pingsAll      = 32
	pingsPerSpace = 4
)

// Ping sends a test message now and returns the result. Faults:
// PING_IN_PROGRESS, TOO_MANY_PINGS.
func (s *Service) Ping(ctx context.Context, id string) (Outcome, error) {
	ws, err := may(ctx)
	if err != nil {
		return Outcome{}, err
	}
	h, err := find(ctx, s.db, ws, id)
	if err != nil {
		return Outcome{}, err
	}
	m, err := pingOf(s.cfg.Source, ws, db.NewID(), web.CallerFrom(ctx).DID, s.cfg.Now())
	if err != nil {
		return Outcome{}, err
	}
	done, err := s.pings.begin(ws, h.ID)
	if err != nil {
		return Outcome{}, err
	}
	defer done()
	web.LeavePlace(ctx) // from here on it waits for the receiver; the caps above bound it
	a := s.send(ctx, h, m)
	if a.cause != nil {
		s.cfg.Log.InfoContext(ctx, "webhook ping has failed", "webhook", h.ID, "err", a.cause.Error())
	}
	return Outcome{Delivered: a.ok(), Status: a.status, Error: a.err, DurationMS: a.took.Milliseconds()}, nil
}

// pings counts the pings under way.
type pings struct {
	mu     sync.Mutex
	hooks  map[string]bool // by id of the webhook
	spaces map[string]int
}

func newPings() *pings { return &pings{hooks: map[string]bool{}, spaces: map[string]int{}} }

// begin admits a ping, or says why not. Call the returned function when the
// ping is over.
func (p *pings) begin(ws, hook string) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.hooks[hook]:
		return nil, fault.New(fault.Conflict, "PING_IN_PROGRESS", "A ping of this webhook is still under way. Wait for its answer.").After(time.Second)
	case p.spaces[ws] >= pingsPerSpace:
		return nil, fault.New(fault.TooMany, "TOO_MANY_PINGS", "The workspace has too many pings under way. Wait for their answers.").After(time.Second)
	case len(p.hooks) >= pingsAll:
		return nil, fault.New(fault.TooMany, "TOO_MANY_PINGS", "The server has too many pings under way. Try again shortly.").After(time.Second)
	}
	p.hooks[hook] = true
	p.spaces[ws]++
	return func() { p.end(ws, hook) }, nil
}

func (p *pings) end(ws, hook string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hooks, hook)
	if p.spaces[ws]--; p.spaces[ws] == 0 {
		delete(p.spaces, ws)
	}
}
