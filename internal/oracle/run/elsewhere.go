package run

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

// Words between instances, each followed by the id of a run, or the number of a
// session.
const (
	wordWake  = "wake"  // it has stored something
	wordAbort = "abort" // its user wants it to stop
	wordGone  = "gone"  // the session was deleted
)

// Words a row keeps for why its run is to be stopped.
const (
	whyAborted  = "aborted"
	whyReplaced = "replaced"
	whyDeleted  = "deleted"
)

// reason is the cause for a word. An unknown one, perhaps of a newer instance,
// stops the run all the same.
func reason(word string) error {
	switch word {
	case whyReplaced:
		return ErrReplaced
	case whyDeleted:
		return ErrDeleted
	}
	return ErrAborted
}

// tell sends a word to the other instances, if there are any.
func (c *Config) tell(ctx context.Context, word, id string) {
	if !c.Alone {
		c.Publish(ctx, word+" "+id)
	}
}

// Receive takes a message of another instance. missed means that messages were
// lost: anything may be new.
func (m *Manager) Receive(ctx context.Context, payload string, missed bool) {
	if missed {
		m.cfg.Chat.ForgetAll()
		m.wakers.wakeAll()
		if err := m.obeyAll(ctx); err != nil {
			m.cfg.Log.WarnContext(ctx, "look for runs to stop", "err", err)
		}
		return
	}
	word, id, _ := strings.Cut(payload, " ")
	switch word {
	case wordWake:
		m.wakers.wake(id)
	case wordAbort:
		id, why, _ := strings.Cut(id, " ")
		m.obey(id, why)
	case wordGone:
		if session, err := strconv.ParseInt(id, 10, 64); err == nil {
			m.cfg.Chat.Forget(session)
		}
	}
}

// wakers are who follows the rows of runs.
type wakers struct {
	mu    sync.Mutex
	chans map[string]map[chan struct{}]struct{} // by run
}

// wake makes the readers of a run's rows look again.
func (w *wakers) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.chans[id] {
		nudge(ch)
	}
}

// wakeAll has all look again.
func (w *wakers) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chans := range w.chans {
		for ch := range chans {
			nudge(ch)
		}
	}
}

// listen sends to a channel when a run in another process has stored something,
// until forget is called.
func (w *wakers) listen(id string, ch chan struct{}) (forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chans[id] == nil {
		w.chans[id] = map[chan struct{}]struct{}{}
	}
	w.chans[id][ch] = struct{}{}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.chans[id], ch)
		if len(w.chans[id]) == 0 {
			delete(w.chans, id)
		}
	}
}

// nudge wakes the reader of a channel with one place. It never blocks.
func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Abort stops the run of a session of the user, wherever it is. It returns
// false when none is in progress, or the session is somebody else's. It does
// not wait for the end, which joined clients are told about.
func (m *Manager) Abort(ctx context.Context, user, session string) (bool, error) {
	m.mu.Lock()
	r := m.sessions[place{user, session}]
	m.mu.Unlock()
	if r != nil {
		return r.stop(ErrAborted), nil
	}
	if m.cfg.Alone {
		return false, nil
	}
	now, err := findCurrent(ctx, m.cfg.DB, user, session)
	if err != nil || now == nil {
		return false, err
	}
	return m.order(ctx, now.RunID, whyAborted)
}

// AbortRun stops one run of the user, wherever it is, and no newer one of its
// session. Its result is that of Abort.
func (m *Manager) AbortRun(ctx context.Context, user, id string) (bool, error) {
	if r := m.known(id); r != nil {
		return r.user == user && r.stop(ErrAborted), nil
	}
	if m.cfg.Alone {
		return false, nil
	}
	if _, err := findRun(ctx, m.cfg.DB, user, id); err != nil {
		return false, err
	}
	return m.order(ctx, id, whyAborted)
}

// order asks the instance that has a run to stop it: in its row, for certainty,
// and over the bus, for speed. It reports whether the run is still in progress.
func (m *Manager) order(ctx context.Context, id, why string) (live bool, err error) {
	err = m.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		live, err = requestAbort(ctx, tx, id, why)
		return err
	})
	if err != nil || !live {
		return false, err
	}
	m.cfg.tell(ctx, wordAbort, id+" "+why)
	return true, nil
}

// obeyAll stops the runs of this instance that others have asked to stop.
func (m *Manager) obeyAll(ctx context.Context) error {
	if m.cfg.Alone {
		return nil
	}
	orders, err := listOrders(ctx, m.cfg.DB, m.cfg.Instance)
	for id, why := range orders {
		m.obey(id, why)
	}
	return err
}

// obey stops a run of this instance, for a reason from a row.
func (m *Manager) obey(id, why string) {
	if r := m.known(id); r != nil {
		r.stop(reason(why))
	}
}

// sessionDeleted stops the runs of a session that is gone, and has other
// instances forget it.
func (m *Manager) sessionDeleted(ctx context.Context, g chat.Gone) {
	var here []*Run
	m.mu.Lock()
	for _, r := range m.runs {
		if r.user == g.User && r.session == g.Session {
			here = append(here, r)
		}
	}
	m.mu.Unlock()
	for _, r := range here {
		r.stop(ErrDeleted)
	}
	if m.cfg.Alone {
		return
	}
	m.cfg.tell(ctx, wordGone, strconv.FormatInt(g.Number, 10))
	ids, err := listLiveOf(ctx, m.cfg.DB, g.Number)
	for _, id := range ids {
		_, oerr := m.order(ctx, id, whyDeleted)
		err = errors.Join(err, oerr)
	}
	if err != nil {
		m.cfg.Log.WarnContext(ctx, "stop runs of a deleted session", "err", err)
	}
}
