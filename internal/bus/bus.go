// Package bus carries wake-ups: short messages that say "look at the store,
// something is new" from one goroutine to others, in this process (New), in all
// instances on one PostgreSQL (NewPostgres), or in those on NATS servers
// (NewNATS). Messages have a subject: a kind, a dot and the instance of that
// kind, as in events.<workspace>. The bus promises speed, not delivery: what
// must not be lost is a row. When messages were lost, because a connection
// broke or a subscriber was slow, the subscriber is told so and looks at
// everything.
//
// Changes tells all processes on one PostgreSQL about changes to rows that they
// cache in some form: keys, groups, forms, protocols, rules. It promises that
// such a change is answered when no process can use the earlier state any more.
// Each topic has a version, a row that the transaction of the change raises, and
// a note that goes out with the commit. A process that learns of a version drops
// what it keeps and confirms; it also reads the versions each second, so a lost
// note costs a second. The change waits for all live processes to confirm. A
// process that has not confirmed for as long as a cache.Lease lasts has stopped
// using its cache on its own. On SQLite there is one process: nothing is raised,
// read or waited for.
package bus

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// The limits of a message, in bytes.
const (
	MaxTopic   = 200
	MaxPayload = 64 << 10
)

// Bus carries messages from publishers to subscribers of a topic.
type Bus interface {
	// Publish sends payload to all subscribers of topic, the caller's own
	// included. It never waits for them or for a network. Never call it inside
	// a write transaction: wake-ups follow the commit.
	Publish(ctx context.Context, topic, payload string) error
	// Subscribe calls f for every message on topic, one at a time and in order
	// of arrival, on a goroutine of its own. A topic such as "events.*" means
	// all of that kind. No call begins after cancel has returned.
	Subscribe(topic string, f func(Message)) (cancel func())
	// Close ends all subscriptions and waits for calls that are running. It
	// must not be called from a subscriber.
	Close()
}

// Which is the part of the topic after the dot.
func (m Message) Which() string {
	_, which, _ := strings.Cut(m.Topic, ".")
	return which
}

// Message is one wake-up.
type Message struct {
	Topic   string
	Payload string
	// Missed means that messages were lost: Topic and Payload are "", and anything
	// may be new.
	Missed bool
}

var (
	_ Bus = (*Local)(nil)
	_ Bus = (*Postgres)(nil)
)

// checkMessage refuses what PostgreSQL could not carry, on every kind of bus,
// so that a program does not fail only where it is hard to see.
func checkMessage(topic, payload string) error {
	switch {
	case topic == "" || len(topic) > MaxTopic || strings.ContainsAny(topic, "\n\x00") || !utf8.ValidString(topic):
		return fmt.Errorf("publish: topic %q is not 1 to %d bytes of one line", topic, MaxTopic)
	case len(payload) > MaxPayload:
		return fmt.Errorf("publish on %s: %d bytes, at most %d", topic, len(payload), MaxPayload)
	case !utf8.ValidString(payload) || strings.ContainsRune(payload, 0):
		return fmt.Errorf("publish on %s: the payload is not UTF-8 text without U+0000", topic)
	}
	return nil
}

// Local is a bus within this process.
type Local struct {
	mu     sync.Mutex
	topics map[string]map[*subscriber]struct{}
	closed bool
	wg     sync.WaitGroup
}

// New makes a bus within this process.
func New() *Local {
	return &Local{topics: map[string]map[*subscriber]struct{}{}}
}

// Publish sends a message to this process's subscribers. It fails only for a
// message over the limits.
func (l *Local) Publish(_ context.Context, topic, payload string) error {
	if err := checkMessage(topic, payload); err != nil {
		return err
	}
	l.deliver(topic, payload)
	return nil
}

func (l *Local) deliver(topic, payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := Message{Topic: topic, Payload: payload}
	for s := range l.topics[topic] {
		s.put(m)
	}
	if kind, _, ok := strings.Cut(topic, "."); ok {
		for s := range l.topics[kind+".*"] {
			s.put(m)
		}
	}
}

// missed tells every subscriber that messages were lost.
func (l *Local) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, subs := range l.topics {
		for s := range subs {
			s.put(Message{Missed: true})
		}
	}
}

// Subscribe calls f for every message on topic. On a closed bus it does
// nothing.
func (l *Local) Subscribe(topic string, f func(Message)) (cancel func()) {
	s := newSubscriber(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return func() {}
	}
	if l.topics[topic] == nil {
		l.topics[topic] = map[*subscriber]struct{}{}
	}
	l.topics[topic][s] = struct{}{}
	l.wg.Go(s.run)
	return func() { l.unsubscribe(topic, s) }
}

func (l *Local) unsubscribe(topic string, s *subscriber) {
	l.mu.Lock()
	delete(l.topics[topic], s)
	if len(l.topics[topic]) == 0 {
		delete(l.topics, topic)
	}
	l.mu.Unlock()
	s.stop()
}

// Close ends all subscriptions and waits for running calls.
func (l *Local) Close() {
	l.mu.Lock()
	l.closed = true
	for _, subs := range l.topics {
		for s := range subs {
			s.stop()
		}
	}
	clear(l.topics)
	l.mu.Unlock()
	l.wg.Wait()
}
