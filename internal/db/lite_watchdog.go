package db

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// care watches the writer: it takes over from functions past their limit, and
// shortens the write-ahead log when nobody writes.
type care struct {
	quit chan struct{}
	done sync.WaitGroup
}

const (
	idleAfter  = 2 * time.Second // no commit for this long is idle
	walSoftCap = 64 << 20        // above it the log is shortened even when busy
)

func startCare(cfg Config, w *writer) *care {
	c := &care{quit: make(chan struct{})}
	c.done.Go(func() { w.watch(c.quit) })
	c.done.Go(func() { keepShort(cfg, w, c.quit) })
	return c
}

func (c *care) stop() {
	select {
	case <-c.quit:
	default:
		close(c.quit)
	}
	c.done.Wait()
}

var errStuck = errors.New("function given to InTx ran past its limit")

// watch looks at the running function a few times per limit.
func (w *writer) watch(quit <-chan struct{}) {
	tick := time.NewTicker(max(w.cfg.TxLimit/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		if t := w.turn.Load(); t != nil && time.Since(t.start) > w.cfg.TxLimit {
			w.takeOver(t)
		}
	}
}

// takeOver ends a stuck turn. The goroutine inside it has lost the role and
// ends when its function returns at last; a new one goes on with the batch.
// A statement in progress holds the Tx mutex, so the connection is never
// shared: statements on the writer are short by construction.
func (w *writer) takeOver(t *turn) {
	if !t.tx.take(errSlow(errStuck)) {
		return
	}
	w.turn.Store(nil)
	w.counters.takeovers.Add(1)
	w.cfg.Log.Error("function given to InTx ran past its limit", "limit", w.cfg.TxLimit)
	go func() {
		w.settle(t, result{err: errSlow(errStuck)})
		w.loop()
	}()
}

// keepShort truncates the write-ahead log when the store is idle. It has a
// connection of its own that never waits, so it cannot hold up the writer for
// longer than the copying takes.
func keepShort(cfg Config, w *writer, quit <-chan struct{}) {
	tick := time.NewTicker(idleAfter)
	defer tick.Stop()
	seen := w.counters.commits.Load()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		if w.look() != nil || w.ill() { // copying a log with holes would tear the file
			continue
		}
		commits := w.counters.commits.Load()
		size := fileSize(cfg.Path + "-wal")
		if size > 0 && (commits == seen || size > walSoftCap) {
			if err := truncateWAL(cfg.Path); err != nil {
				cfg.Log.Debug("shorten write-ahead log", "err", err)
			}
		}
		seen = commits
	}
}

var errMoved = errors.New("the database file was removed or replaced while in use")

// look notices a file that was removed or replaced: SQLite would go on and
// store into a file that has no name any more.
func (w *writer) look() error {
	fi, err := os.Stat(w.cfg.Path)
	moved := err != nil || !os.SameFile(fi, w.file)
	if moved != w.moved.Swap(moved) {
		state := "back in place"
		if moved {
			state = "removed or replaced"
		}
		w.cfg.Log.Error("database file", "file", w.cfg.Path, "state", state)
	}
	if moved {
		return unavailable(errMoved)
	}
	return nil
}

func truncateWAL(path string) error {
	// The background context: no caller waits for this.
	c, err := openLiteConn(context.Background(), path, busyPragma(0), syncWhole)
	if err != nil {
		return err
	}
	defer c.close()
	return c.run("PRAGMA wal_checkpoint(TRUNCATE)")
}

func fileSize(path string) int64 {
	if fi, err := os.Stat(path); err == nil {
		return fi.Size()
	}
	return 0
}
