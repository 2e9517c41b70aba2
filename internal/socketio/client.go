package socketio

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

var _ engine.Handler = (*client)(nil)

// maxAsking bounds the OnConnect that run for one connection, so that one which
// connects and leaves in a loop cannot pile them up.
const maxAsking = 4

// client is one connection with the sockets it has in namespaces.
type client struct {
	srv      *Server
	conn     *engine.Conn
	query    string
	remote   string
	attached any

	// pending is a packet whose binary messages are still to come. Only Message
	// touches it, and the engine calls that one at a time.
	pending *packet
	size    int // bytes of pending
	limit   int // and the most it may have

	mu      sync.Mutex
	sockets []*Socket // seldom more than one
	ended   []string  // namespaces the server disconnected: packets to them that were under way are no mistake
	asking  int       // OnConnect that run
	timer   *time.Timer
	closed  bool
}

// Message takes a message of the client. An error closes the connection.
func (c *client) Message(ctx context.Context, data []byte, binary bool) error {
	if binary {
		return c.attach(ctx, data)
	}
	if c.pending != nil {
		return errFormat
	}
	p, err := parse(data)
	if err != nil {
		return err
	}
	if p.attachments > 0 {
		if c.find(p.namespace) == nil && !c.wasEnded(p.namespace) {
			return errFormat
		}
		c.pending, c.size = p, len(data)
		return nil
	}
	return c.dispatch(ctx, p, len(data))
}

// attach adds a binary message to the packet that waits for it.
func (c *client) attach(ctx context.Context, data []byte) error {
	p := c.pending
	if p == nil {
		return errFormat
	}
	p.binary = append(p.binary, data)
	if c.size += len(data); c.size > c.limit {
		return errFormat
	}
	if len(p.binary) < p.attachments {
		return nil
	}
	c.pending = nil
	if err := p.assemble(); err != nil {
		return err
	}
	return c.dispatch(ctx, p, c.size)
}

func (c *client) dispatch(ctx context.Context, p *packet, size int) error {
	s := c.find(p.namespace)
	switch {
	case s == nil && p.kind == kindConnect:
		return c.connect(ctx, p)
	case s == nil && c.wasEnded(p.namespace):
	case s == nil || p.kind == kindConnect:
		return errFormat
	case p.kind == kindDisconnect:
		s.leave(ReasonClient)
	case p.kind == kindAck:
		s.answered(p)
	default:
		s.receive(ctx, p, size)
	}
	return nil
}

// connect acknowledges the client at once and then asks the namespace's handler,
// which may take its time.
func (c *client) connect(ctx context.Context, p *packet) error {
	n := c.srv.lookup(p.namespace)
	if n == nil {
		text := append(head(kindConnectError, p.namespace, 0, nil), `{"message":"Invalid namespace"}`...)
		_ = c.conn.Send(packets(text, nil)...) // a client that is gone needs no answer
		return nil
	}
	s := newSocket(n, c)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	if c.asking == maxAsking {
		c.mu.Unlock()
		return errFormat
	}
	c.asking++
	c.ended = slices.DeleteFunc(c.ended, func(name string) bool { return name == n.name })
	c.sockets = append(c.sockets, s)
	c.timer.Stop()
	c.mu.Unlock()
	c.srv.track(s)

	query, _ := url.ParseQuery(c.query) // what cannot be read is left out
	h := Handshake{Namespace: n.name, Auth: p.auth, Query: query, RemoteAddr: c.remote, Attached: c.attached}
	if len(h.Auth) == 0 {
		h.Auth = json.RawMessage("{}")
	}
	text := append(head(kindConnect, n.name, 0, nil), `{"sid":"`+s.id+`"}`...)
	_ = c.conn.Send(packets(text, nil)...) // the end of the connection reaches the socket by Closed
	c.srv.engine.Go(func() { s.begin(ctx, h) })
	return nil
}

// Closed ends the sockets of the connection.
func (c *client) Closed(reason engine.Reason) {
	c.mu.Lock()
	c.closed = true
	sockets := slices.Clone(c.sockets)
	c.timer.Stop()
	c.mu.Unlock()
	for _, s := range sockets {
		s.leave(reason)
	}
}

func (c *client) find(namespace string) *Socket {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sockets {
		if s.ns.name == namespace {
			return s
		}
	}
	return nil
}

// wasEnded reports whether the server ended the client's last socket in a
// namespace.
func (c *client) wasEnded(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.ended, namespace)
}

// begun counts an OnConnect that has returned.
func (c *client) begun() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking--
}

// drop forgets a socket. A connection without any has until the timer to make
// another.
func (c *client) drop(s *Socket, reason Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.sockets, s)
	if i < 0 {
		return // it was dropped before
	}
	if reason == ReasonServer {
		c.ended = append(c.ended, s.ns.name)
	}
	c.sockets = slices.Delete(c.sockets, i, i+1)
	if len(c.sockets) == 0 && !c.closed {
		c.timer.Reset(c.srv.cfg.ConnectTimeout)
	}
}

// expire closes a connection that joined no namespace in time.
func (c *client) expire() {
	c.mu.Lock()
	idle := len(c.sockets) == 0
	c.mu.Unlock()
	if idle {
		c.conn.Close()
	}
}
