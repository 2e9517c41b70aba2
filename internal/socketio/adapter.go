package socketio

import (
	"context"
	"fmt"
)

// Address selects sockets of a namespace: all, or those in any of Rooms, in
// both cases without those in any of Except. It has a JSON form, for adapters.
type Address struct {
	Namespace string   `json:"namespace"`
	Everyone  bool     `json:"everyone,omitempty"`
	Rooms     []string `json:"rooms,omitempty"`
	Except    []string `json:"except,omitempty"`
}

// Broadcast is an event for many sockets, encoded once.
type Broadcast struct {
	Address
	Text   string   `json:"text"`             // the socket.io packet
	Binary [][]byte `json:"binary,omitempty"` // what follows it
}

// Adapter carries broadcasts to wherever sockets are. One that spans instances
// wraps the local one: it calls the local one, tells the other instances, and
// calls the local one for what they send.
type Adapter interface {
	// Broadcast sends an event. It waits for no client.
	Broadcast(ctx context.Context, b Broadcast) error
	// Disconnect disconnects sockets.
	Disconnect(ctx context.Context, to Address) error
	// Count counts sockets.
	Count(ctx context.Context, to Address) (int, error)
}

// Target is the target of an event; To and Everyone make one.
type Target struct {
	srv *Server
	to  Address
}

// Except excludes the sockets that are in any of rooms, or have that id.
func (t Target) Except(rooms ...string) Target {
	t.to.Except = append(t.to.Except[:len(t.to.Except):len(t.to.Except)], rooms...)
	return t
}

// Emit sends an event to the target, on all instances. It waits for no client.
func (t Target) Emit(ctx context.Context, event string, args ...any) error {
	text, binary, err := encode(&event, args)
	if err != nil {
		return fmt.Errorf("emit %s: %w", event, err)
	}
	text = append(head(kindEvent, t.to.Namespace, len(binary), nil), text...)
	return t.srv.adapter.Broadcast(ctx, Broadcast{Address: t.to, Text: string(text), Binary: binary})
}

// Disconnect disconnects the target's sockets, on all instances. Their clients
// do not reconnect automatically.
func (t Target) Disconnect(ctx context.Context) error { return t.srv.adapter.Disconnect(ctx, t.to) }

// Count counts the target's sockets that the adapter sees.
func (t Target) Count(ctx context.Context) (int, error) { return t.srv.adapter.Count(ctx, t.to) }

// local is the adapter of one process.
type local struct{ srv *Server }

var _ Adapter = local{}

func (l local) members(to Address) []*Socket {
	n := l.srv.lookup(to.Namespace)
	if n == nil {
		return nil
	}
	return n.members(to)
}

func (l local) Broadcast(_ context.Context, b Broadcast) error {
	members := l.members(b.Address)
	if len(members) == 0 {
		return nil
	}
	out := packets([]byte(b.Text), b.Binary)
	for _, s := range members {
		_ = s.client.conn.Send(out...) // one that does not read is closed, the others are served
	}
	return nil
}

func (l local) Disconnect(_ context.Context, to Address) error {
	for _, s := range l.members(to) {
		s.Disconnect()
	}
	return nil
}

func (l local) Count(_ context.Context, to Address) (int, error) {
	return len(l.members(to)), nil
}
