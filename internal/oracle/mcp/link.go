package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// protocol is the version a session begins with. It is the newest that begins with
	// initialize, which every server answers; not every one answers an unknown request.
	protocol = "2025-11-25"

	connectTime = 15 * time.Second // to connect and to list tools, each
	listAge     = 5 * time.Minute  // after which tools are listed again
	maxPages    = 10               // of a list of tools
	maxCalls    = 8                // of one server at once

	firstPause = time.Second // after a failure; it doubles with each
	maxPause   = 5 * time.Minute
)

// opener opens the transport to a server. The returned function is called when the
// session is over.
type opener func(ctx context.Context, s *Server) (sdk.Transport, func(), error)

// link is the connection with one server: opened when it is needed, opened again when
// it was lost, after a pause that grows as long as it fails. It is safe for
// concurrent use.
type link struct {
	server Server
	open   opener
	log    *slog.Logger
	now    func() time.Time
	life   func() context.Context // ends with the server: a session outlives the caller that needs it first
	work   *sync.WaitGroup        // background work
	places chan struct{}          // calls under way

	mu       sync.Mutex
	session  *sdk.ClientSession
	offers   []offer
	listed   time.Time // zero: the tools are not known
	used     time.Time
	failures int
	retry    time.Time     // not tried before
	problem  error         // why the last attempt failed
	busy     chan struct{} // closed when the attempt under way is over; nil without one
	closed   bool
}

func (s *Service) newLink(server Server, open opener) *link {
	return &link{
		server: server, open: open, log: s.cfg.Log, now: s.cfg.Now, life: s.life, work: &s.work,
		places: make(chan struct{}, maxCalls), used: s.cfg.Now(),
	}
}

var (
	errClosed = errors.New("the connection is closed")
	errPause  = errors.New("the server failed a moment ago")
)

// tools returns the tools of the server as far as they are known. Without wait
// it returns the known ones and looks up the rest in the background.
func (l *link) tools(ctx context.Context, wait bool) ([]offer, error) {
	busy := l.refresh()
	if busy != nil && wait {
		l.mu.Lock()
		known := !l.listed.IsZero()
		l.mu.Unlock()
		if !known { // tools of some minutes ago are good enough
			if err := await(ctx, busy); err != nil {
				return nil, err
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listed.IsZero() {
		return nil, errors.Join(errPause, l.problem)
	}
	return l.offers, nil
}

func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refresh begins an attempt to connect or to list the tools if one is needed. The
// returned channel is closed when the attempt is over; nil when there is nothing to
// wait for.
func (l *link) refresh() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.used = now
	switch {
	case l.closed:
		return nil
	case l.busy != nil:
		return l.busy
	case l.session != nil && !l.listed.IsZero() && now.Sub(l.listed) < listAge, now.Before(l.retry):
		return nil
	}
	busy := make(chan struct{})
	l.busy = busy
	l.work.Go(func() {
		err := l.attempt(l.life())
		l.mu.Lock()
		defer l.mu.Unlock()
		l.note(err)
		l.busy = nil
		close(busy)
	})
	return busy
}

// note keeps how an attempt ended. l.mu is held.
func (l *link) note(err error) {
	if l.problem = err; err == nil {
		l.failures = 0
		return
	}
	pause := min(firstPause<<min(l.failures, 10), maxPause)
	l.failures++
	l.retry = l.now().Add(pause)
	if l.life().Err() == nil {
		l.log.Warn("MCP server does not answer", "gateway", l.server.Name, "attempts", l.failures, "err", err.Error())
	}
}

// attempt connects, unless there is a session, and lists the tools.
func (l *link) attempt(ctx context.Context) error {
	session, err := l.connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var found []*sdk.Tool
	next := ""
	for range maxPages {
		page, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: next})
		if err != nil {
			l.drop(session)
			return fmt.Errorf("list tools: %w", err)
		}
		found = append(found, page.Tools...)
		if next = page.NextCursor; next == "" || len(found) >= maxTools {
			break
		}
	}
	offers := offersOf(&l.server, found)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offers, l.listed = offers, l.now()
	return nil
}

// connect returns the session, a new one if necessary.
func (l *link) connect(ctx context.Context) (*sdk.ClientSession, error) {
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session != nil {
		return session, nil
	}
	transport, end, err := l.open(ctx, &l.server)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	// It asks nothing of us: no files, no model, no people.
	client := sdk.NewClient(&sdk.Implementation{Name: "hearth", Version: "1"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.changed() },
	})
	within, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	session, err = client.Connect(within, transport, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		end()
		return nil, fmt.Errorf("connect: %w", err)
	}
	l.mu.Lock()
	l.session = session
	closed := l.closed
	l.mu.Unlock()
	l.work.Go(func() {
		_ = session.Wait() // however it ends, it has ended
		l.drop(session)
		end()
	})
	if closed {
		_ = session.Close() // it is no longer needed
		return nil, errClosed
	}
	return session, nil
}

// changed has the tools listed again when they are needed next.
func (l *link) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.listed.IsZero() {
		l.listed = l.listed.Add(-listAge)
	}
}

// drop gives a session up. Its tools remain known.
func (l *link) drop(session *sdk.ClientSession) {
	l.mu.Lock()
	mine := l.session == session
	if mine {
		l.session = nil
	}
	l.mu.Unlock()
	if mine {
		l.work.Go(func() { _ = session.Close() }) // it may take a while to say goodbye
	}
}

// close ends the connection for good.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	session := l.session
	l.mu.Unlock()
	if session != nil {
		l.drop(session)
	}
}

// lastUsed is when the link was last used.
func (l *link) lastUsed() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// idle reports whether the link has been unused since a moment.
func (l *link) idle(since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used.Before(since) && len(l.places) == 0
}

// call has the server run a tool, once.
func (l *link) call(ctx context.Context, name string, args any) (*sdk.CallToolResult, error) {
	select {
	case l.places <- struct{}{}:
		defer func() { <-l.places }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	session, err := l.ready(ctx)
	if err != nil {
		return nil, err
	}
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if errors.Is(err, sdk.ErrSessionMissing) {
		// The server has forgotten us and has not looked at the call.
		l.drop(session)
		if session, err = l.ready(ctx); err == nil {
			res, err = session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
		}
	}
	if errors.Is(err, sdk.ErrConnectionClosed) {
		l.drop(session)
	}
	return res, err
}

// ready gives a session, which it opens if it must.
func (l *link) ready(ctx context.Context) (*sdk.ClientSession, error) {
	for range 2 {
		l.mu.Lock()
		session := l.session
		l.mu.Unlock()
		if session != nil {
			l.refresh() // counts as use
			return session, nil
		}
		busy := l.refresh()
		if busy == nil {
			break
		}
		if err := await(ctx, busy); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != nil {
		return l.session, nil
	}
	return nil, errors.Join(errPause, l.problem)
}
