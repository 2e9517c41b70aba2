package run

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

// How long storing an end is retried. After that the run is left to recovery.
const (
	endTries   = 8
	endBackoff = 100 * time.Millisecond
)

// trouble is the payload of an error frame of our own.
type trouble struct {
	Error     string `json:"error" doc:"A sentence for the user."`
	Kind      string `json:"kind"`
	Source    string `json:"source"`
	Status    int    `json:"status,omitzero"`
	Retryable bool   `json:"retryable"`
	Detail    string `json:"detail"`
	SessionID string `json:"sessionId"`
	RequestID string `json:"requestId"`
	Timestamp string `json:"timestamp"`
}

func (t trouble) at(r *Run) trouble {
	t.Source, t.Detail, t.SessionID, t.RequestID, t.Timestamp = "platform", t.Error, r.session, r.requestID, chat.Stamp(r.cfg.Now())
	return t
}

// statusOf says how a run ends whose work was stopped for a reason, or not.
func statusOf(cause error, failed bool) Status {
	switch {
	case errors.Is(cause, ErrAborted), errors.Is(cause, ErrReplaced), errors.Is(cause, ErrDeleted), errors.Is(cause, ErrErased):
		return Aborted
	case errors.Is(cause, ErrClosing), errors.Is(cause, ErrLost):
		return Interrupted
	case errors.Is(cause, ErrTimeout), failed:
		return Failed
	}
	return Finished
}

func markOf(s Status) chat.Mark {
	switch s {
	case Aborted:
		return chat.Aborted
	case Interrupted:
		return chat.Interrupted
	}
	return chat.Whole
}

// ending is how a run ends, ready to be stored.
type ending struct {
	status  Status
	rows    []row // text not stored yet, then the end itself
	endSeq  int64
	lastSeq int64
	said    []chat.Entry
	account *Account // what it used; nil: unknown
	now     int64
}

// say sets what goes into the history. An interrupted run has an answer there
// even when none of it was stored, so that readers see that none will come.
func (e *ending) say(messages []llm.Message, at time.Time) (err error) {
	if e.said, err = chat.Answered(messages, markOf(e.status), at); err != nil || len(e.said) > 0 || e.status != Interrupted {
		return err
	}
	e.said, err = chat.Unanswered(at)
	return err
}

// end stores the answer and the last frames of a run, together, and releases
// them to the readers. A nil result means that the work did not return.
func (m *Manager) end(ctx context.Context, r *Run, res *Result) {
	var said []llm.Message
	if res == nil {
		res = &Result{Failed: true}
		said = r.partial(ctx)
	} else {
		said = res.Messages
	}
	status := r.closeFrames(res)
	e := ending{status: status, now: m.cfg.Now().UnixMilli(), account: res.Account}
	if err := e.say(said, m.cfg.Now()); err != nil {
		m.cfg.Log.ErrorContext(ctx, "answer of a run cannot be stored", "run", r.id, "err", err)
	}
	r.mu.Lock()
	e.rows, e.endSeq, e.lastSeq = r.unstored(), r.held, r.last
	r.mu.Unlock()
	m.finish(r, m.storeEnd(ctx, r, e))
	r.stopWork(ErrEnded)
	m.cfg.tell(ctx, wordWake, r.id)
}

// closeFrames closes the run to further frames and adds the last ones, in
// segments of their own: the ends of open tools, the marker, the error and
// done. Nobody sees them until they are stored.
func (r *Run) closeFrames(res *Result) Status {
	at := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	cause := r.cause
	status := statusOf(cause, res.Failed)
	problem := res.Error
	if problem == nil && errors.Is(cause, ErrTimeout) {
		problem = trouble{Error: "The answer took too long.", Kind: "timeout", Status: 504, Retryable: true}.at(r)
	}
	if status != Failed && status != Finished {
		problem = nil // who stopped it knows
	}
	r.ending, r.sealed, r.held = true, true, r.last+1
	r.unwind()
	add := func(event string, payload any) {
		data, err := encode(event, payload)
		if err != nil {
			data = []byte(`{"error":"Something went wrong on our side.","kind":"unknown","source":"platform","retryable":false}`)
		}
		r.push(func(b []byte, id int64) []byte { return append(appendHead(b, id, event), data...) })
	}
	for _, c := range r.open.list {
		add(c.event, c.ended())
	}
	r.push(func(b []byte, id int64) []byte {
		return r.appendReasoning(appendHead(b, id, frameReasoning), thought{complete: true}, at)
	})
	if problem != nil {
		add(frameError, problem)
	}
	add(frameDone, doneOf(status, string(r.text)))
	return status
}

func (a *Account) encode() *string {
	if a == nil {
		return nil
	}
	b, err := json.Marshal(a)
	if err != nil {
		return nil // a missing number is no reason to lose the answer
	}
	text := string(b)
	return &text
}

// storeEnd stores an ending, with patience: everything the run gave is in it. What
// was used is charged with it, but an answer is not lost because that fails, nor
// given for nothing because it cannot be stored.
func (m *Manager) storeEnd(ctx context.Context, r *Run, e ending) error {
	for try := 0; ; try++ {
		err := m.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
			e := e
			if try == 0 {
				if err := e.pay(ctx, tx, r.purse); err != nil {
					return err
				}
			}
			return storeEnding(ctx, tx, holder{r.nid, m.cfg.Instance}, r.begun, e)
		})
		if err != nil && try == 0 {
			m.payAlone(ctx, r, &e)
		}
		if err == nil || errors.Is(err, ErrLost) || try == endTries {
			return err
		}
		m.cfg.Log.WarnContext(ctx, "end of a run cannot be stored yet", "run", r.id, "attempt", try+1, "err", err)
		m.cfg.pause(endBackoff << try)
	}
}

// pay charges what a run has used and notes it in the account of the ending.
func (e *ending) pay(ctx context.Context, tx *db.Tx, p Purse) error {
	if p == nil {
		return nil
	}
	credits, err := p.Charge(ctx, tx, e.account)
	if err == nil && credits != 0 {
		account := *e.account
		account.Credits += credits
		e.account = &account
	}
	return err
}

// payAlone is pay where the ending could not be stored at once.
func (m *Manager) payAlone(ctx context.Context, r *Run, e *ending) {
	err := m.cfg.DB.InTx(ctx, func(tx *db.Tx) error { return e.pay(ctx, tx, r.purse) })
	if err != nil {
		m.cfg.Log.ErrorContext(ctx, "answer not settled", "run", r.id, "err", err.Error())
	}
}

// pause waits by the clock of the settings.
func (c *Config) pause(d time.Duration) {
	over := make(chan struct{})
	c.AfterFunc(d, func() { close(over) })
	<-over
}

// storeEnding stores an ending in one transaction.
func storeEnding(ctx context.Context, tx *db.Tx, h holder, b chat.Begun, e ending) error {
	erased, err := endRun(ctx, tx, h, e)
	if err != nil {
		return err
	}
	if erased {
		if e, err = e.bare(); err != nil {
			return err
		}
	}
	for _, row := range e.rows {
		if err := insertLast(ctx, tx, h.nid, row); err != nil {
			return err
		}
	}
	_, err = chat.Answer(ctx, tx, b, e.said, e.now)
	return err
}

// finish passes the end of a run to its readers, or sends them to the rows if
// those are the truth.
func (m *Manager) finish(r *Run, err error) {
	gone := errors.Is(err, errGone)
	m.leave(r) // first, so that a reader who asks again after the end gets the rows
	r.mu.Lock()
	if err == nil || gone {
		r.settle(r.last)
		r.ended = true
	} else {
		r.dropped = true
	}
	for _, w := range r.waiters {
		w.ch <- ErrEnded
	}
	r.waiters, r.text = nil, nil // a reader that stalls keeps the run, and need not keep its answer
	r.signal()
	r.mu.Unlock()
	close(r.done)
}
