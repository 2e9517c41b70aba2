package db

import (
	"context"
	"errors"
	"os"
	"time"
)

// A commit goes to the write-ahead log, and from time to time the log is copied
// into the file. That copies tens of MB and waits twice for the disk, so the
// copier does it in parallel with the writer. The log restarts only when all of
// it is copied and nobody writes meanwhile: the writer copies the little that
// was added during the copying, between two batches.

const (
	copyEvery = 50 * time.Millisecond // how often the log is looked at
	restEvery = time.Second           // and while all of it is copied
	idleAfter = 2 * time.Second       // no commit for this long is idle
	// Pages in the log before it is copied. A page that changed often is copied
	// once, so a long log is less work; but a log that restarts is overwritten, and
	// a sync then costs half of what it does while the file grows.
	copyPages = 2000
	restPages = 1000     // what the writer may copy itself: a few milliseconds
	logKept   = 64 << 20 // bytes; a longer log, which a long read has left, is cut
)

// What can be done with the log; each answers with its state.
const (
	copyNone = "PRAGMA wal_checkpoint(NOOP)"
	copyNow  = "PRAGMA wal_checkpoint(PASSIVE)" // as far as readers allow
	cutNow   = "PRAGMA wal_checkpoint(TRUNCATE)"
)

// logState is how far the log has been copied.
type logState struct {
	blocked       bool // another connection prevented it
	pages, copied int64
}

// copier has a connection of its own, which never waits for others.
type copier struct {
	cfg   Config
	w     *writer
	c     *liteConn
	seen  int64     // commits at the last look
	since time.Time // when that changed
	done  bool      // all of the log has been copied since
	pages int64     // see copyPages
}

// run looks at the log until quit is closed.
func (k *copier) run(quit <-chan struct{}) {
	defer k.drop()
	every := copyEvery
	tick := time.NewTicker(every)
	defer tick.Stop()
	k.since = time.Now()
	for {
		select {
		case <-quit:
			return
		case now := <-tick.C:
			if err := k.look(now); err != nil {
				k.cfg.Log.Debug("copy write-ahead log", "err", err)
				k.drop()
			}
			next := copyEvery
			if k.done {
				next = restEvery // an idle server lets its machine sleep
			}
			if next != every {
				every = next
				tick.Reset(every)
			}
		}
	}
}

// look copies the log when it is time to.
func (k *copier) look(now time.Time) error {
	commits, pages := k.w.counters.commits.Load(), k.pages
	idle := commits == k.seen
	switch {
	case !idle:
		k.seen, k.since, k.done = commits, now, false
	case k.done || now.Sub(k.since) < idleAfter:
		return nil
	default:
		k.since, pages = now, 1
	}
	if k.w.look() != nil || k.w.ill() { // copying a log with holes would tear the file
		k.drop()
		return nil
	}
	whole, err := k.copy(pages)
	k.done = idle && whole
	return err
}

// copy copies a log of at least so many pages into the file, and asks the writer
// for the rest. It reports whether the file is complete.
func (k *copier) copy(pages int64) (whole bool, err error) {
	if err := k.open(); err != nil {
		return false, err
	}
	l, err := k.c.checkpoint(copyNone)
	if err != nil || l.pages < pages {
		return l.copied == l.pages, err
	}
	for more := true; more; {
		before := l.copied
		if l, err = k.c.checkpoint(copyNow); err != nil || l.blocked {
			return false, err
		}
		// Until it is close behind the writer, or a reader holds on to the rest.
		more = l.pages-l.copied > restPages && l.copied > before
	}
	k.w.rest.Store(l.pages-l.copied <= restPages)
	if fileSize(k.cfg.Path+"-wal") > logKept {
		if l, err = k.c.checkpoint(cutNow); err != nil || l.blocked {
			return false, err
		}
	}
	return l.copied == l.pages, nil
}

func (k *copier) open() (err error) {
	if k.c == nil {
		// The background context: no caller waits for this.
		k.c, err = openLiteConn(k.cfg.Path, busyPragma(0), syncWhole, "wal_autocheckpoint=0")
	}
	return err
}

func (k *copier) drop() {
	if k.c != nil {
		_ = k.c.close() // it has written nothing that a commit depends on
		k.c = nil
	}
}

// copyRest copies what the copier has left. The next commit restarts the log,
// unless a reader still needs it: then the copier asks again.
func (w *writer) copyRest() {
	if !w.rest.Swap(false) || w.ill() {
		return
	}
	if err := w.c.run(copyNow); err != nil {
		w.cfg.Log.Debug("copy the rest of the write-ahead log", "err", err)
	}
}

// checkpoint does one of the things above.
func (c *liteConn) checkpoint(do string) (l logState, err error) {
	s, err := c.prepare(do, true)
	if err != nil {
		return l, err
	}
	s.busy = true
	// The background context: an interrupted checkpoint is not worth the trouble.
	rows, err := c.start(context.Background(), s)
	if err != nil {
		if busy(err) {
			return logState{blocked: true}, nil
		}
		return l, err
	}
	defer rows.Close()
	var blocked int64
	if rows.Next() {
		err = rows.Scan(&blocked, &l.pages, &l.copied)
	}
	l.blocked = blocked != 0
	return l, errors.Join(err, rows.Err())
}

func fileSize(path string) int64 {
	if fi, err := os.Stat(path); err == nil {
		return fi.Size()
	}
	return 0
}
