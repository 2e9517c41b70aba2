package chat

import (
	"container/list"
	"slices"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

const (
	// recallBytes limits the memory for all conversations: the newest parts of
	// a few that are in progress.
	recallBytes = 4 << 20
	// messageBytes is what a message takes there besides its text.
	messageBytes = 256
)

// recall caches the newest part of conversations in the form models get it, so
// that a turn reads from the store only what was said since the one before, not
// the whole conversation each time. It holds answered turns: those never
// change, so it is valid on every instance, whichever has answered. The least
// recently used go first, and a deleted session at once.
type recall struct {
	mu    sync.Mutex
	limit int
	size  int
	drops int64                   // how often something was forgotten on purpose
	at    map[int64]*list.Element // of *told, by the number of the session
	order list.List               // the one used last in front
}

// told is the cached part of one conversation. It must not be changed.
type told struct {
	session int64
	bytes   int   // the bound of the window it comes from
	since   int64 // recall.since before it was read
	size    int
	turns   []turn // consecutive; all of them are answered
}

// turn is what was said in one turn.
type turn struct {
	number   int64
	bytes    int  // as stored
	last     int  // of them, those of its last message
	answered bool // it is over, and no longer changes
	messages []llm.Message
}

func newRecall(limit int) *recall { return &recall{limit: limit, at: map[int64]*list.Element{}} }

// since is asked before a conversation is read that is to be kept.
func (r *recall) since() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drops
}

// find returns the cached part of a session, nil for none.
func (r *recall) find(session int64) *told {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.at[session]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return e.Value.(*told) //nolint:forcetypeassert // nothing else is in it
}

// keep caches the turns of a conversation up to the first that has no answer
// yet. It does nothing when a conversation was forgotten since this one began
// to be read, because it may be the same.
func (r *recall) keep(t *told) {
	if i := slices.IndexFunc(t.turns, func(u turn) bool { return !u.answered }); i >= 0 {
		t.turns = t.turns[:i]
	}
	for _, u := range t.turns {
		t.size += u.bytes + len(u.messages)*messageBytes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drops != t.since {
		return
	}
	r.remove(r.at[t.session])
	if len(t.turns) == 0 || t.size > r.limit/4 { // one must not push out all others
		return
	}
	r.at[t.session] = r.order.PushFront(t)
	for r.size += t.size; r.size > r.limit; {
		r.remove(r.order.Back())
	}
}

// drop forgets a conversation.
func (r *recall) drop(session int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drops++
	r.remove(r.at[session])
}

// clear forgets all conversations.
func (r *recall) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drops++
	for r.order.Len() > 0 {
		r.remove(r.order.Back())
	}
}

// remove takes an element out. The caller holds mu.
func (r *recall) remove(e *list.Element) {
	if e == nil {
		return
	}
	t := r.order.Remove(e).(*told) //nolint:forcetypeassert // see find
	delete(r.at, t.session)
	r.size -= t.size
}

// messages are all that was said.
func (t *told) messages() []llm.Message {
	n := 0
	for _, u := range t.turns {
		n += len(u.messages)
	}
	out := make([]llm.Message, 0, n)
	for _, u := range t.turns {
		out = append(out, u.messages...)
	}
	return out
}

// upto is the last turn that is known.
func (t *told) upto() int64 { return t.turns[len(t.turns)-1].number }

// serves reports whether the cached part can begin a window: it was cut by the
// same bound, and the window reaches at least as far.
func (t *told) serves(w window) bool {
	return t != nil && t.bytes == w.bytes && t.upto() <= w.to
}

// join prepends the cached part to what was read after it, as far as it fits,
// by the rule of readWindow.
func (t *told) join(w window, read []turn) []turn {
	if len(read) > 0 && read[0].number > t.upto()+1 {
		return read // that was more than fits already
	}
	size := 0
	for _, u := range read {
		size += u.bytes
	}
	from := len(t.turns)
	for from > 0 {
		u := &t.turns[from-1]
		empty := len(read) == 0 && from == len(t.turns)
		if u.number < w.from || size+u.last > w.bytes && !empty {
			break
		}
		from--
		size += u.bytes
	}
	return append(slices.Clone(t.turns[from:]), read...)
}

// gather makes turns of rows, which are in order.
func gather(rows []messageRow) ([]turn, error) {
	var out []turn
	for _, r := range rows {
		said, err := unfold(r)
		if err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].number != r.turn {
			out = append(out, turn{number: r.turn})
		}
		u := &out[len(out)-1]
		u.answered = u.answered || len(u.messages) > 0
		u.messages = append(u.messages, said...)
		u.last = r.size()
		u.bytes += u.last
	}
	return out, nil
}
