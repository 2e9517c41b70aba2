// Package socketio is a server of socket.io protocol 5 on engine.io 4:
// namespaces, rooms, events with and without acknowledgement, binary values.
// Clients are socket.io-client 3 and 4 and anything that speaks like them.
//
// Packets of a socket wait until the handler of its namespace has admitted it.
// A refused client sees its connection established and then ended by the
// server, after which it does not try again. A client that does not read is
// closed; no broadcast waits for anybody. Connection state recovery is not
// offered.
package socketio

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

// The defaults of Config.
const (
	DefaultConnectTimeout = 45 * time.Second
	DefaultInboxEvents    = 128
	DefaultInboxBytes     = 1 << 20
)

// Handshake is the data a client sends when it connects.
type Handshake struct {
	Namespace  string
	Auth       json.RawMessage // an object; {} when the client gave none
	Query      url.Values      // of the first request
	RemoteAddr string          // of the first request
	Attached   any             // what Config.Attach made of it
}

// Config configures a Server. The zero value works.
type Config struct {
	// Engine configures the underlying connections. Its Open is not used.
	Engine engine.Config

	// ConnectTimeout is how long a connection may be without a namespace, and
	// how long the handler of OnConnect may take.
	ConnectTimeout time.Duration

	// InboxEvents and InboxBytes bound the events of one socket that wait for
	// its handlers. When the inbox is full nothing more is read from the
	// client.
	InboxEvents, InboxBytes int

	// Attach extracts from the first request what OnConnect will need. The
	// request itself is not kept.
	Attach func(r *http.Request) any

	// Adapter wraps the local adapter in one that carries broadcasts to other
	// instances. Nil means the local one alone.
	Adapter func(local Adapter) Adapter

	// OnPanic is called for a handler that panicked; event is "" for OnConnect,
	// where a panic is a refusal, and for OnDisconnect. It runs on the
	// goroutine that panicked, so it can take the stack. Nil ignores panics.
	OnPanic func(s *Socket, event string, value any)
}

// Server is the socket.io server. It is a handler for its path, usually
// "/socket.io/".
type Server struct {
	cfg     Config
	engine  *engine.Server
	adapter Adapter

	mu     sync.RWMutex
	spaces map[string]*Namespace
	live   map[*Socket]struct{} // all whose handlers may run
	limit  int                  // bytes of a packet with its attachments
}

// New makes a server with the namespace "/".
func New(cfg Config) *Server {
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = DefaultConnectTimeout
	}
	if cfg.InboxEvents == 0 {
		cfg.InboxEvents = DefaultInboxEvents
	}
	if cfg.InboxBytes == 0 {
		cfg.InboxBytes = DefaultInboxBytes
	}
	s := &Server{cfg: cfg, spaces: map[string]*Namespace{}, live: map[*Socket]struct{}{}}
	cfg.Engine.Open = s.open
	s.engine = engine.New(cfg.Engine)
	s.limit = 2 * s.engine.MaxPayload()
	s.adapter = local{s}
	if cfg.Adapter != nil {
		s.adapter = cfg.Adapter(s.adapter)
	}
	s.Of(mainNamespace)
	return s
}

// ServeHTTP answers a request of a client.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.engine.ServeHTTP(w, r) }

// Of returns a namespace, and makes it if it is new. Names begin with "/".
func (s *Server) Of(name string) *Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.spaces[name]
	if n == nil {
		n = &Namespace{srv: s, name: name, sockets: map[string]*Socket{}, rooms: map[string]map[*Socket]struct{}{}}
		s.spaces[name] = n
	}
	return n
}

func (s *Server) lookup(name string) *Namespace {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.spaces[name]
}

// To addresses the sockets of the namespace "/" that are in any of rooms.
func (s *Server) To(rooms ...string) Target { return s.Of(mainNamespace).To(rooms...) }

// DisconnectRoom disconnects the sockets of a room of "/", on all instances.
// Their clients do not reconnect automatically.
func (s *Server) DisconnectRoom(ctx context.Context, room string) error {
	return s.To(room).Disconnect(ctx)
}

// Conns is the number of connections of this instance.
func (s *Server) Conns() int { return s.engine.Len() }

// Drain refuses new connections and closes the others so that their clients
// reconnect elsewhere. It does not wait.
func (s *Server) Drain() { s.engine.Drain() }

// Shutdown drains and waits for connections and handlers. When ctx ends first
// it cuts the connections, ends the contexts of the handlers and returns ctx's
// error.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.engine.Shutdown(ctx)
	if err != nil {
		s.mu.RLock()
		defer s.mu.RUnlock()
		for one := range s.live {
			one.abort()
		}
	}
	return err
}

func (s *Server) track(one *Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[one] = struct{}{}
}

func (s *Server) forget(one *Socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, one)
}

// open makes the client of a new connection.
func (s *Server) open(c *engine.Conn, r *http.Request) engine.Handler {
	one := &client{srv: s, conn: c, query: r.URL.RawQuery, remote: r.RemoteAddr, limit: s.limit}
	if s.cfg.Attach != nil {
		one.attached = s.cfg.Attach(r)
	}
	one.timer = time.AfterFunc(s.cfg.ConnectTimeout, one.expire)
	return one
}

// guard runs f and reports a panic.
func (s *Server) guard(one *Socket, event string, f func()) {
	defer func() {
		if v := recover(); v != nil && s.cfg.OnPanic != nil {
			s.cfg.OnPanic(one, event, v)
		}
	}()
	f()
}
