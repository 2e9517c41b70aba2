package db

import (
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// begin waits for work and opens a transaction for it. It returns false once
// the queue is closed and empty. When the transaction cannot be opened, it
// answers all who wait, and w.b stays nil.
func (w *writer) begin() bool {
	var r *request
	switch {
	case len(w.again) > 0:
		r = w.again[0]
		w.again = w.again[1:]
	case len(w.redo) > 0:
		r = w.poll()
	default:
		var ok bool
		if r, ok = <-w.queue; !ok {
			return false
		}
		if r.state.Load() == dropped {
			return true
		}
	}
	if err := w.openTx(); err != nil {
		w.refuse(r, err)
		return true
	}
	w.b = &batch{first: r, alone: r.alone, guarded: r.again || w.guard > 0, start: time.Now()}
	return true
}

// openTx begins. A connection in a bad state is first rolled back, then
// replaced: trouble with the disk heals without a restart.
func (w *writer) openTx() error {
	const begin = `BEGIN IMMEDIATE`
	// A stat costs a hundredth of the fsync that follows, and without it a
	// removed file would swallow what we promise to keep.
	if err := w.look(); err != nil {
		return err
	}
	if w.c != nil {
		w.copyRest()
		err := w.c.control(begin)
		if err == nil {
			return w.heal()
		} else if busy(err) {
			return err
		}
		w.abort()
	}
	if openErr := w.reopen(); openErr != nil {
		return openErr
	}
	if err := w.c.control(begin); err != nil {
		return err
	}
	return w.heal()
}

// ill is true when something is committed that the disk has refused to keep.
func (w *writer) ill() bool { return w.syncer != nil && w.syncer.ill.Load() }

// heal makes good what the disk has refused, before anybody writes behind it.
func (w *writer) heal() error {
	for w.ill() && w.ahead > 0 {
		<-w.syncer.done
		w.ahead--
	}
	if !w.ill() {
		return nil
	}
	err := w.syncer.heal()
	if err != nil {
		w.abort()
	}
	return err
}

// Busy reports whether something failed because another process or transaction
// held the store, or the row, for too long.
func Busy(err error) bool { return busy(err) || pgCode(err) == "55P03" }

func busy(err error) bool { return liteCode(err)&0xff == sqlite3.SQLITE_BUSY }

// refuse answers r, those to run again, and all who wait now. They are taken
// from the queue before the first one is answered: later requests are tried
// again.
func (w *writer) refuse(r *request, err error) {
	w.cfg.Log.Error("cannot begin a transaction", "err", err)
	w.counters.failures.Add(1)
	all := slices.Concat([]*request{r}, w.again, w.redo)
	w.again, w.redo = nil, nil
	for n := len(w.queue); n > 0; n-- {
		if r := w.poll(); r != nil {
			all = append(all, r)
		}
	}
	for _, r := range all {
		if r.again || r.state.CompareAndSwap(queued, running) {
			r.answer(result{err: lostError(err)})
		}
	}
}

// commit stores the batch and makes it durable.
func (w *writer) commit() {
	b := w.b
	w.b = nil
	if b.lost {
		return
	}
	if w.ill() {
		w.refuseBatch(b)
		return
	}
	b.ending = time.Now()
	if w.syncer != nil {
		b.number = w.syncer.begun.Add(1)
	}
	err := w.c.control(`COMMIT`)
	if err == nil {
		w.keep(b)
		return
	}
	w.cfg.Log.Error("commit", "err", err, "callers", len(b.waiting))
	w.counters.failures.Add(1)
	w.abort()
	// One caller's rows may be too many for the disk while the others fit.
	for _, r := range b.waiting {
		r.alone = r.alone || len(b.waiting) == 1
		w.retry(r, err)
	}
	b.tellFailed()
	w.keep(&batch{number: b.number, changed: true})
}

// refuseBatch takes a batch back that would stand behind something the disk has
// refused.
func (w *writer) refuseBatch(b *batch) {
	w.abort()
	w.counters.failures.Add(1)
	for _, r := range b.waiting {
		r.answer(result{err: unavailable(errRefused)})
	}
	b.tellFailed()
}

// keep has a committed batch synced and its callers answered. One caller alone
// is served here: to wake the syncer would take longer than it saves.
func (w *writer) keep(b *batch) {
	s := w.syncer
	for s != nil && w.ahead > 0 && (len(s.done) > 0 || w.ahead == maxUnsynced) {
		<-s.done
		w.ahead--
	}
	switch {
	case s == nil:
		w.stored(b, nil)
	case w.ahead == 0 && !b.changed:
		s.finish(b, nil)
	case w.ahead == 0 && len(b.waiting) == 1:
		s.finish(b, s.sync())
	default:
		w.ahead++
		s.batches <- b
	}
}

// stored answers the callers of a committed batch. err is why it may not have
// been kept.
func (w *writer) stored(b *batch, err error) {
	defer b.tellFailed()
	if len(b.waiting) == 0 {
		return
	}
	var res result
	if err != nil {
		w.cfg.Log.Error("sync", "err", err, "callers", len(b.waiting))
		w.counters.failures.Add(1)
		res.err = unavailable(err)
	} else {
		w.counters.commit(len(b.waiting), time.Since(b.ending))
	}
	for _, r := range b.waiting {
		r.answer(res)
	}
}

// tellFailed answers the callers whose functions failed. They wait for the
// others, because a refusal may reveal what those have stored.
func (b *batch) tellFailed() {
	for _, f := range b.failed {
		f.r.answer(f.res)
	}
	b.failed = nil
}
