package socketio_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/socketio"
)

// wire joins instances the way a bus does: as JSON, to all the others.
type wire struct {
	mu     sync.Mutex
	locals []socketio.Adapter
}

type note struct {
	Broadcast  *socketio.Broadcast `json:"broadcast,omitempty"`
	Disconnect *socketio.Address   `json:"disconnect,omitempty"`
}

func (w *wire) attach(local socketio.Adapter) socketio.Adapter {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.locals = append(w.locals, local)
	return spanning{w}
}

func (w *wire) publish(ctx context.Context, n note) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var all error
	for _, local := range w.locals {
		var n note
		if err := json.Unmarshal(raw, &n); err != nil {
			return err
		}
		if n.Broadcast != nil {
			all = errors.Join(all, local.Broadcast(ctx, *n.Broadcast))
		}
		if n.Disconnect != nil {
			all = errors.Join(all, local.Disconnect(ctx, *n.Disconnect))
		}
	}
	return all
}

type spanning struct{ wire *wire }

func (s spanning) Broadcast(ctx context.Context, b socketio.Broadcast) error {
	return s.wire.publish(ctx, note{Broadcast: &b})
}

func (s spanning) Disconnect(ctx context.Context, to socketio.Address) error {
	return s.wire.publish(ctx, note{Disconnect: &to})
}

func (s spanning) Count(ctx context.Context, to socketio.Address) (int, error) {
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	sum := 0
	for _, local := range s.wire.locals {
		n, err := local.Count(ctx, to)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func TestAdapterSpansInstances(t *testing.T) {
	t.Parallel()
	w := &wire{}
	inRoom := func(s *socketio.Socket) { s.Join("room") }
	here, url1, sockets1 := admitting(t, socketio.Config{Adapter: w.attach}, inRoom)
	there, url2, sockets2 := admitting(t, socketio.Config{Adapter: w.attach}, inRoom)
	a, b := join(t, url1, none), join(t, url2, none)
	first := wait(t, sockets1)
	wait(t, sockets2)
	if n, err := there.To("room").Count(t.Context()); n != 2 || err != nil {
		t.Errorf("Count() = %d, %v, want 2", n, err)
	}
	if err := here.To("room").Emit(t.Context(), "hi", socketio.Binary("raw"), "<é>"); err != nil {
		t.Fatal(err)
	}
	expect(t, a, `451-["hi",{"_placeholder":true,"num":0},"<é>"]`)
	expect(t, b, `451-["hi",{"_placeholder":true,"num":0},"<é>"]`)
	if got, err := b.Binary(); string(got) != "raw" || err != nil {
		t.Errorf("attachment = %q, %v", got, err)
	}
	if err := there.To("room").Except(first.ID()).Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, b, "41")
	if err := there.To("room").Emit(t.Context(), "who is left"); err != nil {
		t.Fatal(err)
	}
	expect(t, a, `42["who is left"]`)
}
