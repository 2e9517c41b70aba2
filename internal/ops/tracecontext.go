package ops

import (
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
)

// The W3C headers that carry a trace from one service to the next.
const (
	headerTraceParent = "Traceparent"
	headerTraceState  = "Tracestate"
)

// maxTraceState is the length up to which the standard asks to pass
// tracestate on.
const maxTraceState = 512

// traceContext is what travels between services.
type traceContext struct {
	trace   [16]byte
	span    [8]byte
	sampled bool
	state   string // tracestate, passed on as it came
}

// parent is the value of a traceparent header.
func (c traceContext) parent() string {
	b := make([]byte, 0, 55)
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, c.trace[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, c.span[:])
	if c.sampled {
		return string(append(b, "-01"...))
	}
	return string(append(b, "-00"...))
}

// readTraceContext reads the caller's trace from h. It ignores anything that
// does not conform to the standard: then the request starts its own trace.
func readTraceContext(h http.Header) (traceContext, bool) {
	values := h[headerTraceParent]
	if len(values) != 1 {
		return traceContext{}, false
	}
	c, ok := parseTraceParent(values[0])
	if !ok {
		return traceContext{}, false
	}
	if state := strings.Join(h[headerTraceState], ","); len(state) <= maxTraceState && !strings.ContainsFunc(state, unsafeRune) {
		c.state = state
	}
	return c, true
}

// parseTraceParent reads version-trace-span-flags. A later version may have
// more after the flags.
func parseTraceParent(s string) (traceContext, bool) {
	var c traceContext
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" {
		return c, false
	}
	if len(s) > 55 && (s[:2] == "00" || s[55] != '-') {
		return c, false
	}
	// The standard knows lower case only, hex.Decode takes both.
	if strings.ToLower(s[:55]) != s[:55] {
		return c, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		into []byte
		text string
	}{{version[:], s[:2]}, {c.trace[:], s[3:35]}, {c.span[:], s[36:52]}, {flags[:], s[53:55]}} {
		if _, err := hex.Decode(part.into, []byte(part.text)); err != nil {
			return traceContext{}, false
		}
	}
	if c.trace == [16]byte{} || c.span == [8]byte{} {
		return traceContext{}, false
	}
	c.sampled = flags[0]&1 == 1
	return c, true
}

// newTraceID and newSpanID draw ids. They need to be distinct, not secret.
func newTraceID() (id [16]byte) {
	for id == [16]byte{} {
		fill(id[:8], rand.Uint64())
		fill(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id [8]byte) {
	for id == [8]byte{} {
		fill(id[:], rand.Uint64())
	}
	return id
}

func fill(b []byte, n uint64) {
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
}
