package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

// Reason says why a socket ended.
type Reason = engine.Reason

// The reasons besides those of the engine.
const (
	ReasonClient Reason = "client namespace disconnect"
	ReasonServer Reason = "server namespace disconnect"
)

// ErrDisconnected means that the socket has ended.
var ErrDisconnected = errors.New("the socket is disconnected")

// Handler handles an event. Those of one socket run one at a time, in the order
// of their events, and every event that arrived is handled even if its client
// has left. So ctx does not end with the socket: it has the values of the
// request that brought the event and ends when Shutdown gives up. Long work
// belongs in a goroutine of its owner.
type Handler func(ctx context.Context, e *Event)

// Event is what a client sent.
type Event struct {
	Name string
	Args []json.RawMessage // valid JSON; binary values are {"_placeholder":true,"num":n}

	socket *Socket
	values []any
	size   int
	id     uint64
	wants  bool
	acked  atomic.Bool
}

// Values returns the arguments with binary ones in place, as Binary at any
// depth, ready to be sent on. Without binary ones they are the same raw JSON as
// Args.
func (e *Event) Values() []any {
	if e.values != nil {
		return e.values
	}
	out := make([]any, len(e.Args))
	for i, arg := range e.Args {
		out[i] = arg
	}
	return out
}

// WantsAck reports whether the client waits for an acknowledgement.
func (e *Event) WantsAck() bool { return e.wants }

// Ack acknowledges the event, the first time it is called and if the client
// wants it.
func (e *Event) Ack(args ...any) error {
	if !e.wants || e.acked.Swap(true) {
		return nil
	}
	text, binary, err := encode(nil, args)
	if err != nil {
		return fmt.Errorf("acknowledge %s: %w", e.Name, err)
	}
	return e.socket.send(kindAck, &e.id, text, binary)
}

// Socket is one client in one namespace. Its methods may be called from any
// goroutine.
type Socket struct {
	ns     *Namespace
	client *client
	id     string
	done   chan struct{}

	rooms []string // under the namespace's mu

	mu       sync.Mutex
	handlers map[string]Handler
	other    Handler
	leaving  []func(Reason)
	data     any

	admitted bool // OnConnect let it in
	left     bool
	ended    bool // handlers and leaving have run
	reason   Reason
	running  bool // a goroutine takes from inbox
	cancel   context.CancelFunc
	inbox    []*Event
	size     int           // bytes of inbox
	space    chan struct{} // closed when the inbox has shrunk; nil when nothing waits

	lastAck uint64
	acks    map[uint64]chan *Event
}

func newSocket(n *Namespace, c *client) *Socket {
	return &Socket{ns: n, client: c, id: engine.NewID(), done: make(chan struct{})}
}

// ID is the public name of the socket. It can be addressed like a room.
func (s *Socket) ID() string { return s.id }

// Namespace is the name of the socket's namespace.
func (s *Socket) Namespace() string { return s.ns.name }

// Done is closed when the socket has ended.
func (s *Socket) Done() <-chan struct{} { return s.done }

// Data returns what SetData stored.
func (s *Socket) Data() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data
}

// SetData stores a value with the socket.
func (s *Socket) SetData(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = v
}

// On sets the handler of an event. Set handlers in OnConnect: no event is
// handled before it has returned.
func (s *Socket) On(event string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handlers == nil {
		s.handlers = map[string]Handler{}
	}
	s.handlers[event] = h
}

// OnOther sets the handler of all events without one of their own.
func (s *Socket) OnOther(h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = h
}

// OnDisconnect adds a function that runs once after the socket's last event, if
// OnConnect has admitted it.
func (s *Socket) OnDisconnect(f func(Reason)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = append(s.leaving, f)
}

// Emit sends an event. It never blocks: a client that does not read is closed.
// An error means that the event will not arrive; without an error it still may
// not.
func (s *Socket) Emit(event string, args ...any) error {
	text, binary, err := encode(&event, args)
	if err != nil {
		return fmt.Errorf("emit %s: %w", event, err)
	}
	return s.send(kindEvent, nil, text, binary)
}

// Call sends an event and waits for its acknowledgement, whose arguments it
// returns, until ctx or the socket ends. While a handler of the same socket
// waits, its other events wait too, so ctx should have a deadline.
func (s *Socket) Call(ctx context.Context, event string, args ...any) (*Event, error) {
	text, binary, err := encode(&event, args)
	if err != nil {
		return nil, fmt.Errorf("emit %s: %w", event, err)
	}
	answer := make(chan *Event, 1)
	s.mu.Lock()
	id := s.lastAck
	s.lastAck++
	if s.acks == nil {
		s.acks = map[uint64]chan *Event{}
	}
	s.acks[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.acks, id)
		s.mu.Unlock()
	}()
	if err := s.send(kindEvent, &id, text, binary); err != nil {
		return nil, err
	}
	select {
	case e := <-answer:
		e.Name = event
		return e, nil
	case <-s.done:
		return nil, ErrDisconnected
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the acknowledgement of %s: %w", event, ctx.Err())
	}
}

func (s *Socket) send(k kind, id *uint64, text []byte, binary [][]byte) error {
	select {
	case <-s.done:
		return ErrDisconnected
	default:
	}
	return s.client.conn.Send(packets(append(head(k, s.ns.name, len(binary), id), text...), binary)...)
}

// answered passes an acknowledgement to the waiting Call. One without a waiting
// Call came too late.
func (s *Socket) answered(p *packet) {
	s.mu.Lock()
	answer := s.acks[p.id]
	delete(s.acks, p.id)
	s.mu.Unlock()
	if answer != nil {
		answer <- &Event{Args: p.args, values: p.values, socket: s}
	}
}

// Join adds the socket to rooms. For one that has ended it does nothing.
func (s *Socket) Join(rooms ...string) { s.ns.join(s, rooms) }

// Leave removes the socket from rooms.
func (s *Socket) Leave(rooms ...string) { s.ns.leave(s, rooms) }

// Rooms lists the rooms the socket is in.
func (s *Socket) Rooms() []string {
	s.ns.mu.RLock()
	defer s.ns.mu.RUnlock()
	return slices.Clone(s.rooms)
}

// Disconnect removes the socket from its namespace. The client does not
// reconnect automatically.
func (s *Socket) Disconnect() {
	// First, because a client that is told may connect again at once.
	s.client.drop(s, ReasonServer)
	_ = s.send(kindDisconnect, nil, nil, nil) // who is gone needs no word
	s.leave(ReasonServer)
}

// Close disconnects all sockets of the client and closes its connection.
func (s *Socket) Close() {
	s.client.mu.Lock()
	sockets := slices.Clone(s.client.sockets)
	s.client.mu.Unlock()
	for _, one := range sockets {
		one.Disconnect()
	}
	s.client.conn.Close()
}
