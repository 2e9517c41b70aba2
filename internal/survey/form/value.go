package form

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// valueOf is an answer as expressions see it.
func (b *block) valueOf(n *node, c *cell) cel.Value {
	if c.state != given {
		return cel.Null
	}
	return n.kind.value(b, n, c)
}

// canonical are the bytes of an answer.
func (b *block) canonical(c *cell) jsontext.Value {
	return jsontext.Value(b.ev.arena[c.start:c.end:c.end])
}

// compound is an answer that is an object. Few expressions ask for one, so it
// is taken apart only then.
func compound(b *block, n *node, c *cell) cel.Value {
	values := map[string]any{}
	if err := json.Unmarshal(b.canonical(c), &values); err != nil {
		return cel.Null
	}
	members := facts{fields: n.shape.Fields(), values: values}
	if n.kind.Rows {
		members.miss = func() { b.ev.miss(gap{b, n}) }
	}
	return &cel.Record{Shape: n.shape, Members: members}
}

// compute calculates a question, once, and compares what the client sent.
func (b *block) compute(n *node) {
	c := &b.cells[n.index]
	if c.calculated != unknown {
		return
	}
	c.calculated, c.value = busy, cel.Null
	sent := slices.Clone(b.canonical(c))
	had := c.state == given
	c.state = blank
	before := b.ev.gaps
	v, err := b.kept(n)
	if v == nil {
		v, err = b.eval(n.calculate)
	}
	if err == nil {
		start := len(b.ev.arena)
		if out, ok := result(b.ev.arena, v); ok && len(out)-start <= MaxText*4 {
			b.ev.arena = out
			c.start, c.end, c.state, c.value = start, len(out), given, v
		}
	}
	c.calculated = yes
	if b.ev.waiting(before, &c.calculated) {
		c.calculated = unsure
		return // what the client has sent cannot be judged
	}
	if had && !(c.state == given && same(sent, b.canonical(c))) {
		b.ev.wrong(b.at(n), "calculated", "The server calculates this value, and the result differs from the one sent.")
	}
}

// kept is the value that a question which is calculated once has already, nil
// when it has none.
func (b *block) kept(n *node) (cel.Value, error) {
	if !n.q.Once || len(b.ev.in.Before) == 0 {
		return nil, nil
	}
	if b.ev.before == nil {
		if err := json.Unmarshal(b.ev.in.Before, &b.ev.before); err != nil {
			return nil, err
		}
	}
	at := b.ev.before
	for step := range strings.SplitSeq(strings.TrimPrefix(b.at(n), "/responses/"), "/") {
		switch v := at.(type) {
		case map[string]any:
			at = v[step] // ids need no escape
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil, nil
			}
			at = v[i]
		default:
			return nil, nil
		}
	}
	if at == nil {
		return nil, nil
	}
	return cel.Native(at), nil
}

// eval evaluates an expression within the budget of the check.
func (b *block) eval(p *cel.Program) (cel.Value, error) {
	if b.ev.cost > b.ev.budget {
		return cel.Null, errBudget
	}
	v, cost, err := p.Eval(b)
	b.ev.cost += cost
	return v, err
}

// same reports whether two canonical values are equal, numbers up to the rounding
// of another order of operations.
func same(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if a.Kind() != '0' || b.Kind() != '0' {
		return false
	}
	var x, y float64
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}

// result appends the JSON of a calculated value. Times are RFC 3339 in UTC,
// durations seconds. Null, numbers that are not finite and texts that are too
// long have none.
func result(dst []byte, v cel.Value) ([]byte, bool) {
	switch v := v.Value().(type) {
	case bool:
		if v {
			return append(dst, "true"...), true
		}
		return append(dst, "false"...), true
	case string:
		if utf8.RuneCountInString(v) > MaxText || !clean(v) {
			return dst, false
		}
		return quote(dst, v), true
	case int64:
		return number(dst, float64(v)), true
	case uint64:
		return number(dst, float64(v)), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return dst, false
		}
		return number(dst, v), true
	case time.Time:
		return quote(dst, v.UTC().Format(time.RFC3339Nano)), true
	case time.Duration:
		return number(dst, v.Seconds()), true
	}
	return results(dst, v)
}

// results appends a list of calculated values.
func results(dst []byte, v cel.Value) ([]byte, bool) {
	list, ok := cel.Elements(v)
	if !ok || len(list) > MaxOptions {
		return dst, false
	}
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if _, nested := cel.Elements(e); nested {
			return dst, false
		}
		if dst, ok = result(dst, e); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}
