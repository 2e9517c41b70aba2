package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// skip is the distance between the frames of a recovered run and the last one
// stored, because clients may have received frames that were never stored.
const skip = 1_000_000

// lostAtOnce is how many lost runs are looked for at once.
const lostAtOnce = 16

// Serve sends heartbeats and recovers until ctx ends: first the runs of an
// earlier process, then those of dead instances.
func (m *Manager) Serve(ctx context.Context) error {
	for {
		if err := m.Tend(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Log.WarnContext(ctx, "tend runs", "err", err)
		}
		over := make(chan struct{})
		stop := m.cfg.AfterFunc(m.cfg.Beat, func() { close(over) })
		select {
		case <-over:
		case <-ctx.Done():
			stop()
			return nil
		}
	}
}

// Tend sends one heartbeat, stops what other instances asked to abort here, and
// recovers the runs of the dead.
func (m *Manager) Tend(ctx context.Context) error {
	err := m.beat(ctx)
	if err == nil {
		err = m.obeyAll(ctx)
	}
	_, rerr := m.Recover(ctx)
	return errors.Join(err, rerr)
}

// recovery ends the runs that dead instances have left.
type recovery struct {
	cfg    *Config
	here   *roster
	wakers *wakers
	one    sync.Mutex // held by the one who recovers
}

// beat notes that this instance is at work, where others may ask.
func (rc *recovery) beat(ctx context.Context) error {
	if rc.cfg.Alone {
		return nil
	}
	return putBeat(rc.cfg.DB.Lane(ctx, db.Control), rc.cfg.DB, rc.cfg.Instance, rc.cfg.Now().UnixMilli())
}

// Recover ends the runs of dead instances, and its own that it could not end: the stored
// part of the answer goes into the history, once and marked, even when it is empty, and
// the run ends as interrupted. It returns how many.
func (rc *recovery) Recover(ctx context.Context) (int, error) {
	rc.one.Lock()
	defer rc.one.Unlock()
	count := 0
	var bad error
	for owner := ""; ; {
		next, err := nextOwner(ctx, rc.cfg.DB, owner)
		if err != nil || next == "" {
			return count, errors.Join(bad, err)
		}
		owner = next
		dead, err := rc.dead(ctx, owner)
		if err != nil {
			return count, err
		} else if !dead {
			continue
		}
		n, err := rc.recoverOwner(ctx, owner)
		count += n
		if err != nil {
			bad = errors.Join(bad, err)
		}
	}
}

// dead reports whether an instance has ended. Of ourselves we ask about runs
// that we do not know.
func (rc *recovery) dead(ctx context.Context, owner string) (bool, error) {
	if rc.cfg.Alone || owner == rc.cfg.Instance {
		return true, nil
	}
	at, err := findBeat(ctx, rc.cfg.DB, owner)
	return at < rc.cfg.Now().Add(-rc.cfg.Lease).UnixMilli(), err
}

// forgetDead removes the beats of instances that are long gone.
func (rc *recovery) forgetDead(ctx context.Context) error {
	if rc.cfg.Alone {
		return nil
	}
	return removeBeats(ctx, rc.cfg.DB, rc.cfg.Now().Add(-time.Hour).UnixMilli())
}

// recoverOwner recovers the runs of a dead instance. A failure with one does
// not stop the others.
func (rc *recovery) recoverOwner(ctx context.Context, owner string) (int, error) {
	count := 0
	var bad error
	for after := int64(0); ; {
		rows, err := listLost(ctx, rc.cfg.DB, owner, after, lostAtOnce)
		if err != nil {
			return count, errors.Join(bad, err)
		}
		for _, r := range rows {
			after = r.nid
			if rc.here.known(r.id) != nil {
				continue // ours, and at work
			}
			ok, err := rc.recoverRun(ctx, r, owner)
			if err != nil {
				bad = fmt.Errorf("recover run %s: %w", r.id, err) // one error is enough
			} else if ok {
				count++
			}
		}
		if len(rows) < lostAtOnce || ctx.Err() != nil {
			return count, bad
		}
	}
}

// recoverRun ends a run whose instance is dead. It returns false when another
// instance was faster.
func (rc *recovery) recoverRun(ctx context.Context, r *runRow, owner string) (bool, error) {
	mine := false
	// Take it over first: from then on nobody adds a frame, so what is read is
	// complete.
	err := rc.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		mine, err = takeOver(ctx, tx, holder{r.nid, owner}, rc.cfg.Instance)
		return err
	})
	if err != nil || !mine {
		return false, err
	}
	d, last := &draft{}, int64(0)
	err = rc.cfg.stored().each(ctx, r.nid, 0, Whole(func(f Frame) error {
		d.add(f)
		last = f.ID
		return nil
	}))
	if err != nil {
		return false, err
	}
	e, err := rc.interruption(r, d, last+skip)
	if err != nil {
		return false, err
	}
	err = rc.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		return storeEnding(ctx, tx, holder{r.nid, rc.cfg.Instance}, r.begun, e)
	})
	if errors.Is(err, ErrLost) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	rc.cfg.Log.InfoContext(ctx, "run recovered", "run", r.id)
	if rc.cfg.Release != nil {
		if err := rc.cfg.Release(ctx, r.user, r.id); err != nil {
			rc.cfg.Log.WarnContext(ctx, "what was held for a run stays until it ends", "run", r.id, "err", err.Error())
		}
	}
	rc.wakers.wake(r.id)
	rc.cfg.tell(ctx, wordWake, r.id)
	return true, nil
}

// interruption is the end of a run of which frames were read, from a number
// on.
func (rc *recovery) interruption(r *runRow, d *draft, from int64) (ending, error) {
	at := rc.cfg.Now()
	// The frames are made as a run makes them.
	f := &Run{cfg: rc.cfg, session: r.sessionID, requestID: r.requestID, last: from - 1, stored: from - 1, text: d.text, open: d.open, cause: ErrClosing}
	f.closeFrames(&Result{})
	e := ending{status: Interrupted, now: at.UnixMilli(), endSeq: from, lastSeq: f.last, rows: f.unstored()}
	err := e.say(d.messages(), at)
	return e, err
}

// Close accepts no more messages, interrupts runs that wait for a person, waits
// for the others until ctx ends, then interrupts the rest and stores what they
// have.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	if !m.closed {
		close(m.closing)
	}
	m.closed = true
	for _, r := range m.runs {
		if r.rests() {
			r.stop(ErrClosing)
		}
	}
	m.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		m.wg.Wait()
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	m.mu.Lock()
	for _, r := range m.runs {
		r.stop(ErrClosing)
	}
	m.mu.Unlock()
	over := make(chan struct{})
	stop := m.cfg.AfterFunc(2*m.cfg.Grace, func() { close(over) })
	defer stop()
	select {
	case <-idle:
		return nil
	case <-over:
		return errors.New("close runs: some do not end")
	}
}
