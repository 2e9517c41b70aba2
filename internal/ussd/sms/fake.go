package sms

import (
	"context"
	"slices"
	"sync"
)

// Fake is a Sender that keeps what it was given. The zero value takes
// everything; it is for tests and for trying things out.
type Fake struct {
	mu   sync.Mutex
	fail func(Message) error
	sent []Message
}

var _ Sender = (*Fake)(nil)

// Fail has f judge every message before it is taken; nil takes all.
func (s *Fake) Fail(f func(Message) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

// Send keeps a message.
func (s *Fake) Send(_ context.Context, m Message) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(m); err != nil {
			return "", err
		}
	}
	s.sent = append(s.sent, m)
	return "fake-" + m.ID, nil
}

// Sent gives all messages taken so far, oldest first.
func (s *Fake) Sent() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}
