package server

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// readyLine is the last line of a successful start.
var readyLine = regexp.MustCompile(`(?m)^Oracle '.*' \(runtime v.*\) listening on :([0-9]+)\s*$`)

// maxOutput limits how much output is kept: a server under attack may log a lot.
const maxOutput = 1 << 20

// output keeps what a process writes and detects the ready line.
type output struct {
	started time.Time
	readyAt time.Time     // valid after ready
	port    int           // valid after ready
	ready   chan struct{} // closed at the ready line

	mu   sync.Mutex
	text []byte
	seen bool
}

func newOutput() *output { return &output{ready: make(chan struct{})} }

// Write stores output of the process.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if !o.seen && bytes.Contains(p, []byte("\n")) {
		o.look()
	}
	if len(o.text) > 2*maxOutput {
		o.text = append(o.text[:0], o.text[len(o.text)-maxOutput:]...)
	}
	return len(p), nil
}

// look searches complete lines for the ready line.
func (o *output) look() {
	end := bytes.LastIndexByte(o.text, '\n')
	m := readyLine.FindSubmatch(o.text[:end+1])
	if m == nil {
		return
	}
	port, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return
	}
	o.seen, o.port, o.readyAt = true, port, time.Now()
	close(o.ready)
}

// String returns the output that was kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
