package socketio

import (
	"context"
	"fmt"
	"slices"
)

// begin asks the namespace's handler whether to admit the socket, and then
// handles what has arrived meanwhile.
func (s *Socket) begin(ctx context.Context, h Handshake) {
	ask, cancel := context.WithTimeout(ctx, s.ns.srv.cfg.ConnectTimeout)
	s.mu.Lock()
	s.cancel = cancel
	if s.left {
		cancel()
	}
	s.mu.Unlock()
	err := s.ns.admit(ask, s, h)
	if err == nil && ask.Err() != nil && !s.gone() {
		err = fmt.Errorf("connect: %w", ask.Err())
	}
	cancel()
	s.client.begun()
	if err != nil {
		s.mu.Lock()
		s.ended, s.inbox = true, nil
		s.mu.Unlock()
		s.Disconnect()
		s.ns.srv.forget(s)
		return
	}
	s.ns.add(s)
	s.mu.Lock()
	s.admitted, s.running = true, true
	s.mu.Unlock()
	s.run(ctx)
}

func (s *Socket) gone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// receive puts an event into the inbox. While that is full it waits, and with it
// the client.
func (s *Socket) receive(ctx context.Context, p *packet, size int) {
	e := &Event{Name: p.name, Args: p.args, values: p.values, socket: s, size: size, id: p.id, wants: p.hasID}
	cfg := &s.ns.srv.cfg
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.left && (len(s.inbox) >= cfg.InboxEvents || s.size >= cfg.InboxBytes) {
		if s.space == nil {
			s.space = make(chan struct{})
		}
		space := s.space
		s.mu.Unlock()
		<-space
		s.mu.Lock()
	}
	if s.left {
		return
	}
	s.inbox = append(s.inbox, e)
	s.size += size
	s.wake(ctx)
}

// wake starts the goroutine of the handlers if it is needed and not running.
// The caller holds mu.
func (s *Socket) wake(ctx context.Context) {
	if s.admitted && !s.running && !s.ended {
		s.running = true
		s.ns.srv.engine.Go(func() { s.run(ctx) })
	}
}

// run handles what is in the inbox, one by one, and ends when it is empty: an
// idle socket has no goroutine.
func (s *Socket) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	for len(s.inbox) > 0 {
		e := s.inbox[0]
		s.inbox[0] = nil
		s.inbox = s.inbox[1:]
		s.size -= e.size
		s.makeSpace()
		h := s.handlers[e.Name]
		if h == nil {
			h = s.other
		}
		s.mu.Unlock()
		if h != nil {
			s.ns.srv.guard(s, e.Name, func() { h(ctx, e) })
		}
		s.mu.Lock()
	}
	s.inbox, s.running, s.cancel = nil, false, nil
	end := s.left && !s.ended
	s.ended = s.ended || end
	s.mu.Unlock()
	if end {
		s.finish()
	}
}

// makeSpace wakes the reader that waits. The caller holds mu.
func (s *Socket) makeSpace() {
	if s.space != nil {
		close(s.space)
		s.space = nil
	}
}

// finish runs what OnDisconnect added.
func (s *Socket) finish() {
	s.mu.Lock()
	leaving := slices.Clone(s.leaving)
	s.mu.Unlock()
	for _, f := range leaving {
		s.ns.srv.guard(s, "", func() { f(s.reason) })
	}
	s.ns.srv.forget(s)
}

// leave ends the socket, the first time it is called. What is in the inbox is
// still handled.
func (s *Socket) leave(reason Reason) {
	s.mu.Lock()
	if s.left {
		s.mu.Unlock()
		return
	}
	s.left, s.reason = true, reason
	close(s.done)
	s.makeSpace()
	if !s.admitted && s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.ns.remove(s)
	s.client.drop(s, reason)
	s.settle()
}

// settle ensures that what OnDisconnect added is run.
func (s *Socket) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.admitted || s.running || s.ended {
		return // the running goroutine does it
	}
	s.ended = true
	s.ns.srv.engine.Go(func() { s.finish() })
}

// abort ends the contexts of the socket's handlers.
func (s *Socket) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}
