package bus

import "sync"

// note is one message to other instances. The zero note means that messages
// were lost; no message has an empty topic.
type note struct{ topic, payload string }

// outbox holds messages for other instances. It never blocks: equal messages
// become one, and when there are too many they are replaced by a note that some
// were lost.
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
		return // its receivers look at the store after both
	}
	if len(o.queue) == maxQueue {
		o.reset(note{})
	} else {
		o.queue = append(o.queue, n)
		o.held[n] = struct{}{}
	}
	o.signal()
}

// fail replaces the pending messages by a note that messages were lost.
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
