package run

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

// The limits of what a run holds in memory.
const (
	keepBytes  = 64 << 10  // stored frames, for readers that are not far behind
	maxPending = 256 << 10 // bytes of frames not stored yet; beyond that emitting blocks
	maxText    = 8 << 10   // of a piece of text in one frame
	maxRow     = 4 << 10   // of a segment of several frames; one frame may be larger
)

// flushBeat is the beat on which text is stored.
const flushBeat = 25 * time.Millisecond

// Run is a run in progress in this process. Its methods may be called by many
// goroutines.
type Run struct {
	cfg       *Config
	nid       int64
	id        string
	user      string
	session   string
	requestID string
	since     int64 // ms: when it began
	stopWork  context.CancelCauseFunc
	closing   <-chan struct{} // closed when the server stops
	kick      chan struct{}   // cap 1: there is something to store
	done      chan struct{}   // closed when the run has ended or is lost
	purse     Purse           // nil: nobody pays

	mu      sync.Mutex
	begun   chat.Begun
	segs    []*segment // the newest frames, those from stored+1 on among them
	last    int64      // id of the newest frame
	stored  int64      // frames up to here are stored
	visible int64      // frames up to here may be sent
	held    int64      // the newest frame that must be stored first
	bytes   int        // of all frames
	pending int        // bytes not stored
	text    []byte     // all text so far
	stamp   stamp      // of the newest frame
	open    calls      // tools that have not ended
	timer   func() bool
	waiters []waiter
	readers map[chan struct{}]struct{}
	cause   error // why the work was stopped
	ending  bool  // nothing more is taken
	ended   bool  // all frames are here
	dropped bool  // the rows are the truth, not this memory
	resting int   // questions to people it waits for
	sealed  bool  // the newest segment is being stored: begin another
	failing bool  // the last attempt to store failed
}

// waiter waits until a frame is stored.
type waiter struct {
	id int64
	ch chan error
}

// ID is the id of the run.
func (r *Run) ID() string { return r.id }

// RequestID is the id of the request that began the run.
func (r *Run) RequestID() string { return r.requestID }

// User is the DID of the caller.
func (r *Run) User() string { return r.user }

// Session is the id of the session.
func (r *Run) Session() string { return r.session }

// SessionNumber is the number that rows of other packages use for the session:
// that of chat.Gone.
func (r *Run) SessionNumber() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun.Session
}

// Turn is the number of the turn in its session, from 1.
func (r *Run) Turn() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun.Turn
}

// Ack tells clients at once that work has begun, in words that are not part of
// the answer.
func (r *Run) Ack(words string) error {
	at := r.cfg.Now()
	return r.soft(func(b []byte, id int64) []byte {
		return r.appendReasoning(appendHead(b, id, frameReasoning), thought{text: words, ack: true}, at)
	})
}

// Text sends a piece of the answer.
func (r *Run) Text(delta string) error {
	at := r.cfg.Now()
	for part := range pieces(delta) {
		err := r.soft(func(b []byte, id int64) []byte {
			r.text = append(r.text, part...)
			return r.appendText(appendHead(b, id, frameMessage), part, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Reasoning sends a piece of the model's reasoning.
func (r *Run) Reasoning(text string) error {
	at := r.cfg.Now()
	for part := range pieces(text) {
		err := r.soft(func(b []byte, id int64) []byte {
			return r.appendReasoning(appendHead(b, id, frameReasoning), thought{text: part}, at)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pieces cuts a text between characters into what frames may hold: clients put
// it together again.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			n := min(len(text), maxText)
			for back := n; n < len(text) && back > n-utf8.UTFMax; back-- {
				if utf8.RuneStart(text[back]) {
					n = back
					break
				}
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// Emit sends a frame of any other name; payload is one JSON object. Frames of
// tools, actions and errors are stored, with all before them, before Emit
// returns and before they are sent. A tool_call with the status isRunning that
// gets no other status is ended together with the run.
func (r *Run) Emit(event string, payload any) error {
	data, err := encode(event, payload)
	if err != nil {
		return err
	}
	write := func(b []byte, id int64) []byte { return append(appendHead(b, id, event), data...) }
	if !durable(event) {
		return r.soft(write)
	}
	r.mu.Lock()
	if err := r.takes(); err != nil {
		r.mu.Unlock()
		return err
	}
	r.held = r.last + 1
	r.push(write)
	r.open.note(event, data)
	wait := r.wait()
	r.mu.Unlock()
	r.poke()
	return <-wait
}

// soft adds a frame that is sent at once and stored soon.
func (r *Run) soft(write func(b []byte, id int64) []byte) error {
	r.mu.Lock()
	if err := r.takes(); err != nil {
		r.mu.Unlock()
		return err
	}
	r.push(write)
	if r.held <= r.stored {
		r.visible = r.last
		r.signal()
	}
	full := r.pending >= min(r.cfg.Segment, maxPending)
	var wait <-chan error
	if r.pending > maxPending {
		wait = r.wait() // the store is slower than the model
	}
	r.mu.Unlock()
	if full {
		r.poke()
	}
	if wait != nil {
		return <-wait
	}
	return nil
}

// takes reports whether another frame may be added. The caller holds mu.
func (r *Run) takes() error {
	switch {
	case r.ending:
		return ErrEnded
	case r.bytes > r.cfg.MaxBytes:
		return errTooLong
	}
	return nil
}

// push adds a frame. The caller holds mu.
func (r *Run) push(write func(b []byte, id int64) []byte) {
	r.last++
	if n := len(r.segs); n == 0 || r.sealed || r.segs[n-1].upto() <= r.stored {
		r.begin()
	}
	s := r.segs[len(r.segs)-1]
	before := len(s.data)
	data := append(write(s.data, r.last), frameEnding...)
	size := len(data) - before
	if before > 0 && len(data) > min(r.cfg.Segment, maxRow) {
		// Rows stay small, even for a model that is faster than the store, and
		// a large one holds one frame: archive relies on it.
		s = r.begin()
		data = append(s.data, data[before:]...)
	}
	s.data, s.ends = data, append(s.ends, len(data))
	r.bytes += size
	r.pending += size
	r.wind()
}

// begin begins a segment with the newest frame. The caller holds mu.
func (r *Run) begin() *segment {
	s := &segment{seq: r.last, data: make([]byte, 0, 2<<10), ends: make([]int, 0, 16)}
	r.segs, r.sealed = append(r.segs, s), false
	return s
}

// wind has what waits stored in time. The caller holds mu.
func (r *Run) wind() {
	if r.timer == nil && !r.ending {
		r.timer = r.cfg.AfterFunc(r.dueIn(), r.poke)
	}
}

// dueIn is how long text that is sent now may wait to be stored. The moments
// of all runs fall on the same beat, so that a few share each commit; a longer
// one would make a lump of all.
func (r *Run) dueIn() time.Duration {
	if r.cfg.Flush <= 2*flushBeat {
		return r.cfg.Flush
	}
	due := r.cfg.Now().Add(r.cfg.Flush)
	return r.cfg.Flush - due.Sub(due.Truncate(flushBeat))
}

// unwind stops the clock. The caller holds mu.
func (r *Run) unwind() {
	if r.timer != nil {
		r.timer()
		r.timer = nil
	}
}

// wait returns a channel that receives once the newest frame is stored. The
// caller holds mu.
func (r *Run) wait() <-chan error {
	w := waiter{id: r.last, ch: make(chan error, 1)}
	r.waiters = append(r.waiters, w)
	return w.ch
}

// poke has the supervisor store what waits.
func (r *Run) poke() { nudge(r.kick) }

// signal wakes all readers. The caller holds mu.
func (r *Run) signal() {
	for ch := range r.readers {
		nudge(ch)
	}
}

// stop ends the work of the run for a reason. It reports false when the run is
// at its end already, or was stopped before.
func (r *Run) stop(cause error) bool {
	r.mu.Lock()
	first := r.cause == nil && !r.ending
	if first {
		r.cause = cause
	}
	r.mu.Unlock()
	if first {
		r.stopWork(cause)
	}
	return first
}

// Rest marks the run as waiting for a person until the returned function is called.
// A stopping server does not wait with it: the question stays, and so does what was
// said.
func (r *Run) Rest() (goOn func()) {
	r.mu.Lock()
	r.resting++
	r.mu.Unlock()
	select {
	case <-r.closing:
		r.stop(ErrClosing)
	default:
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.resting--
	}
}

// rests reports whether the run waits for a person.
func (r *Run) rests() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resting > 0
}

// row is one row of frames.
type row struct {
	seq, upto int64
	data      string
}

// unstored returns what is to be stored, as rows, and makes later frames begin
// a new segment. The caller holds mu.
func (r *Run) unstored() []row {
	var out []row
	for _, s := range r.segs {
		if s.seq > r.stored {
			out = append(out, row{s.seq, s.upto(), string(s.data)})
		}
	}
	r.sealed = true
	return out
}

// flush stores what waits to be stored. A run that is lost is stopped.
func (r *Run) flush(ctx context.Context) {
	r.mu.Lock()
	rows := r.unstored()
	r.unwind()
	r.mu.Unlock()
	if len(rows) == 0 {
		return
	}
	err := r.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		for _, row := range rows {
			if err := insertFrames(ctx, tx, holder{r.nid, r.cfg.Instance}, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		again := r.failed(err)
		switch {
		case errors.Is(err, ErrLost):
			r.stop(ErrLost)
		case !again: // each run tries four times a second
			r.cfg.Log.WarnContext(ctx, "frames of a run cannot be stored yet", "run", r.id, "err", err)
		}
		return
	}
	r.mu.Lock()
	waited := r.settle(rows[len(rows)-1].upto)
	r.mu.Unlock()
	if waited {
		r.cfg.tell(ctx, wordWake, r.id)
	}
}

// settle records that frames up to an id are stored. It reports whether
// somebody waited for that. The caller holds mu.
func (r *Run) settle(upto int64) bool {
	r.stored, r.failing = upto, false
	r.visible = max(r.visible, upto)
	if r.held <= r.stored {
		r.visible = r.last
	}
	r.pending = 0
	for _, s := range r.segs {
		if s.seq > upto {
			r.pending += len(s.data)
		}
	}
	if r.pending > 0 {
		r.wind()
	}
	r.trim()
	woken := false
	rest := r.waiters[:0]
	for _, w := range r.waiters {
		if w.id <= upto {
			w.ch <- nil
			woken = true
		} else {
			rest = append(rest, w)
		}
	}
	r.waiters = rest
	r.signal()
	return woken
}

// trim forgets stored frames that are too many to keep. The caller holds mu.
func (r *Run) trim() {
	size, from := 0, len(r.segs)
	for from > 0 && (r.segs[from-1].upto() > r.stored || size < keepBytes) {
		from--
		size += len(r.segs[from].data)
	}
	if from > 0 {
		r.segs = append([]*segment(nil), r.segs[from:]...)
	}
}

// failed tells all who wait that storing has failed. The frames stay for the next
// attempt. It reports whether the previous attempt failed as well.
func (r *Run) failed(err error) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again, r.failing = r.failing, true
	for _, w := range r.waiters {
		w.ch <- err
	}
	r.waiters = nil
	if r.pending > 0 {
		r.wind()
	}
	return again
}
