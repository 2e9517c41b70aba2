package socket

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of messages between instances.
const (
	maxPart    = 6 << 10   // bytes of one message; the bus takes 7 KiB
	maxWhole   = 512 << 10 // bytes of one that is sent in parts
	maxHalves  = 64        // messages that have not come whole
	callGrace  = 5 * time.Second
	partMark   = "part "
	partFields = 4
)

// Kinds of notes.
const (
	noteHello  = "hello"  // a new instance asks who else is there
	noteHere   = "here"   // I am
	noteBye    = "bye"    // I stop
	noteEmit   = "emit"   // an event for a session
	noteDrop   = "drop"   // a session is gone
	noteCall   = "call"   // a call of a tool: which of you has pages?
	noteTaken  = "taken"  // the page has received the call
	noteNone   = "none"   // I have not
	noteGone   = "gone"   // mine have left
	noteAnswer = "answer" // a page has answered
	noteOver   = "over"   // no answer is wanted any longer
)

// note is a message from one instance to all others, or to one.
type note struct {
	From      string         `json:"from"`
	Seq       uint64         `json:"seq"` // makes notes differ: of equal ones the bus may drop some
	To        string         `json:"to,omitzero"`
	Kind      string         `json:"kind"`
	ID        string         `json:"id,omitzero"` // of a call
	User      string         `json:"user,omitzero"`
	Session   string         `json:"session,omitzero"`
	Event     string         `json:"event,omitzero"`
	TimeoutMS int64          `json:"timeoutMs,omitzero"`
	Payload   jsontext.Value `json:"payload,omitzero"`
}

// post carries notes between instances.
type post struct {
	publish  func(session, text string) // nil: there are no others
	instance string                     // our own name
	log      *slog.Logger
	seq      atomic.Uint64

	mu     sync.Mutex
	halves map[string]*half // messages of peers that have not come whole
}

// tell sends a note to the other instances. The caller holds no lock.
func (p *post) tell(n note) {
	if p.publish == nil {
		return
	}
	n.From, n.Seq = p.instance, p.seq.Add(1)
	text, err := jsonx.Marshal(n, jsontext.AllowInvalidUTF8(true))
	if err != nil || len(text) > maxWhole {
		p.log.Warn("other instances not told", "kind", n.Kind, "event", n.Event, "size", len(text), "err", fmt.Sprint(err))
		return
	}
	if len(text) <= maxPart {
		p.publish(n.Session, string(text))
		return
	}
	parts := split(string(text))
	for i, part := range parts {
		p.publish(n.Session, fmt.Sprintf("%s%s %d %d %d\n%s", partMark, n.From, n.Seq, i, len(parts), part))
	}
}

// split cuts a text into parts of at most maxPart bytes, between characters.
func split(text string) []string {
	var out []string
	for len(text) > maxPart {
		end := maxPart
		for end > maxPart-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		out = append(out, text[:end])
		text = text[end:]
	}
	return append(out, text)
}

// half is a message of which parts are missing.
type half struct {
	parts []string
	got   int
	seq   uint64 // of arrival, to drop the oldest
}

// whole collects the parts of a message and gives it once it is complete.
func (p *post) whole(text string) (string, bool) {
	head, part, _ := strings.Cut(strings.TrimPrefix(text, partMark), "\n")
	fields := strings.Fields(head)
	if len(fields) != partFields || fields[0] == p.instance {
		return "", false
	}
	i, err1 := strconv.Atoi(fields[2])
	n, err2 := strconv.Atoi(fields[3])
	if err1 != nil || err2 != nil || i < 0 || i >= n || n > maxWhole/(maxPart-utf8.UTFMax)+1 {
		return "", false
	}
	key := fields[0] + " " + fields[1]
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.halves[key]
	if m == nil {
		p.makeRoom()
		m = &half{parts: make([]string, n), seq: p.seq.Add(1)}
		p.halves[key] = m
	}
	if len(m.parts) != n || m.parts[i] != "" || part == "" {
		return "", false
	}
	m.parts[i] = part
	if m.got++; m.got < n {
		return "", false
	}
	delete(p.halves, key)
	return strings.Join(m.parts, ""), true
}

// makeRoom drops the oldest incomplete message. The caller holds mu.
func (p *post) makeRoom() {
	if len(p.halves) < maxHalves {
		return
	}
	oldest := ""
	for key, m := range p.halves {
		if oldest == "" || m.seq < p.halves[oldest].seq {
			oldest = key
		}
	}
	delete(p.halves, oldest)
}

// read returns the note of another instance, once all of it has arrived.
func (p *post) read(ctx context.Context, text string) (n note, ok bool) {
	if strings.HasPrefix(text, partMark) {
		if text, ok = p.whole(text); !ok {
			return note{}, false
		}
	}
	if err := jsonx.Unmarshal([]byte(text), &n); err != nil || n.From == "" {
		p.log.WarnContext(ctx, "note of another instance not read", "size", len(text))
		return note{}, false
	}
	return n, n.From != p.instance
}

// Greet announces this instance to the others. Call it once Receive gets what
// they publish.
func (h *Hub) Greet() { h.tell(note{Kind: noteHello}) }

// Receive takes a message of another instance. missed means that messages were
// lost, so anything may have happened. It does not block.
func (h *Hub) Receive(ctx context.Context, text string, missed bool) {
	if missed {
		h.Greet()
		h.checkSoon()
		return
	}
	n, ok := h.read(ctx, text)
	if !ok {
		return
	}
	h.meet(n)
	if n.To == "" || n.To == h.instance {
		h.hear(n)
	}
}

// checkSoon looks at all sessions, once at a time.
func (h *Hub) checkSoon() {
	if !h.looking.CompareAndSwap(false, true) {
		return
	}
	begun := h.watch.begin(func() {
		h.checkAll()
		h.looking.Store(false)
	})
	if !begun {
		h.looking.Store(false)
	}
}

// meet records another instance. When one stops, its part in calls ends too.
func (rg *register) meet(n note) {
	rg.locked(func() {
		if n.Kind != noteBye {
			rg.peers[n.From] = struct{}{}
			return
		}
		delete(rg.peers, n.From)
		for _, c := range rg.calls {
			if c.origin == "" {
				delete(c.asked, n.From)
				delete(c.takers, n.From)
				rg.settle(c)
			}
		}
	})
}

// hear carries out a note.
func (h *Hub) hear(n note) {
	switch n.Kind {
	case noteHello:
		h.tell(note{Kind: noteHere, To: n.From})
	case noteEmit:
		if h.inhabited(n.User, n.Session) && !reserved(n.Event) {
			h.deliver(n.Session, n.Event, n.Payload)
		}
	case noteDrop:
		h.drop(n.User, n.Session)
	case noteCall:
		h.borrow(n)
	case noteTaken, noteNone, noteGone, noteAnswer:
		h.heardOf(n)
	case noteOver:
		h.locked(func() {
			if c := h.calls[n.ID]; c != nil && c.origin == n.From {
				h.forget(c)
			}
		})
	}
}

// borrow shows a call of another instance to the pages here.
func (h *Hub) borrow(n note) {
	c := &call{id: n.ID, user: n.User, session: n.Session, event: n.Event, origin: n.From, local: true}
	held := false
	h.locked(func() {
		r := h.rooms[n.Session]
		if h.calls[n.ID] != nil || r == nil || r.user != n.User || !r.listens(n.Event) || h.closed.Load() {
			return
		}
		held = true
		h.calls[c.id] = c
		r.expect(c)
		c.timer = time.AfterFunc(time.Duration(n.TimeoutMS)*time.Millisecond+callGrace, func() { h.locked(func() { h.forget(c) }) })
	})
	if !held {
		h.tell(note{Kind: noteNone, ID: n.ID, To: n.From})
		return
	}
	h.tell(note{Kind: noteTaken, ID: n.ID, To: n.From})
	h.emit(listeningRooms(n.Session, n.Event), n.Event, json.RawMessage(n.Payload))
}

// heardOf takes what an instance says about a call of ours.
func (rg *register) heardOf(n note) {
	rg.locked(func() {
		c := rg.calls[n.ID]
		if c == nil || c.origin != "" {
			if n.Kind == noteTaken { // too late
				rg.notes = append(rg.notes, note{Kind: noteOver, ID: n.ID, To: n.From})
			}
			return
		}
		delete(c.asked, n.From)
		switch n.Kind {
		case noteTaken:
			c.takers[n.From], c.heard = struct{}{}, true
		case noteAnswer:
			var a answer
			if c.user == n.User && c.session == n.Session && jsonx.Unmarshal(n.Payload, &a) == nil {
				delete(c.takers, n.From)
				rg.finish(c, a.output(c.event))
			}
		default:
			delete(c.takers, n.From)
			rg.settle(c)
		}
	})
}
