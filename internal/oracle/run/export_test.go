package run

import "context"

// Readers counts the clients that have joined a run in this process.
func Readers(m *Manager, id string) int {
	r := m.known(id)
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.readers)
}

// Stored is the last frame of a run in this process that is stored.
func Stored(m *Manager, id string) int64 {
	r := m.known(id)
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored
}

// Attempt gives a channel that hears how the next attempt to store ends.
func Attempt(m *Manager, id string) <-chan error {
	r := m.known(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wait()
}

// TextHeld is how many bytes of its answer a run has in memory beside its frames.
func (r *Run) TextHeld() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cap(r.text)
}

// StoredUpTo gives a channel that is closed once a frame of a run in this process
// is stored. It has nothing stored that is not due.
func StoredUpTo(m *Manager, id string, frame int64) <-chan struct{} {
	stored := make(chan struct{})
	r := m.known(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stored >= frame {
		close(stored)
		return stored
	}
	w := waiter{id: frame, ch: make(chan error, 1)}
	r.waiters = append(r.waiters, w)
	go func() {
		if <-w.ch == nil {
			close(stored)
		}
	}()
	return stored
}

// Rows counts the rows of frames.
func Rows(ctx context.Context, m *Manager) (n int) {
	_ = m.cfg.DB.QueryRow(ctx, `SELECT count(*) FROM oracle_frames`).Scan(&n)
	return n
}

// Last is the id of the newest frame.
func (r *Run) Last() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Taken tells how many bytes a reader takes at once from the memory of a run,
// and how many it keeps from being freed.
func Taken(m *Manager, id string, after int64) (taken, kept int) {
	r := m.known(id)
	frames, _ := r.after(after, nil)
	for _, f := range frames {
		taken += len(f.Data)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.segs {
		if s.seq <= frames[len(frames)-1].ID && s.upto() >= frames[0].ID {
			kept += cap(s.data)
		}
	}
	return taken, kept
}

// CountLive is the statement that counts the runs of a user that are at work.
const CountLive = countLiveText
