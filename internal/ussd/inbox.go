package ussd

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
)

const (
	maxKeptMessages = 20   // that wait for a number
	maxKeptAnswers  = 1000 // whose messages are remembered
)

// Inbox receives the short messages of a simulated line, which has no network.
// The zero value is empty.
type Inbox struct {
	Now func() time.Time // time.Now by default

	mu      sync.Mutex
	waiting map[string][]api.SimulatedMessage // by number
	shown   map[string]shown                  // by call
}

// shown is the newest screen of a call with its messages, kept in case the same
// key press comes again.
type shown struct {
	turn     int
	messages []api.SimulatedMessage
}

var _ sms.Sender = (*Inbox)(nil)

// Send keeps a message until its number asks for it. When there are too many,
// the oldest are dropped.
func (b *Inbox) Send(_ context.Context, m sms.Message) (string, error) {
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string][]api.SimulatedMessage{}
	}
	list := append(b.waiting[m.To], api.SimulatedMessage{Text: m.Text, At: now().UTC()})
	b.waiting[m.To] = list[max(0, len(list)-maxKeptMessages):]
	return "simulated-" + m.ID, nil
}

// take gives the messages to a number that no screen has shown, and again those
// that the same screen has.
func (b *Inbox) take(number, call string, turn int) []api.SimulatedMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.waiting[number]
	delete(b.waiting, number)
	if was := b.shown[call]; was.turn == turn {
		list = slices.Concat(was.messages, list)
	}
	if len(b.shown) >= maxKeptAnswers || b.shown == nil {
		b.shown = map[string]shown{}
	}
	b.shown[call] = shown{turn, list}
	return slices.Concat([]api.SimulatedMessage{}, list)
}
