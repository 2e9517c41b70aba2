package ops

import (
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// troubleKept is how many mishaps are remembered.
const troubleKept = 200

// Trouble remembers the last failed requests, and counts the answers of the last
// hour, in memory. It holds patterns of routes and ids of requests, and nothing
// that callers sent. The zero value is ready; it is safe for concurrent use.
type Trouble struct {
	mu      sync.Mutex
	seq     int64        // mishaps ever
	ring    []api.Mishap // mishap n stands at (n - 1) % troubleKept
	minutes [60]minute
}

// minute counts the answers of one minute.
type minute struct {
	at int64 // minutes since 1970
	api.HourCounts
}

// Note records the answer to a request.
func (t *Trouble) Note(m api.Mishap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := m.At.Unix() / 60
	slot := &t.minutes[at%60]
	if slot.at != at {
		*slot = minute{at: at}
	}
	slot.Requests++
	switch {
	case m.Status >= 500:
		slot.Failed++
	case m.Status >= 400:
		slot.Refused++
	}
	if m.Status < 500 {
		return
	}
	t.seq++
	if len(t.ring) < troubleKept {
		t.ring = append(t.ring, m)
		return
	}
	t.ring[(t.seq-1)%troubleKept] = m
}

// Hour sums the answers of the hour before a moment.
func (t *Trouble) Hour(now time.Time) api.HourCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	var sum api.HourCounts
	for _, m := range t.minutes {
		if age := now.Unix()/60 - m.at; age >= 0 && age < 60 {
			sum.Requests += m.Requests
			sum.Refused += m.Refused
			sum.Failed += m.Failed
		}
	}
	return sum
}

// List returns at most limit mishaps below a number, 0 for the newest, newest
// first. next is the number to continue below, 0 at the end.
func (t *Trouble) List(below int64, limit int) (items []api.Mishap, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if below <= 0 || below > t.seq+1 {
		below = t.seq + 1
	}
	oldest := max(t.seq-troubleKept+1, 1)
	for n := below - 1; n >= oldest; n-- {
		if len(items) == limit {
			return items, n + 1
		}
		items = append(items, t.ring[(n-1)%troubleKept])
	}
	return items, 0
}
