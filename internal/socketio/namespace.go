package socketio

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// OnConnect decides about a client that connects: it authenticates it, sets
// handlers, joins rooms, and may take its time. An error refuses the client; emit
// the reason, if the client should know it, before. The context ends when the
// client leaves.
type OnConnect func(ctx context.Context, s *Socket, h Handshake) error

// errPanic refuses a client whose OnConnect panicked.
var errPanic = errors.New("OnConnect panicked")

// Namespace is a set of sockets with their rooms.
type Namespace struct {
	srv  *Server
	name string

	mu      sync.RWMutex
	connect OnConnect
	sockets map[string]*Socket // those let in
	rooms   map[string]map[*Socket]struct{}
}

// OnConnect sets the function that decides about clients; without one all are
// admitted. Set it before the server is used.
func (n *Namespace) OnConnect(f OnConnect) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connect = f
}

// To addresses the sockets that are in any of rooms. The id of a socket is a
// room too. Without rooms it addresses none.
func (n *Namespace) To(rooms ...string) Target {
	return Target{srv: n.srv, to: Address{Namespace: n.name, Rooms: rooms}}
}

// Everyone addresses all sockets of the namespace.
func (n *Namespace) Everyone() Target {
	return Target{srv: n.srv, to: Address{Namespace: n.name, Everyone: true}}
}

func (n *Namespace) admit(ctx context.Context, s *Socket, h Handshake) error {
	n.mu.RLock()
	f := n.connect
	n.mu.RUnlock()
	if f == nil {
		return nil
	}
	err := errPanic
	n.srv.guard(s, "", func() { err = f(ctx, s, h) })
	return err
}

// add makes a socket reachable that has been let in and not left.
func (n *Namespace) add(s *Socket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !s.closed() {
		n.sockets[s.id] = s
	}
}

func (s *Socket) closed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// remove takes a socket out of everything.
func (n *Namespace) remove(s *Socket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sockets, s.id)
	for _, room := range s.rooms {
		n.leaveRoom(s, room)
	}
	s.rooms = nil
}

func (n *Namespace) join(s *Socket, rooms []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.closed() {
		return
	}
	for _, room := range rooms {
		if slices.Contains(s.rooms, room) {
			continue
		}
		s.rooms = append(s.rooms, room)
		if n.rooms[room] == nil {
			n.rooms[room] = map[*Socket]struct{}{}
		}
		n.rooms[room][s] = struct{}{}
	}
}

func (n *Namespace) leave(s *Socket, rooms []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, room := range rooms {
		if i := slices.Index(s.rooms, room); i >= 0 {
			s.rooms = slices.Delete(s.rooms, i, i+1)
			n.leaveRoom(s, room)
		}
	}
}

// leaveRoom removes a socket from a room, and a room that is empty. The caller
// holds mu.
func (n *Namespace) leaveRoom(s *Socket, room string) {
	delete(n.rooms[room], s)
	if len(n.rooms[room]) == 0 {
		delete(n.rooms, room)
	}
}

// members lists the sockets an address reaches, each once.
func (n *Namespace) members(to Address) []*Socket {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var out []*Socket
	if to.Everyone {
		out = make([]*Socket, 0, len(n.sockets))
		for _, s := range n.sockets {
			out = append(out, s)
		}
	} else {
		out = n.inRooms(to.Rooms)
	}
	if len(to.Except) == 0 {
		return out
	}
	return slices.DeleteFunc(out, func(s *Socket) bool { return n.excepted(s, to.Except) })
}

// inRooms lists the sockets in any of rooms, each once. The caller holds mu.
func (n *Namespace) inRooms(rooms []string) []*Socket {
	var out []*Socket
	for _, room := range rooms {
		out = slices.Grow(out, len(n.rooms[room])+1)
		if s := n.sockets[room]; s != nil {
			out = append(out, s)
		}
		for s := range n.rooms[room] {
			out = append(out, s)
		}
	}
	if len(rooms) < 2 && len(out) <= len(n.rooms[firstOf(rooms)]) {
		return out
	}
	seen := make(map[*Socket]struct{}, len(out))
	return slices.DeleteFunc(out, func(s *Socket) bool {
		_, twice := seen[s]
		seen[s] = struct{}{}
		return twice
	})
}

func firstOf(rooms []string) string {
	if len(rooms) == 0 {
		return ""
	}
	return rooms[0]
}

// excepted reports whether a socket is in one of the rooms that are left out. The
// caller holds mu.
func (n *Namespace) excepted(s *Socket, except []string) bool {
	for _, room := range except {
		if _, in := n.rooms[room][s]; in || room == s.id {
			return true
		}
	}
	return false
}
