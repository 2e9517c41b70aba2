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
