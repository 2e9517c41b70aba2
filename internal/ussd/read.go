package ussd

import (
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// doubled is how long after a call began another announced start still counts
// as its copy. Nobody hangs up and dials again that fast.
const doubled = 5 * time.Second

// what a request means for the session it belongs to.
type meaning byte

const (
	repeat  meaning = iota // nothing new: the stored answer again
	inputs                 // continue with parts
	rebuild                // repeat the same call from its beginning, with parts; effects are not repeated
	fresh                  // another call from its beginning, with parts
)

// reading is a request understood.
type reading struct {
	meaning meaning
	mode    mode
	parts   []part
	stepped bool // parts are identified by step, not by the text up to them
}

// request is one key press on its way through a step.
type request struct {
	wire.Request
	key  key
	mode mode
	// copied says that the same request was on its way already when this one
	// came in, or that its answer never reached the gateway.
	copied bool
}

// whole is the text with everything else that identifies the request.
func (q *request) whole() string {
	if q.Step == "" {
		return q.Text
	}
	return q.Step + between + q.Text
}

// first reads a request that has no session.
func first(q *request) reading {
	r := reading{meaning: fresh, mode: q.mode}
	if q.Text != "" {
		r.parts = split(q.Text, 0)
	}
	return r
}

// again reads a request of a session that has expired. It is a new call, unless
// its text shows that it continues: then the walk is rebuilt, with the effects
// it had. One that began with a kept walk cannot be rebuilt.
func (r *record) again(q *request) reading {
	next := first(q)
	switch {
	case r.resumed:
		next.parts = nil
	case q.Text != "" && q.mode != latest && r.mode != latest && q.Kind != wire.Start:
		next.meaning = rebuild
	}
	return next
}

// read finds out what a request means for a session that is alive.
func (r *record) read(q *request, m *marker, now int64) reading {
	switch {
	case q.Kind == wire.Start:
		return r.readStart(q, m, now)
	case r.state.Done:
		return r.readDone(q, m)
	}
	if q.mode == latest || r.mode == latest {
		return r.readLatest(q, m)
	}
	parts, ok := r.extended(q, m)
	switch {
	case ok:
		return reading{meaning: inputs, mode: accumulated, parts: parts}
	case r.saw(q, m):
		return reading{meaning: repeat}
	case !strings.Contains(q.Text, "*"):
		// A text that accumulates never gets shorter, so this one is only the
		// newest answer.
		return answer(q)
	}
	return reading{meaning: rebuild, mode: accumulated, parts: split(q.Text, 0)}
}

// answer takes the text of a request as one answer.
func answer(q *request) reading {
	return reading{meaning: inputs, mode: latest, stepped: true, parts: []part{{text: q.Text}}}
}

// readStart reads a request that the gateway calls a first dial. Soon after the
// beginning of the call it is a copy; later it is a new call with a reused id.
func (r *record) readStart(q *request, m *marker, now int64) reading {
	soon := now-r.started < doubled.Microseconds()
	switch {
	case r.state.Done:
		if r.last(q, m) && (soon || q.Text != "") {
			return reading{meaning: repeat}
		}
	case r.last(q, m), soon && r.began(q, m):
		return reading{meaning: repeat}
	}
	return first(q)
}

// readDone reads a request after END. What was seen is answered as it was; a
// dial or another text is a call of its own.
func (r *record) readDone(q *request, m *marker) reading {
	switch {
	case r.last(q, m):
		return reading{meaning: repeat}
	case q.Text == "":
		return first(q)
	case r.mode == latest:
		return first(q)
	case r.saw(q, m):
		return reading{meaning: repeat}
	}
	if _, ok := r.extended(q, m); ok && r.mode == accumulated {
		return reading{meaning: repeat}
	}
	return first(q)
}

func (r *record) readLatest(q *request, m *marker) reading {
	switch {
	case (q.copied || q.Step != "") && r.last(q, m), q.Text == "" && r.state.Step == 0:
		return reading{meaning: repeat}
	}
	return answer(q)
}

// newest is the mark of the last text.
func (r *record) newest() mark {
	if len(r.seen) == 0 {
		return mark{}
	}
	return r.seen[len(r.seen)-1]
}

// last reports whether the request carries the text of the one before, or the
// step and the text of any one before.
func (r *record) last(q *request, m *marker) bool {
	if q.Step != "" {
		return slices.Contains(r.seen, m.mark(&q.key, q.whole()))
	}
	n := r.newest()
	if n.length == 0 || q.Text == "" {
		return n.length == len(q.Text)
	}
	return n.length == len(q.Text) && n == m.mark(&q.key, q.Text)
}

// began reports whether the request carries the text the session began with.
func (r *record) began(q *request, m *marker) bool {
	if r.mode == latest || len(r.seen) == 0 {
		return q.Text == ""
	}
	return q.Text == "" || r.saw(q, m)
}

// saw reports whether the text was seen before, or is the beginning of one that
// was.
func (r *record) saw(q *request, m *marker) bool {
	if q.Text == "" {
		return true
	}
	for _, s := range r.seen {
		if s.length == len(q.Text) {
			return s == m.mark(&q.key, q.Text)
		}
	}
	return false
}

// extended returns what the text adds to the last one, if it continues it.
func (r *record) extended(q *request, m *marker) ([]part, bool) {
	n := r.newest()
	switch {
	case q.Text == "":
		return nil, false
	case n.length == 0:
		return split(q.Text, 0), true
	case len(q.Text) <= n.length || q.Text[n.length] != '*' || n != m.mark(&q.key, q.Text[:n.length]):
		return nil, false
	}
	return split(q.Text, n.length+1), true
}

// note keeps the marks of parts that were taken.
func (r *record) note(q *request, m *marker, rd *reading) {
	switch {
	case q.Step != "":
		r.seen = append(r.seen[max(0, len(r.seen)-maxStops):], m.mark(&q.key, q.whole()))
		return
	case rd.stepped:
		r.seen = append(r.seen[:0], m.mark(&q.key, q.Text))
		return
	}
	for _, p := range rd.parts {
		r.seen = append(r.seen, m.mark(&q.key, q.Text[:p.end]))
	}
}
