package db

import (
	"errors"
	"os"
	"sync"
	"time"
)

// care watches the writer: it takes over from functions past their limit, and
// brings the write-ahead log into the file.
type care struct {
	quit chan struct{}
	done sync.WaitGroup
}

func startCare(cfg Config, w *writer) *care {
	c := &care{quit: make(chan struct{})}
	c.done.Go(func() { w.watch(c.quit) })
	c.done.Go(func() { (&copier{cfg: cfg, w: w, pages: copyPages}).run(c.quit) })
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
// ends when its function finally returns; a new one continues with the batch. A
// statement in progress holds the Tx mutex, so the connection is never shared:
// statements on the writer are short by construction.
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

var errMoved = errors.New("the database file was removed or replaced while in use")

// look detects that the file was removed or replaced: SQLite would continue to
// store into a file without a name.
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
