// Package socket is the oracle's socket gateway. A user's pages connect to a
// session, hear what happens in it, and run the browser tools and actions they
// have declared.
//
// It promises that a session's events reach sockets of its own user only, that
// nothing a client sends counts before its tokens are checked, that a socket
// does not outlive its tokens, that a tool's result is accepted only from the
// session and the user that were asked, that a call nobody can answer fails at
// once, and that the clients of a stopping server reconnect. Instances tell
// each other what to send to their sockets. It knows neither the model nor the
// database.
package socket

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The defaults of Config.
const (
	DefaultMaxConns      = 20_000
	DefaultMaxPerUser    = 100
	DefaultMaxPerAddress = 1_000
	DefaultCallTimeout   = 15 * time.Second
	DefaultPeerWait      = time.Second
)

const (
	// handshakeTime is how long the check of a handshake may take. The layer
	// below has twice that, so that it never refuses whom we let in.
	handshakeTime = 10 * time.Second

	// What one client may have waiting for us. A single large event passes.
	inboxEvents = 64
	inboxBytes  = 64 << 10

	maxSubscriptions = 16  // sessions of one socket
	maxMisses        = 20  // sessions a socket may ask for that are not its user's
	maxSessionID     = 200 // bytes
)

// Config configures a Hub. Handshake and Owns are required.
type Config struct {
	// Handshake identifies the sender of a handshake's tokens. A fault it returns
	// refuses the client with its message; after any other error, or one of kind
	// Unavailable, it is called again a few times. An admitted client stays as
	// long as the Guest says.
	Handshake func(ctx context.Context, invocation, delegation string) (Guest, error)
	// Owns reports whether a user has a session.
	Owns func(ctx context.Context, user, session string) (bool, error)
	// Events lists the events that plugins add to the catalogue; nil adds none.
	Events func() []string
	// Origin decides about pages by their Origin header; nil allows all.
	Origin func(origin string) bool

	// Publish sends a text about a session, or about none, to the other instances, whose
	// Receive gets it, and never blocks. Our own Receive may get it too. Nil means that
	// there are none.
	Publish func(session, text string)
	// Instance is a name that no other instance has; a random one by default.
	Instance string

	MaxConns      int // connections of this instance; negative: any number
	MaxPerUser    int // sockets of one user on this instance; negative: any number
	MaxPerAddress int // connections from one address; negative: any number

	CallTimeout time.Duration // of a tool that has none of its own
	PeerWait    time.Duration // how long other instances have to say that they hold a page
	Recheck     time.Duration // how often guests are checked whose keys can change

	Log *slog.Logger     // nil: silent
	Now func() time.Time // the clock
}

func (c *Config) setDefaults() {
	c.MaxConns = limit(c.MaxConns, DefaultMaxConns)
	c.MaxPerUser = limit(c.MaxPerUser, DefaultMaxPerUser)
	c.MaxPerAddress = limit(c.MaxPerAddress, DefaultMaxPerAddress)
	if c.CallTimeout <= 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	if c.PeerWait <= 0 {
		c.PeerWait = DefaultPeerWait
	}
	if c.Recheck <= 0 {
		c.Recheck = DefaultRecheck
	}
	if c.Instance == "" {
		c.Instance = randomHex(8)
	}
	if c.Events == nil {
		c.Events = func() []string { return nil }
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
}

// limit is n, the default for 0, and 0 for no limit.
func limit(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return max(n, 0)
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Hub holds the sockets of this instance and the calls that wait for their
// pages. It is safe for use by many goroutines.
type Hub struct {
	*register
	cfg   Config
	srv   *socketio.Server
	watch *watch
	// emit sends an event to the sockets of this instance that are in rooms.
	emit func(rooms []string, event string, payload json.RawMessage)
	// owns reports whose a session is, until endChecks is called.
	owns      func(user, session string) (bool, error)
	endChecks context.CancelFunc
	looking   atomic.Bool // a check of all sessions runs
	closed    atomic.Bool
}

// New makes a hub. ctx lasts as long as the hub is used.
func New(ctx context.Context, cfg Config) *Hub {
	cfg.setDefaults()
	rg := newRegister(&post{publish: cfg.Publish, instance: cfg.Instance, log: cfg.Log, halves: map[string]*half{}})
	h := &Hub{
		cfg: cfg, register: rg,
		watch: &watch{every: cfg.Recheck, expired: &rg.count.expired, now: cfg.Now, log: cfg.Log},
	}
	addrs := &addresses{most: cfg.MaxPerAddress, open: map[string]int{}}
	h.srv = socketio.New(socketio.Config{
		Engine:         engine.Config{MaxConns: cfg.MaxConns, Admit: addrs.admit, CheckOrigin: h.checkOrigin},
		ConnectTimeout: 2 * handshakeTime, InboxEvents: inboxEvents, InboxBytes: inboxBytes, OnPanic: h.panicked,
	})
	h.srv.Of("/").OnConnect(h.connect)
	h.emit = func(rooms []string, event string, payload json.RawMessage) {
		if err := h.srv.To(rooms...).Emit(ctx, event, payload); err != nil {
			h.cfg.Log.WarnContext(ctx, "socket event not sent", "event", event, "err", err.Error())
		}
	}
	checks, end := context.WithCancel(ctx)
	h.endChecks = end
	h.watch.ask = func(m *member) error {
		ctx, cancel := context.WithTimeout(checks, handshakeTime)
		defer cancel()
		return m.check(ctx)
	}
	h.owns = func(user, session string) (bool, error) {
		ctx, cancel := context.WithTimeout(checks, handshakeTime)
		defer cancel()
		return cfg.Owns(ctx, user, session)
	}
	return h
}

// Routes adds the gateway to the API. Its tokens arrive inside the connection,
// so the table calls it public.
func (h *Hub) Routes(a *web.API) {
	serve := func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
	a.Handle(http.MethodGet, "/socket.io/", serve, web.Doc{
		Channel: true,
		Summary: "Connect a socket.io client", Scope: web.Public, Tag: "oracle", Light: true, Produces: "text/plain",
		Description: "Engine.IO 4, polling and websocket, namespace `/`. The query names a session of the caller; the CONNECT packet carries `invocation` or `ucanDelegation`.",
		Query: []web.Param{
			{Name: "EIO", Doc: "Protocol version, 4.", Example: "4"},
			{Name: "transport", Doc: "polling or websocket.", Example: "websocket"},
			{Name: "sessionId", Doc: "A session of the caller.", Example: "$abc"},
			{Name: "sid", Doc: "The id of the connection, in all requests except the first.", Example: "lv_VI97HAXpY6yYWAAAB"},
		},
	})
	a.Handle(http.MethodPost, "/socket.io/", serve, web.Doc{
		Channel: true,
		Summary: "Send packets of a polling client", Scope: web.Public, Tag: "oracle", Light: true, Consumes: "text/plain", Produces: "text/html",
		Query: []web.Param{
			{Name: "EIO", Doc: "Protocol version, 4.", Example: "4"},
			{Name: "transport", Doc: "polling.", Example: "polling"},
			{Name: "sid", Doc: "The connection.", Example: "lv_VI97HAXpY6yYWAAAB"},
		},
	})
}

// ServeHTTP answers a request of a socket client, at /socket.io/.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.srv.ServeHTTP(w, r) }

// Drain refuses new connections and closes the others in a way that makes
// clients reconnect, here or elsewhere. It does not wait.
func (h *Hub) Drain() { h.srv.Drain() }

// Shutdown drains and waits until nothing of the hub runs. When ctx ends first
// it cuts the rest and returns ctx's error.
func (h *Hub) Shutdown(ctx context.Context) error {
	h.closed.Store(true)
	h.watch.stop()
	err := h.srv.Shutdown(ctx)
	h.tell(note{Kind: noteBye})
	h.endChecks()
	h.watch.wait()
	if err != nil {
		return fmt.Errorf("close sockets: %w", err)
	}
	return nil
}

func (h *Hub) checkOrigin(r *http.Request) bool {
	return h.cfg.Origin == nil || h.cfg.Origin(r.Header.Get("Origin"))
}

// panicked reports a panic in one of our handlers. The client is told, and
// stays connected.
func (h *Hub) panicked(s *socketio.Socket, event string, value any) {
	h.cfg.Log.Error("socket handler panicked", "event", event, "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
	if event != "" {
		_ = s.Emit(eventException, newException(event, internalText)) // it may have left
	}
}

// counters are what Stats shows and nothing else knows.
type counters struct {
	admitted, refused, expired, emitted, calls, timeouts, alone, ignored, exceptions atomic.Int64
}

// Stats are numbers for the metrics page. The last nine only grow.
type Stats struct {
	Conns, Sockets, Sessions, Pending int // now, on this instance

	Admitted   int64 // handshakes
	Refused    int64 // handshakes
	Expired    int64 // sockets sent away because their tokens ended, or lost their key
	Emitted    int64 // events for sessions that have sockets here
	Calls      int64 // of browser tools and actions
	Timeouts   int64 // calls that were not answered in time
	Alone      int64 // calls no page was there for, or left in the middle of
	Ignored    int64 // answers that belong to no call
	Exceptions int64 // events that could not be read
}

// Stats reads the numbers.
func (h *Hub) Stats() Stats {
	c := &h.count
	s := Stats{
		Conns: h.srv.Conns(), Admitted: c.admitted.Load(), Refused: c.refused.Load(), Expired: c.expired.Load(), Emitted: c.emitted.Load(), Calls: c.calls.Load(),
		Timeouts: c.timeouts.Load(), Alone: c.alone.Load(), Ignored: c.ignored.Load(), Exceptions: c.exceptions.Load(),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.users {
		s.Sockets += p.sockets
	}
	s.Sessions, s.Pending = len(h.rooms), len(h.calls)
	return s
}
