package event

import (
	"sync"
	"time"
)

// tellEvery is how often other processes are told about new events of a busy
// workspace, because each time costs all of them.
const tellEvery = 10 * time.Millisecond

// herald tells other processes about new events: the first at once, those that
// follow within tellEvery together.
type herald struct {
	publish func(workspace string)

	mu    sync.Mutex
	quiet map[string]bool // notified a moment ago; true: there is more to send
	over  bool            // nothing is delayed any more
}

func newHerald(publish func(string)) *herald {
	return &herald{publish: publish, quiet: map[string]bool{}}
}

func (h *herald) tell(ws string) {
	h.mu.Lock()
	_, quiet := h.quiet[ws]
	if quiet && !h.over {
		h.quiet[ws] = true
		h.mu.Unlock()
		return
	}
	h.rest(ws)
	h.mu.Unlock()
	h.publish(ws)
}

// rest keeps a workspace quiet for a moment. The caller holds mu.
func (h *herald) rest(ws string) {
	if !h.over {
		h.quiet[ws] = false
		time.AfterFunc(tellEvery, func() { h.rested(ws) })
	}
}

func (h *herald) rested(ws string) {
	h.mu.Lock()
	more := h.quiet[ws]
	delete(h.quiet, ws)
	if more {
		h.rest(ws)
	}
	h.mu.Unlock()
	if more {
		h.publish(ws)
	}
}

// stop sends what is delayed; from then on everything is sent at once.
func (h *herald) stop() {
	h.mu.Lock()
	h.over = true
	var left []string
	for ws, more := range h.quiet {
		if more {
			left = append(left, ws)
		}
	}
	clear(h.quiet)
	h.mu.Unlock()
	for _, ws := range left {
		h.publish(ws)
	}
}
