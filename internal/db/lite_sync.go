package db

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// syncer makes commits durable in parallel with the writer: while one batch is
// being synced the writer fills the next. SQLite writes a commit to its log
// without waiting for the disk, the syncer syncs the log, and only then are the
// callers answered. Nobody sees the content of such a commit earlier, see
// settled.
type syncer struct {
	fail    *atomic.Pointer[func(sql string) error]
	batches chan *batch   // committed, to be synced; cap maxUnsynced
	done    chan struct{} // one for each batch synced; cap maxUnsynced
	ended   chan struct{} // closed when run has returned
	answer  func(*batch, error)

	// The write-ahead log. It is a new file after the last connection was
	// closed. SQLite has no locks on it that closing it here could drop.
	log syncedLog
	ill atomic.Bool // something is committed that no sync could keep

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever durable grows
	begun   atomic.Int64  // the last commit that was tried
	durable atomic.Int64  // the last one that is on disk, or has failed
}

// maxUnsynced bounds the batches that wait for the disk. The writer only goes
// past one when a batch is full, so this is never reached in practice.
const maxUnsynced = 16

func newSyncer(path string, fail *atomic.Pointer[func(sql string) error], answer func(*batch, error)) *syncer {
	s := &syncer{
		fail: fail, answer: answer,
		batches: make(chan *batch, maxUnsynced), done: make(chan struct{}, maxUnsynced),
		ended: make(chan struct{}), changed: make(chan struct{}),
	}
	s.log.Path = path + "-wal"
	go s.run()
	return s
}

// run syncs what has been committed, all that waits at once.
func (s *syncer) run() {
	defer close(s.ended)
	var some []*batch
	for b := range s.batches {
		some = append(some[:0], b)
		for more := true; more; {
			select {
			case b, ok := <-s.batches:
				if more = ok; ok {
					some = append(some, b)
				}
			default:
				more = false
			}
		}
		err := s.sync()
		for _, b := range some {
			s.finish(b, err)
			s.done <- struct{}{}
		}
	}
}

// finish answers the callers of a batch that is on disk, or is not.
func (s *syncer) finish(b *batch, err error) {
	s.reach(b.number)
	s.answer(b, err)
}

// reach records that a commit is over, and releases those who wait for it.
func (s *syncer) reach(number int64) {
	s.durable.Store(number)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// settled waits until everything a read may have seen is on disk, so that no
// answer contains what a power cut could still take away. A commit is visible a
// moment before it is durable; begun is raised before it becomes visible.
func (s *syncer) settled(ctx context.Context) error {
	seen := s.begun.Load()
	for s.durable.Load() < seen {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if s.durable.Load() >= seen {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// settled calls the syncer's settled; without a syncer there is nothing to wait
// for.
func (w *writer) settled(ctx context.Context) error {
	if w.syncer == nil {
		return nil
	}
	return w.syncer.settled(ctx)
}

// sync has the disk keep the log. When the disk has refused once, nothing that
// follows in the log is worth anything: recovery stops at the first hole. So it
// is not tried again before heal.
func (s *syncer) sync() error {
	if s.ill.Load() {
		return errors.Join(errUnknown, errRefused)
	}
	if err := s.try("sync", s.log.Sync); err != nil {
		s.ill.Store(true)
		return errors.Join(errUnknown, err)
	}
	return nil
}

var errRefused = errors.New("the disk has refused to sync")

// try does something to the log. Tests make it fail.
func (s *syncer) try(what string, do func() error) error {
	if f := s.fail.Load(); f != nil {
		if err := (*f)(what); err != nil {
			return err
		}
	}
	return do()
}

// heal makes the disk store what it has refused: the log is written once more,
// because the system may treat its pages as stored, and synced. Only the writer
// may call it, with a transaction open, so that nobody else changes the log, and
// while run is idle.
func (s *syncer) heal() error {
	if err := s.try("heal", s.log.Rewrite); err != nil {
		return unavailable(err)
	}
	s.ill.Store(false)
	return nil
}

// stop ends run when everything is synced.
func (s *syncer) stop() {
	close(s.batches)
	<-s.ended
	s.log.Close()
}
