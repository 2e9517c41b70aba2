// Package engine is a server of engine.io protocol 4: connections that begin as long
// polling or websocket, upgrade from the first to the second, and are kept alive by
// pings. A connection costs one parked goroutine on websocket and none on polling; a
// writer exists only while there is something to write. Queues are bounded: a client
// that does not read is closed, and nothing waits for it.
//
// The framing of RFC 6455 is here too: a server's opening handshake, a Reader that
// joins fragments and checks what the RFC requires, and frames built ahead of time so
// that one can be sent to many. Extensions, compression among them, are not
// negotiated.
//
// The package does not interpret messages; socket.io is the package above.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The defaults of Config, which are those of socket.io 4 where it has them.
const (
	DefaultPingInterval = 25 * time.Second
	DefaultPingTimeout  = 20 * time.Second
	DefaultMaxPayload   = 1_000_000
	DefaultQueueFrames  = 4096
	DefaultQueueBytes   = 256 << 10
	DefaultBurstBytes   = 32 << 20
)

const (
	upgradeTimeout = 10 * time.Second      // from a second connection to its upgrade packet
	closeTimeout   = 5 * time.Second       // from our close to the client's
	graveTime      = time.Second           // how long a poll may trail behind the close of its client
	probeGrace     = 50 * time.Millisecond // how long a poll waits for the upgrade that overtakes it
)

// burst is how many times its bounds a queue may hold while the server has
// memory to spare.
const burst = 16

// crowd is how many times BurstBytes may wait in all before slow clients are
// closed early.
const crowd = 2

// Handler receives what a client sends. Message is called for one message at a
// time, in order.
type Handler interface {
	// Message takes a message, which it may keep. While it blocks nothing more
	// is read from this client. An error closes the connection. The context has
	// the values of the request that brought the message and never ends.
	Message(ctx context.Context, data []byte, binary bool) error
	// Closed is called once, last, possibly while Message runs.
	Closed(reason Reason)
}

// Config configures a Server. Only Open is required.
type Config struct {
	PingInterval time.Duration // silence before a ping
	PingTimeout  time.Duration // and from the ping to its answer
	MaxPayload   int           // bytes of a message, and of a polling body

	// QueueFrames and QueueBytes bound what waits for one client. Beyond either
	// the connection is closed; while all queues of the server hold less than
	// BurstBytes, only beyond sixteen times that, so that a slow line can get
	// something large. One packet beyond the bytes is always accepted.
	QueueFrames, QueueBytes, BurstBytes int

	// MaxConns bounds the connections of this server; 0 means no bound.
	MaxConns int

	// Open makes the handler of a new connection, before the client can send
	// anything. The request may be used only during this call.
	Open func(c *Conn, r *http.Request) Handler

	// Admit decides whether to accept a new connection. A fault says why not:
	// TooMany is answered 429, Unavailable 503, all others 403. release, if not
	// nil, is called when the connection has ended.
	Admit func(r *http.Request) (release func(), err error)

	// CheckOrigin decides for requests that have an Origin header; nil allows
	// all.
	CheckOrigin func(r *http.Request) bool
	// CORS writes the headers that let pages of other origins use polling.
	// Leave it off if an outer layer writes them.
	CORS bool
}

// Server is the engine.io server. It is a handler for its path and all below.
type Server struct {
	cfg     Config
	group   group
	buffers sync.Pool    // of *[joinBytes]byte, for writers at work
	waiting atomic.Int64 // weight of all queues

	mu       sync.Mutex
	conns    map[string]*Conn
	graves   map[string]struct{} // ids of conns closed by their clients a moment ago
	count    int                 // conns, and those being made
	draining bool
}

// New makes a server.
func New(cfg Config) *Server {
	setDefault(&cfg.PingInterval, DefaultPingInterval)
	setDefault(&cfg.PingTimeout, DefaultPingTimeout)
	setDefault(&cfg.MaxPayload, DefaultMaxPayload)
	setDefault(&cfg.QueueFrames, DefaultQueueFrames)
	setDefault(&cfg.QueueBytes, DefaultQueueBytes)
	setDefault(&cfg.BurstBytes, DefaultBurstBytes)
	return &Server{
		cfg: cfg, conns: map[string]*Conn{}, graves: map[string]struct{}{},
		buffers: sync.Pool{New: func() any { return new([joinBytes]byte) }},
	}
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Len is the number of open connections.
func (s *Server) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// MaxPayload is the limit of Config, or its default.
func (s *Server) MaxPayload() int { return s.cfg.MaxPayload }

// Go runs f in a goroutine that Shutdown waits for.
func (s *Server) Go(f func()) {
	s.group.add(1)
	go func() {
		defer s.group.add(-1)
		f()
	}()
}

// Drain refuses new connections and closes all others so that their clients
// reconnect, here or elsewhere. It does not wait.
func (s *Server) Drain() {
	for _, c := range s.all(true) {
		c.shut()
	}
}

// Shutdown drains, and waits until no connection and no goroutine of the server
// is left. When ctx ends first it cuts the connections and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Drain()
	err := s.group.wait(ctx)
	if err != nil {
		for _, c := range s.all(true) {
			c.finish(ReasonShutdown, 0)
		}
	}
	return err
}

func (s *Server) all(drain bool) []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = s.draining || drain
	out := make([]*Conn, 0, len(s.conns))
	for _, c := range s.conns {
		out = append(out, c)
	}
	return out
}

// reserve counts a connection that is about to be made.
func (s *Server) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || s.cfg.MaxConns > 0 && s.count >= s.cfg.MaxConns {
		return false
	}
	s.count++
	s.group.add(1) // Shutdown waits for it, also before its goroutines run
	return true
}

// add makes a reserved connection known, unless the server began to drain.
func (s *Server) add(c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		s.count--
		s.group.add(-1)
		return false
	}
	s.conns[c.id] = c
	return true
}

func (s *Server) remove(c *Conn, bury bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c.id] != c {
		return
	}
	delete(s.conns, c.id)
	s.count--
	s.group.add(-1)
	if bury {
		s.graves[c.id] = struct{}{}
		time.AfterFunc(graveTime, func() { s.dig(c.id) })
	}
}

// dig removes a grave and reports whether there was one.
func (s *Server) dig(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.graves[id]
	delete(s.graves, id)
	return ok
}

func (s *Server) find(id string) *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[id]
}

// NewID makes an unguessable id of 20 characters.
func NewID() string {
	var b [15]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// openPacket tells the client the parameters of the connection.
func (s *Server) openPacket(c *Conn) Packet {
	upgrades := []string{}
	if c.mode == polling {
		upgrades = append(upgrades, string(websocket))
	}
	data, err := json.Marshal(struct {
		SID          string   `json:"sid"`
		Upgrades     []string `json:"upgrades"`
		PingInterval int64    `json:"pingInterval"`
		PingTimeout  int64    `json:"pingTimeout"`
		MaxPayload   int      `json:"maxPayload"`
	}{c.id, upgrades, s.cfg.PingInterval.Milliseconds(), s.cfg.PingTimeout.Milliseconds(), s.cfg.MaxPayload})
	if err != nil {
		panic(err) // strings and numbers always have a JSON form
	}
	return control(typeOpen, string(data))
}

// group counts goroutines. Unlike a sync.WaitGroup it may grow from zero while
// it is waited for, as happens when a timer fires on an idle connection.
type group struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n falls to 0; nil when nothing waits
}

func (g *group) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n += n
	if g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

func (g *group) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	zero := g.zero
	g.mu.Unlock()
	select {
	case <-zero:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
