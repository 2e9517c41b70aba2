package interview

import (
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxTrials is how many trial interviews are kept before they are all forgotten.
const maxTrials = 1000

// trial keeps trial interviews. Nothing of them is stored.
type trial struct {
	mu   sync.Mutex
	kept map[string]Content
	sent map[string]bool
}

// Trial returns a copy of s for trials: households are made up and on every list, and
// their answers are in the memory of the returned Service, and gone with it.
func (s *Service) Trial() *Service {
	out := *s
	out.trial = &trial{kept: map[string]Content{}, sent: map[string]bool{}}
	return &out
}

// resume returns the earlier answers.
func (t *trial) resume(id, household string, now time.Time) (Content, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.kept[id]; ok {
		c.Passed = append([]string(nil), c.Passed...)
		return c, 1
	}
	return Content{HouseholdID: household, StartedAt: now.UTC().Truncate(time.Millisecond)}, 0
}

// save keeps an interview. Faults: TOO_MANY_DRAFTS.
func (t *trial) save(id string, c Content) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.kept[id]; !ok && len(t.kept)+len(t.sent) >= maxTrials {
		return fault.New(fault.Conflict, "TOO_MANY_DRAFTS", "Too many interviews are being tried. Try again in an hour.")
	}
	t.kept[id] = c
	return nil
}

func (t *trial) answered(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent[id]
}

// submit ends an interview.
func (t *trial) submit(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent[id] = true
	delete(t.kept, id)
}
