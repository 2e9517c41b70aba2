package socket

import "time"

// What tests look at from outside.
var (
	Again = again
	Shown = shown
)

// Outcome is what a page's answer gives for an event.
func Outcome(event, result, problem string) (text, data, err string) {
	out := answer{Result: []byte(result), Error: []byte(problem)}.output(event)
	return out.Text, string(out.Data), out.Err
}

// Split cuts a text into parts.
func Split(text string) []string { return split(text) }

// MaxPart is the most bytes of a part.
const MaxPart = maxPart

// Peers is how many other instances are known.
func (h *Hub) Peers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.peers)
}

// Watched is how many sockets wait for the end of their tokens.
func (h *Hub) Watched() int {
	h.watch.mu.Lock()
	defer h.watch.mu.Unlock()
	return len(h.watch.visits)
}

// Comer has members come whose tokens end at a time, and gives how they go.
func Comer(h *Hub) func(until time.Time) (leave func()) {
	return func(until time.Time) func() {
		m := &member{until: until}
		h.watch.add(m)
		return func() { h.watch.remove(m) }
	}
}
