package job

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Handler does the work of one kind of job. The caller in ctx is the one who asked for
// it. ctx ends when the job is cancelled, its lease is lost or the server stops; the
// handler must then return soon, with any error. nil ends the job as succeeded, or as
// Tally says. Any other error is a failed attempt: a fault of kind Invalid and a
// Permanent error end the job, after others it is tried again later.
type Handler func(ctx context.Context, r *Run) error

// Run is one attempt at a job, in the hands of its handler.
type Run struct {
	ID      string // of the job
	Kind    string
	Attempt int // counted from 1

	held    held
	payload string
	state   *string
	now     func() time.Time
	lease   time.Duration
	changed chan struct{} // cap 1: progress to be stored

	mu       sync.Mutex
	progress Progress
	dirty    bool // progress differs from what is stored
	result   any
	done     int64 // see Tally
	refused  int64
}

// Decode reads the payload into v. A payload that does not fit fails the job
// for good.
func (r *Run) Decode(v any) error {
	if err := json.Unmarshal([]byte(r.payload), v); err != nil {
		return Permanent(fmt.Errorf("decode payload of %s: %w", r.Kind, err))
	}
	return nil
}

// State reads the last state saved by an earlier attempt into v. It returns
// false when nothing was saved. It does not see what this attempt saves.
func (r *Run) State(v any) (bool, error) {
	if r.state == nil {
		return false, nil
	}
	if err := json.Unmarshal([]byte(*r.state), v); err != nil {
		return false, Permanent(fmt.Errorf("decode state of %s: %w", r.Kind, err))
	}
	return true, nil
}

// Progress reports the progress of the work. It may be called often: it is
// stored at most every 500 ms, and at the end. note is cut to 200 characters.
func (r *Run) Progress(done, total int64, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{Done: done, Total: total, Note: cut(note)}
	if p == r.progress {
		return
	}
	r.progress, r.dirty = p, true
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// SetResult sets the result of the job, stored as JSON of at most 64 KiB when
// the handler returns nil.
func (r *Run) SetResult(v any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = v
}

// Tally reports how many parts of the work were done and how many were refused,
// in all attempts. If a handler then returns nil the job ends as
// completedWithErrors when some were refused, and as failed when none was done.
func (r *Run) Tally(done, refused int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.refused = done, refused
}

// ended is how a job ends whose handler has returned nil.
func (r *Run) ended() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.refused == 0:
		return Succeeded
	case r.done == 0:
		return Failed
	}
	return CompletedWithErrors
}

// Hold makes tx depend on the lease: it fails when another instance has taken
// the job over, so only one attempt stores what tx stores. Call it first in
// each transaction of a handler.
func (r *Run) Hold(ctx context.Context, tx *db.Tx) error {
	return hold(ctx, tx, r.held, r.until())
}

// Save is Hold, and stores v as JSON for a later attempt to resume from. Store
// it with the chunk of work it describes.
func (r *Run) Save(ctx context.Context, tx *db.Tx, v any) error {
	text, err := encode("state", v)
	if err != nil {
		return err
	}
	return saveState(ctx, tx, r.held, r.until(), text)
}

func (r *Run) until() int64 { return r.now().Add(r.lease).UnixMilli() }

// take returns the progress to store and whether it is new.
func (r *Run) take() (Progress, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dirty := r.dirty
	r.dirty = false
	return r.progress, dirty
}

// untake has the progress stored another time.
func (r *Run) untake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty = true
}

// outcome returns the last progress and the result.
func (r *Run) outcome() (Progress, any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress, r.result
}
