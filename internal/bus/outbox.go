package bus

import "sync"

// note is one message on its way to other instances. The zero note tells them
// that messages were lost; no message has an empty topic.
type note struct{ topic, payload string }

// outbox holds what is to be sent to other instances. It never makes anybody
// wait: equal messages become one, and when there are too many one takes the
// place of all and says that some were lost.
type outbox struct {
	wake chan struct{} // cap 1: there may be something to send

	mu    sync.Mutex
	queue []note // in order, no two equal
	held  map[note]struct{}
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), held: map[note]struct{}{}}
}

// put queues n.
func (o *outbox) put(n note) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.held[n]; ok {
		return // whoever gets it looks at the store after both
	}
	if len(o.queue) == maxQueue {
		o.reset(note{})
	} else {
		o.queue = append(o.queue, n)
		o.held[n] = struct{}{}
	}
	o.signal()
}

// fail has the others told that messages were lost, instead of what waits.
func (o *outbox) fail() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reset(note{})
	o.signal()
}

// reset leaves n alone in the queue. The caller holds mu.
func (o *outbox) reset(n note) {
	o.queue, o.held = []note{n}, map[note]struct{}{n: {}}
}

// take empties the outbox.
func (o *outbox) take() []note {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.queue
	o.queue, o.held = nil, map[note]struct{}{}
	return out
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
