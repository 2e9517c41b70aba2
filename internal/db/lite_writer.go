package db

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// The limits of one group commit. There is no artificial wait: a batch fills
// while the one before is being synced.
const (
	maxBatch  = 512
	maxFill   = 2 * time.Millisecond
	maxQueued = 4096
)

// guardTimes is how many callers have savepoints after one failed, for each
// caller that had to run again because of it. So a crowd of failing callers
// costs the others at most a thirtieth of their work.
const guardTimes = 32

// Settings of the writer's connection. What it would take to undo a savepoint
// are copies of the pages touched in it: in memory they cost a fifth of the
// work less than in a temporary file. The cache, in KiB, is
// for indexes in no order of time, where each new row meets another page.
const (
	undoInMemory = "temp_store=MEMORY"
	writerCache  = "cache_size=-8192"
	// The copier brings the log into the file. When it cannot, the writer does it
	// at this many pages, and then everybody waits.
	checkpointAt = "wal_autocheckpoint=48000"
	// A commit goes to the log, which the syncer makes durable. SQLite itself
	// syncs only before it copies the log into the file.
	syncBeside = "synchronous=NORMAL"
	// On a Mac an fsync ends in the memory of the disk.
	syncWhole = "checkpoint_fullfsync=ON"
)

// The states of a request. Its caller may leave while it is queued only.
const (
	queued int32 = iota
	running
	dropped
)

// request is one InTx call on its way through the writer.
type request struct {
	ctx   context.Context //nolint:containedctx // it travels with the call
	fn    func(*Tx) error
	state atomic.Int32
	again bool // it has run before, and its transaction was undone
	alone bool // it runs again, in a transaction of its own
	after []func()
	done  chan result // cap 1
}

func (r *request) answer(res result) { r.done <- res }

// writer owns the one SQLite connection that writes. Exactly one goroutine
// runs loop; the watchdog may hand its role to a new one.
type writer struct {
	cfg      Config
	syncer   *syncer // nil without durability
	maxFill  time.Duration
	counters counters
	file     os.FileInfo                            // the store as it was opened
	moved    atomic.Bool                            // another file, or none, has its name now
	rest     atomic.Bool                            // a little of the log is left to copy, see copier
	fail     atomic.Pointer[func(sql string) error] // tests only

	mu     sync.RWMutex // guards closed against a send on the closed queue
	closed bool
	queue  chan *request
	gone   chan struct{} // closed when the loop has ended
	turn   atomic.Pointer[turn]

	// Below: for the goroutine in the role only.
	c     *liteConn
	b     *batch     // the open transaction, nil between two
	ahead int        // batches given to the syncer and not known to be synced
	again []*request // to be run alone, after their batch was lost
	redo  []*request // to be run together, after their batch was undone
	guard int        // callers that still get a savepoint each
}

// batch is an open transaction and the callers waiting for its commit.
type batch struct {
	first   *request
	waiting []*request
	failed  []failure
	alone   bool
	guarded bool // every caller has a savepoint
	lost    bool // the transaction has ended without a commit
	ill     bool // a statement failed because of the store: nobody else joins
	changed bool // something may have been written
	start   time.Time
	ending  time.Time // when its COMMIT began
	number  int64     // of its commit, see syncer.begun
}

// failure is a caller whose function failed, and how.
type failure struct {
	r   *request
	res result
}

// turn is one function in the writer's hands.
type turn struct {
	r     *request
	tx    Tx
	start time.Time
}

func newWriter(cfg Config, durable bool) (*writer, error) {
	w := &writer{cfg: cfg, maxFill: maxFill, queue: make(chan *request, maxQueued), gone: make(chan struct{})}
	if err := createLite(cfg.Path); err != nil {
		return nil, err
	}
	if err := w.reopen(); err != nil {
		return nil, err
	}
	var err error
	if w.file, err = os.Stat(cfg.Path); err != nil {
		return nil, errors.Join(err, w.c.close())
	}
	if durable {
		w.syncer = newSyncer(cfg.Path, &w.fail, w.stored)
	}
	go w.loop()
	return w, nil
}

// reopen replaces the connection.
func (w *writer) reopen() error {
	if w.c != nil {
		if err := w.c.close(); err != nil {
			w.cfg.Log.Warn("close writer connection", "err", err)
		}
		w.c = nil
	}
	c, err := openLiteConn(w.cfg.Path, busyPragma(w.cfg.Busy), "journal_mode=WAL", syncBeside, syncWhole, "foreign_keys=ON", secureDelete, undoInMemory, writerCache, checkpointAt)
	if err != nil {
		return err
	}
	c.fail = func(sql string) error {
		if f := w.fail.Load(); f != nil {
			return (*f)(sql)
		}
		return nil
	}
	w.c = c
	if w.syncer != nil {
		w.syncer.log.Anew() // we may have been the last who had it open
	}
	return nil
}

// inTx queues fn and waits for its answer.
func (w *writer) inTx(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{ctx: ctx, fn: fn, done: make(chan result, 1)}
	if err := w.send(ctx, r, true); err != nil {
		return err
	}
	var res result
	select {
	case res = <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, dropped) {
			return ctx.Err()
		}
		// It runs or has run: only its true answer will do.
		res = <-r.done
	}
	return res.tell(r.after)
}

// send puts r into the queue; when that is full it waits, or refuses.
func (w *writer) send(ctx context.Context, r *request, wait bool) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed()
	}
	select {
	case w.queue <- r:
		return nil
	default:
	}
	if !wait {
		return unavailable(errCrowd)
	}
	select {
	case w.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errCrowd = errors.New("too many wait for the writer")

// close lets the queue drain and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
	<-w.gone
	if w.c == nil {
		return nil
	}
	return w.c.close()
}

// loop serves batches until the queue is closed, or until the watchdog took
// the role away while a function ran.
func (w *writer) loop() {
	for {
		if w.b == nil && !w.begin() {
			if w.syncer != nil {
				w.syncer.stop()
			}
			close(w.gone)
			return
		}
		if w.b == nil {
			continue
		}
		if !w.fill() {
			return
		}
		w.commit()
	}
}

// fill runs functions until the queue is empty or the batch is full. It returns
// false when this goroutine has lost the role.
func (w *writer) fill() bool {
	b := w.b
	r := b.first
	b.first = nil
	for {
		if r == nil && !b.full(w.maxFill) {
			if r = w.next(); r == nil {
				// Let callers run who are about to join: a commit costs the
				// same for all of them. If none is ready this returns at once.
				runtime.Gosched()
				r = w.next()
			}
		}
		if r == nil {
			return true
		}
		if !w.serve(r) {
			return false
		}
		r = nil
	}
}

func (b *batch) full(limit time.Duration) bool {
	return b.lost || b.ill || b.alone || len(b.waiting) >= maxBatch || time.Since(b.start) > limit
}

// next takes a waiting request. While the batch before is being synced it waits
// for one: committing earlier would give no answer sooner, and make several
// batches of one. It is nil when there is none.
func (w *writer) next() *request {
	r := w.poll()
	for r == nil && w.ahead > 0 {
		select {
		case r = <-w.queue:
			if r == nil {
				return nil // closed
			}
		case <-w.syncer.done:
			w.ahead--
			r = w.poll()
		}
	}
	return r
}

// poll takes a waiting request, nil when there is none.
func (w *writer) poll() *request {
	if len(w.redo) > 0 {
		r := w.redo[0]
		w.redo = w.redo[1:]
		return r
	}
	select {
	case r := <-w.queue:
		return r
	default:
		return nil
	}
}

// serve runs one function. It returns false when the watchdog took over
// meanwhile.
func (w *writer) serve(r *request) bool {
	if !r.again && !r.state.CompareAndSwap(queued, running) {
		return true // its caller has left
	}
	if err := r.ctx.Err(); err != nil {
		r.answer(result{err: err})
		return true
	}
	if w.b.guarded {
		w.guard = max(w.guard-1, 0)
		if err := w.c.control(`SAVEPOINT fn`); err != nil {
			w.lose(err)
			w.retry(r, err)
			return true
		}
	}
	w.c.dirty = false
	t := &turn{r: r, tx: Tx{s: w.c}, start: time.Now()}
	w.turn.Store(t)
	res := w.call(t)
	mine, failed := t.tx.end(errTxOver)
	if !mine {
		return false
	}
	w.turn.Store(nil)
	if res.err == nil && res.panic == nil && failed != nil {
		res.err = failed
	}
	w.settle(t, res)
	return true
}

// call runs the function of a turn. A panic is a result; when the function
// ends the goroutine, as t.FailNow does, a new one takes the role.
func (w *writer) call(t *turn) (res result) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			res.panic = newPanic(v)
			return
		}
		w.exited(t)
	}()
	res.err = t.r.fn(&t.tx)
	returned = true
	return res
}

// exited continues in a new goroutine after fn ended this one.
func (w *writer) exited(t *turn) {
	if mine, _ := t.tx.end(errTxOver); !mine {
		return
	}
	w.turn.Store(nil)
	go func() {
		w.settle(t, result{goexit: true})
		w.loop()
	}()
}

var errEnded = errors.New("SQLite has rolled the transaction back")

// settle keeps or undoes what a function did. Without a savepoint nothing can
// be undone but the whole transaction; one who failed before changing anything,
// as most do, leaves nothing to undo.
func (w *writer) settle(t *turn, res result) {
	ok := res.err == nil && res.panic == nil && !res.goexit
	w.b.changed = w.b.changed || w.c.dirty
	var err error
	switch {
	case !w.c.c.InTx():
		err = errEnded
	case w.b.guarded && ok:
		err = w.c.control(`RELEASE fn`)
	case w.b.guarded:
		if w.c.dirty {
			w.guard = max(w.guard, guardTimes*len(w.b.waiting))
		}
		if err = w.c.control(`ROLLBACK TO fn`); err == nil {
			err = w.c.control(`RELEASE fn`)
		}
	case !ok && w.c.dirty:
		w.undo()
	}
	if err != nil {
		w.lose(err)
	}
	switch {
	case !ok:
		// The next batch starts over, on another connection if need be.
		w.b.ill = w.b.ill || liteTrouble(res.err)
		w.b.failed = append(w.b.failed, failure{t.r, res})
		if w.b.lost {
			w.b.tellFailed() // nothing of this transaction remains
		}
	case err != nil:
		w.retry(t.r, err)
	default:
		t.r.after = t.tx.after
		w.b.waiting = append(w.b.waiting, t.r)
	}
}

// undo rolls the open transaction back because of a failed caller. Those who
// wait for it run again, together, and for a while everybody has a savepoint,
// so that a caller who makes many fail does not make all others run twice.
func (w *writer) undo() {
	w.b.lost = true
	for _, r := range w.b.waiting {
		r.again, r.after = true, nil
	}
	w.counters.retries.Add(int64(len(w.b.waiting)))
	w.guard = max(w.guard, guardTimes*len(w.b.waiting))
	w.redo, w.b.waiting = w.b.waiting, nil
	w.b.tellFailed()
	w.abort()
}

// lose gives up the open transaction: SQLite has ended it, or may have. Those
// who wait for it run again, each alone.
func (w *writer) lose(cause error) {
	w.cfg.Log.Warn("transaction lost, running its callers again", "err", cause, "callers", len(w.b.waiting))
	w.b.lost = true
	for _, r := range w.b.waiting {
		w.retry(r, cause)
	}
	w.b.waiting = nil
	w.b.tellFailed()
	w.abort()
}

// retry runs r again alone, once.
func (w *writer) retry(r *request, cause error) {
	if r.alone {
		r.answer(result{err: lostError(cause)})
		return
	}
	w.counters.retries.Add(1)
	r.again, r.alone, r.after = true, true, nil
	w.again = append(w.again, r)
}

// abort ends the transaction if there is one. A connection that cannot is
// replaced by begin.
func (w *writer) abort() {
	if err := w.c.run("ROLLBACK"); err != nil && liteTrouble(err) {
		w.cfg.Log.Warn("roll back", "err", err)
	}
}

// lostError is what the caller of a lost transaction gets: the broken rule
// when it is one, else the fault for a store in trouble.
func lostError(cause error) error {
	if fault.As(cause) != nil || liteCode(cause)&0xff == sqlite3.SQLITE_CONSTRAINT {
		return cause
	}
	return unavailable(cause)
}
