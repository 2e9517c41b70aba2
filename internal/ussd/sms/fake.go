package sms

import (
	"context"
	"slices"
	"sync"
)

// Fake is a Sender that keeps its messages, for tests and for trying things
// out. The zero value accepts everything.
type Fake struct {
	mu   sync.Mutex
	fail func(Message) error
	sent []Message
}

var _ Sender = (*Fake)(nil)

// Fail makes f judge every message before it is accepted; nil accepts all.
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

// Sent returns all accepted messages, oldest first.
func (s *Fake) Sent() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}
