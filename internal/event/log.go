package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits, unless a Config says otherwise.
const (
	ScanBudget = 2000 // events a filtered page looks at
	KeyStreams = 20   // open streams of one key
)

// Config configures a Log. DB and Cursors are needed; the zero value of
// everything else is the sensible default.
type Config struct {
	DB      *db.DB
	Cursors web.Cursors // signs the pages of the audit view
	Log     *slog.Logger
	Now     func() time.Time
	// Publish tells other instances that a workspace has new events; they call
	// Wake. It is called after the commit and must not block.
	Publish func(workspace string)
	// Leads reports whether this process numbers new events for all others; nil: readers
	// do it. Reads tells all processes that a workspace is read here, and Numbered that
	// its new events have numbers: they call HasReaders and HasNumbers.
	Leads           func() bool
	Reads, Numbered func(workspace string)
	// StillAllowed returns nil while the caller of ctx may continue reading.
	// Streams call it before they send events and once a second, so that they end
	// together with the caller's credential. anew means that an event which Rights
	// selects was sent or may have been skipped: cached knowledge about the caller
	// may be wrong.
	StillAllowed func(ctx context.Context, anew bool) error
	Rights       Filter        // events after which a caller may have lost a right; none when empty
	Veil         Veil          // events whose actor not everybody may know; none when empty
	Heartbeat    time.Duration // of streams; 15 s
	Recheck      time.Duration // how often streams ask StillAllowed; 1 s
	WriteTimeout time.Duration // for one write to a stream; 10 s
	Streams      int           // open streams in all; 1,000
	KeyStreams   int           // open streams of one key; KeyStreams
	// WorkspaceStreams limits the open streams of one workspace; a quarter of
	// all, 250 by default.
	WorkspaceStreams int
	ScanBudget       int // events a filtered page looks at; ScanBudget
}

func (c Config) withDefaults() Config {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Now = db.Clock(c.DB, c.Now)
	if c.Publish == nil {
		c.Publish = func(string) {}
	}
	if c.StillAllowed == nil {
		c.StillAllowed = func(context.Context, bool) error { return nil }
	}
	c.Heartbeat = positive(c.Heartbeat, 15*time.Second)
	c.Recheck = positive(c.Recheck, time.Second)
	c.WriteTimeout = positive(c.WriteTimeout, 10*time.Second)
	c.Streams = positive(c.Streams, 1000)
	c.KeyStreams = positive(c.KeyStreams, KeyStreams)
	c.WorkspaceStreams = positive(c.WorkspaceStreams, max(c.Streams/4, c.KeyStreams))
	c.ScanBudget = positive(c.ScanBudget, ScanBudget)
	return c
}

func positive[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// Log is the event log of all workspaces. It is safe for many goroutines.
type Log struct {
	cfg     Config
	db      *db.DB
	hub     *hub // waiting readers of this process
	herald  *herald
	lead    *lead
	sweep   sweep
	places  *places
	gates   *gates
	far     chan struct{} // holds one for each stream that reads far back
	closing chan struct{}
	close   func()
}

// New makes a log over a migrated store.
func New(cfg Config) *Log {
	cfg = cfg.withDefaults()
	l := &Log{cfg: cfg, db: cfg.DB, hub: newHub(), gates: newGates(), far: make(chan struct{}, farReaders), closing: make(chan struct{})}
	l.places, l.lead = newPlaces(cfg), newLead(l)
	l.herald = newHerald(cfg.Publish)
	l.close = sync.OnceFunc(func() {
		close(l.closing)
		l.herald.stop()
	})
	return l
}

// Append stores an event in the transaction of its change. Waiting readers are
// woken after the commit, and not after a rollback. An error is a programming
// mistake: no workspace, a type that is not dotted words, data that is not an
// object or has more than 4 KiB.
func (l *Log) Append(ctx context.Context, tx *db.Tx, e Event) error {
	p, err := l.Prepare(ctx, e)
	if err != nil {
		return err
	}
	return l.AppendPrepared(ctx, tx, p)
}

// Prepared is an event that is ready to be stored. It does not change.
type Prepared struct {
	ws   string
	now  bool // it happens when it is stored
	args eventArgs
}

// Prepare does all work for an event that needs no transaction. Its errors are
// those of Append.
func (l *Log) Prepare(ctx context.Context, e Event) (*Prepared, error) {
	now := e.At.IsZero()
	l.fill(ctx, &e)
	if e.Workspace == "" {
		return nil, errors.New("event has no workspace")
	}
	data, err := e.check()
	if err != nil {
		return nil, err
	}
	return &Prepared{ws: e.Workspace, now: now, args: argsOf(&e, data)}, nil
}

// AppendPrepared is Append for an event that was prepared before. Unless it has
// a time, it happens now.
func (l *Log) AppendPrepared(ctx context.Context, tx *db.Tx, p *Prepared) error {
	args := p.args
	if p.now {
		args[atArg] = l.cfg.Now().UnixMilli()
	}
	if err := l.insert(ctx, tx, args); err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	tx.AfterCommit(func() { l.stored(p.ws) })
	return nil
}

// stored tells all processes that a workspace has new events.
func (l *Log) stored(ws string) {
	l.lead.wake(ws)
	if l.db.Dialect() == db.SQLite { // nothing is sent anywhere
		l.cfg.Publish(ws)
	} else {
		l.herald.tell(ws)
	}
}

// fill takes from the context what the event does not say.
func (l *Log) fill(ctx context.Context, e *Event) {
	caller := web.CallerFrom(ctx)
	if e.Workspace == "" {
		e.Workspace = caller.Workspace
	}
	if e.Actor == "" {
		e.Actor = caller.DID
	}
	if e.Actor == "" {
		e.Actor = system
	}
	if e.RequestID == "" {
		e.RequestID = web.RequestID(ctx)
	}
	if e.At.IsZero() {
		e.At = l.cfg.Now()
	}
}

// Wake wakes all readers in this process who wait for the workspace. The app
// calls it for messages of other instances.
func (l *Log) Wake(workspace string) { l.lead.wake(workspace) }

// WakeAll is Wake for all workspaces: the bus has lost messages.
func (l *Log) WakeAll() { l.hub.wakeAll() }

// Subscribe waits for events of a workspace, of all for "". Close it.
func (l *Log) Subscribe(workspace string) *Subscription { return l.hub.subscribe(workspace) }

// Close tells every open stream that the server stops, and refuses new ones. It
// does not wait: the HTTP server waits for its handlers.
func (l *Log) Close() { l.close() }

// Streams is the number of open streams.
func (l *Log) Streams() int { return l.places.open() }
