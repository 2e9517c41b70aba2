package event

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	// readFor is how long a workspace counts as read after a look at its log.
	readFor = 30 * time.Second
	// tellRead is how often other processes are told that it is being read.
	tellRead = readFor / 3
	// leadWait is how long readers wait for numbers before they look for themselves.
	leadWait = 50 * time.Millisecond
	// mostRead is how many workspaces are known to be read; those above are numbered by
	// their readers.
	mostRead = 10_000
)

// lead makes one process of several number new events, so that their readers need not,
// each of which would ask for the same lock. It does so for workspaces that are read;
// others need no numbers. It only saves work: a reader that finds an event without a
// number gives it one.
type lead struct {
	l *Log

	running atomic.Bool
	kick    chan struct{} // cap 1: something is to be numbered

	mu    sync.Mutex
	read  map[string]reading
	late  map[string]*time.Timer // readers that wait for numbers
	fresh map[string]bool        // workspaces to be numbered here
}

// reading is when a workspace was last read anywhere, and when we said that we do.
type reading struct{ at, told time.Time }

func newLead(l *Log) *lead {
	return &lead{l: l, kick: make(chan struct{}, 1), read: map[string]reading{}, late: map[string]*time.Timer{}, fresh: map[string]bool{}}
}

// Lead numbers new events, while this process is the one to do so, until ctx ends. On
// SQLite it does nothing.
func (l *Log) Lead(ctx context.Context) error {
	g := l.lead
	if l.cfg.Leads == nil || l.db.Dialect() == db.SQLite {
		return nil
	}
	g.running.Store(true)
	defer func() { // readers wait no longer
		g.running.Store(false)
		l.hub.wakeAll()
	}()
	ctx = l.db.Lane(ctx, db.Background)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.kick:
		}
		g.mu.Lock()
		todo := slices.Sorted(maps.Keys(g.fresh))
		clear(g.fresh)
		g.mu.Unlock()
		for _, ws := range todo {
			if err := numberNew(ctx, l, ws); err != nil && ctx.Err() == nil {
				l.cfg.Log.WarnContext(ctx, "events not numbered", "workspace", ws, "err", err.Error())
			}
			l.hub.wake(ws)
			l.cfg.Numbered(ws)
		}
	}
}

// on reports whether there is a process that numbers for others.
func (g *lead) on() bool { return g.running.Load() }

// reads records that a workspace is read here.
func (g *lead) reads(ws string) {
	if !g.on() {
		return
	}
	now := time.Now()
	g.mu.Lock()
	r := g.read[ws]
	tell := now.Sub(r.told) > tellRead
	if tell {
		r = reading{now, now}
		g.note(ws, r)
	}
	g.mu.Unlock()
	if tell {
		g.l.cfg.Reads(ws)
	}
}

// note remembers a reading, and forgets those of long ago. The caller holds mu.
func (g *lead) note(ws string, r reading) {
	if len(g.read) >= mostRead {
		for other, o := range g.read {
			if r.at.Sub(o.at) > readFor {
				delete(g.read, other)
			}
		}
	}
	if _, known := g.read[ws]; known || len(g.read) < mostRead {
		g.read[ws] = r
	}
}

// wake has the readers of a workspace look once its new events have numbers.
func (g *lead) wake(ws string) {
	if !g.on() {
		g.l.hub.wake(ws)
		return
	}
	g.mu.Lock()
	if time.Since(g.read[ws].at) > readFor {
		g.mu.Unlock()
		g.l.hub.wake(ws)
		return
	}
	defer g.mu.Unlock()
	if !g.l.cfg.Leads() {
		if g.late[ws] == nil {
			g.late[ws] = time.AfterFunc(leadWait, func() { g.numbered(ws) })
		}
		return
	}
	g.fresh[ws] = true
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// numbered wakes readers who wait for numbers.
func (g *lead) numbered(ws string) {
	g.mu.Lock()
	if t := g.late[ws]; t != nil {
		t.Stop()
		delete(g.late, ws)
	}
	g.mu.Unlock()
	g.l.hub.wake(ws)
}

// HasReaders records that another process reads a workspace.
func (l *Log) HasReaders(ws string) {
	l.lead.mu.Lock()
	defer l.lead.mu.Unlock()
	r := l.lead.read[ws]
	r.at = time.Now()
	l.lead.note(ws, r)
}

// HasNumbers records that another process has numbered the new events of a workspace.
func (l *Log) HasNumbers(ws string) {
	if !l.lead.on() || l.cfg.Leads() {
		return // it was us
	}
	l.lead.numbered(ws)
}
