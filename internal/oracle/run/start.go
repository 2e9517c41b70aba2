package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

// errTooLong ends the work of a run whose answer has no end.
var errTooLong = errors.New("the answer is too long")

// noneSince is far in the future: what a user says today about an erased person
// is not from before the erasure.
const noneSince = 1 << 40

// errRaced says that another Start with the same key was faster.
var errRaced = errors.New("the key was taken meanwhile")

// Start stores the user's message and begins the work on it; both have happened
// when it returns, and the work continues when ctx ends. A run of the session
// that is still in progress is aborted. Faults: SESSION_NOT_FOUND,
// TOO_MANY_RUNS, IDEMPOTENCY_KEY_REUSED, ORACLE_BUSY.
func (m *Manager) Start(ctx context.Context, s Start, work Work) (Started, error) {
	said, err := chat.Said(s.Message, m.cfg.Now())
	if err != nil {
		return Started{}, err
	}
	if s.Key != "" { // most repeats need no transaction
		if old, err := seen(ctx, m.cfg.DB, s); err != nil || old != nil {
			return joined(old), err
		}
	}
	base := context.WithoutCancel(ctx)
	workCtx, stop := context.WithCancelCause(base)
	r := m.newRun(s, stop)
	// Known before it is stored: a newer message of the session must find it.
	if err := m.enter(r); err != nil {
		stop(err)
		return Started{}, err
	}
	old, err := m.begin(ctx, r, s, said)
	if err != nil || old != nil {
		stop(ErrEnded)
		m.leave(r)
		close(r.done)
		m.wg.Done()
		return joined(old), err
	}
	m.lead(r)
	r.first()
	go func() {
		defer m.wg.Done()
		m.supervise(base, workCtx, r, work)
	}()
	return Started{RunID: r.id, RequestID: r.requestID}, nil
}

func joined(old *Started) Started {
	if old == nil {
		return Started{}
	}
	return *old
}

func (m *Manager) newRun(s Start, stop context.CancelCauseFunc) *Run {
	r := &Run{
		cfg: m.cfg, nid: m.cfg.DB.NewNID(), id: s.ID, user: s.User, session: s.Session, requestID: s.RequestID,
		purse: s.Purse, since: m.cfg.Now().UnixMilli(), stopWork: stop, closing: m.closing, kick: make(chan struct{}, 1), done: make(chan struct{}), readers: map[chan struct{}]struct{}{},
	}
	if r.id == "" {
		r.id = NewID()
	}
	return r
}

// begin stores the user's turn and the run in one transaction. It returns the
// run that has the key already, if there is one.
func (m *Manager) begin(ctx context.Context, r *Run, s Start, said chat.Entry) (*Started, error) {
	var old *Started
	var begun chat.Begun
	now := m.cfg.Now().UnixMilli()
	err := m.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		if old, err = seen(ctx, tx, s); err != nil || old != nil {
			return err
		}
		if s.Purse != nil {
			if err := s.Purse.Hold(ctx, tx); err != nil {
				return err
			}
		}
		if err := admit(ctx, tx, s, m.cfg.PerCaller); err != nil {
			return err
		}
		if begun, err = chat.BeginTurn(ctx, tx, chat.Opening{User: s.User, Session: s.Session, Run: r.id, At: now}); err != nil {
			return err
		}
		ok, err := insertRun(ctx, tx, newRow{run: r, begun: begun, owner: m.cfg.Instance, key: s.Key, hash: s.Hash, now: now})
		if err != nil {
			return err
		} else if !ok {
			return errRaced // and leave no turn behind
		}
		if _, err := chat.Note(ctx, tx, begun, now+noneSince, chat.Known(s.User, s.Message.Content)); err != nil {
			return err
		}
		return chat.Say(ctx, tx, begun, said, s.Declared)
	})
	if errors.Is(err, errRaced) {
		old, err = seen(ctx, m.cfg.DB, s)
		if err == nil && old == nil {
			err = fmt.Errorf("start run: %w, and is gone", errRaced)
		}
		return old, err
	}
	r.mu.Lock()
	r.begun = begun
	r.mu.Unlock()
	return old, err
}

// admit refuses a run too many of one user. Those of the session itself do not
// count: the new one takes their place.
func admit(ctx context.Context, tx *db.Tx, s Start, perCaller int) error {
	if tx.Dialect() == db.Postgres {
		if err := lockUser(ctx, tx, s.User); err != nil {
			return err
		}
	}
	n, err := countLive(ctx, tx, s.User, s.Session)
	if err != nil {
		return err
	} else if n >= perCaller {
		return tooMany(perCaller)
	}
	return nil
}

// seen finds the run that has the key of s.
func seen(ctx context.Context, q db.Querier, s Start) (*Started, error) {
	if s.Key == "" {
		return nil, nil
	}
	old, hash, err := findKey(ctx, q, s)
	if err != nil || old == nil {
		return nil, err
	}
	if !bytes.Equal(hash, s.Hash) {
		return nil, keyReused()
	}
	return old, nil
}

// supervise runs the work of a run, stores its frames as they come, and ends
// it. ctx outlives the work's own.
func (m *Manager) supervise(ctx, workCtx context.Context, r *Run, work Work) {
	result := make(chan Result, 1)
	m.wg.Go(func() {
		m.replace(ctx, r)
		result <- m.safely(workCtx, r, work)
	})
	stopLife := m.cfg.AfterFunc(m.cfg.Lifetime, func() { r.stop(ErrTimeout) })
	defer stopLife()
	over := make(chan struct{})
	stopped := workCtx.Done()
	for {
		select {
		case res := <-result:
			m.end(ctx, r, &res)
			return
		case <-r.kick:
			select {
			case res := <-result: // the end stores what waits, too
				m.end(ctx, r, &res)
				return
			default:
				r.flush(ctx)
			}
		case <-stopped:
			stopped = nil
			stopGrace := m.cfg.AfterFunc(m.cfg.Grace, func() { close(over) })
			defer stopGrace()
		case <-over:
			// The work does not return. What was sent is what there is.
			m.cfg.Log.WarnContext(ctx, "work of a run does not stop", "run", r.id)
			m.end(ctx, r, nil)
			return
		}
	}
}

// first sends the frame every run begins with. A new run takes it.
func (r *Run) first() {
	_ = r.soft(func(b []byte, id int64) []byte {
		b = append(appendHead(b, id, frameRun), `{"runId":`...)
		b = append(appendQuote(b, r.id), `,"requestId":`...)
		return append(appendQuote(b, r.requestID), '}')
	})
}

// replace stops the previous run of the session, and waits a while for its end,
// because its text is part of the conversation.
func (m *Manager) replace(ctx context.Context, r *Run) {
	before := r.begun.Before
	if before == "" {
		return
	}
	old := m.known(before)
	if old == nil && m.cfg.Alone {
		return // it has ended
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Grace+m.cfg.Grace/2)
	defer cancel()
	if old != nil {
		old.stop(ErrReplaced)
		select {
		case <-old.done:
		case <-ctx.Done():
		}
		return
	}
	live, err := m.order(ctx, before, whyReplaced)
	if err == nil && live {
		err = m.followRows(ctx, r.user, before, 1<<62, func(Frame) error { return nil })
	}
	if err != nil && ctx.Err() == nil {
		m.cfg.Log.WarnContext(ctx, "stop the run before", "run", before, "err", err)
	}
}

// safely runs the work of a run. A panic is a failure, not the end of the
// server.
func (m *Manager) safely(ctx context.Context, r *Run, work Work) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			m.cfg.Log.ErrorContext(ctx, "work of a run panicked", "run", r.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			res = Result{Failed: true, Error: trouble{Error: "Something went wrong on our side.", Kind: "unknown", Status: 500}.at(r)}
		}
	}()
	return work(ctx, r)
}
