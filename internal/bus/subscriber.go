package bus

import "sync"

// maxQueue limits the messages waiting for a slow subscriber. Beyond that it is
// told that it missed some, which is just as useful.
const maxQueue = 1024

// subscriber calls its function for one message after the other.
type subscriber struct {
	f    func(Message)
	wake chan struct{} // cap 1: there may be something to do

	mu      sync.Mutex
	queue   []Message
	stopped bool
}

func newSubscriber(f func(Message)) *subscriber {
	return &subscriber{f: f, wake: make(chan struct{}, 1)}
}

// put queues m and never waits.
func (s *subscriber) put(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	if m.Missed || len(s.queue) == maxQueue {
		// Whatever waits is part of "anything may be new".
		s.queue = append(s.queue[:0], Message{Missed: true})
	} else {
		s.queue = append(s.queue, m)
	}
	s.signal()
}

func (s *subscriber) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped, s.queue = true, nil
	s.signal()
}

func (s *subscriber) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run delivers until the subscriber is stopped.
func (s *subscriber) run() {
	for range s.wake {
		for {
			m, ok, stopped := s.next()
			if stopped {
				return
			}
			if !ok {
				break
			}
			s.f(m)
		}
	}
}

// next takes the oldest message.
func (s *subscriber) next() (m Message, ok, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || len(s.queue) == 0 {
		return Message{}, false, s.stopped
	}
	m = s.queue[0]
	s.queue = s.queue[1:]
	return m, true, false
}
