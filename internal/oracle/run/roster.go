package run

import "sync"

// roster is the runs at work in this process.
type roster struct {
	total int            // runs at a time
	wg    sync.WaitGroup // of all that works on them

	mu       sync.Mutex
	closed   bool
	closing  chan struct{}   // closed with it
	runs     map[string]*Run // by id
	sessions map[place]*Run  // the newest of each
}

// place names a session.
type place struct{ user, session string }

// known is a run at work in this process, nil for any other.
func (ro *roster) known(id string) *Run {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	return ro.runs[id]
}

// Live counts the runs at work in this process.
func (ro *roster) Live() int {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	return len(ro.runs)
}

// enter makes a run known in this process.
func (ro *roster) enter(r *Run) error {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	if ro.closed || len(ro.runs) >= ro.total {
		return busy()
	}
	ro.runs[r.id] = r
	ro.wg.Add(1) // here, so that Close waits for all it has not refused
	return nil
}

// leave forgets a run.
func (ro *roster) leave(r *Run) {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	delete(ro.runs, r.id)
	if at := (place{r.user, r.session}); ro.sessions[at] == r {
		delete(ro.sessions, at)
	}
}

// lead makes a run the one that an abort of its session stops.
func (ro *roster) lead(r *Run) {
	ro.mu.Lock()
	defer ro.mu.Unlock()
	at := place{r.user, r.session}
	if now := ro.sessions[at]; now == nil || now.begun.Turn < r.begun.Turn {
		ro.sessions[at] = r
	}
}
