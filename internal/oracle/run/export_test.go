package run

import "context"

// Readers counts the clients that have joined a run in this process.
func Readers(m *Manager, id string) int {
	m.mu.Lock()
	r := m.runs[id]
	m.mu.Unlock()
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.readers)
}

// Stored is the last frame of a run in this process that is stored.
func Stored(m *Manager, id string) int64 {
	m.mu.Lock()
	r := m.runs[id]
	m.mu.Unlock()
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stored
}

// Rows counts the rows of frames.
func Rows(ctx context.Context, m *Manager) (n int) {
	_ = m.cfg.DB.QueryRow(ctx, `SELECT count(*) FROM oracle_frames`).Scan(&n)
	return n
}

// Whole puts the parts of frames together.
func Whole(out func(Frame) error) func(Frame) error { return whole(out) }

// Last is the id of the newest frame.
func (r *Run) Last() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Taken tells how many bytes a reader takes at once from the memory of a run,
// and how many it keeps from being freed.
func Taken(m *Manager, id string, after int64) (taken, kept int) {
	m.mu.Lock()
	r := m.runs[id]
	m.mu.Unlock()
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
