package form

import (
	"github.com/go-json-experiment/json/jsontext"
)

// part is which answers are written.
type part uint8

const (
	everything part = iota
	publicOnly
	privateOnly
)

// writer writes the answers that count in canonical order.
type writer struct {
	ev      *evaluation
	private int
	buf     []byte
}

// stands reports whether an answer of a leaf is written.
func (b *block) stands(n *node) bool {
	c := &b.cells[n.index]
	return c.state != blank && c.known.is() && n.leaf()
}

// collect gathers the attachments and private answers.
func (w *writer) collect() {
	for i, on := range w.ev.f.selected {
		if on {
			w.block(&w.ev.blocks[i])
		}
	}
}

func (w *writer) block(b *block) {
	for _, n := range b.box.nodes {
		c := &b.cells[n.index]
		switch {
		case !c.known.is():
		case n.kind.Repeated:
			if n.private && c.state == given {
				w.private++ // an empty one too
			}
			for _, e := range c.elements {
				w.block(e)
			}
		case n.kind.Nested:
			w.block(c.kids)
		case b.stands(n):
			w.leaf(b, n, c)
		}
	}
}

func (w *writer) leaf(b *block, n *node, c *cell) {
	r := w.ev.r
	if n.kind.Media && c.state == given {
		r.Attachments = append(r.Attachments, b.string(c))
	}
	if n.private {
		if w.private++; len(r.Masked) < MaxMasked {
			r.Masked = append(r.Masked, b.at(n))
		}
	}
}

// write gives one part of the answers, of about that size.
func (w *writer) write(p part, size int) jsontext.Value {
	w.buf = make([]byte, 0, size)
	w.buf = append(w.buf, '{')
	for _, i := range w.ev.f.order {
		s := w.ev.f.sections[i]
		w.member(s.id, func() bool { return w.members(&w.ev.blocks[i], p) })
	}
	return append(w.buf, '}')
}

// member writes a name and its value, and removes both again when there is no
// value. Names are ids: they need no escapes.
func (w *writer) member(name string, value func() bool) bool {
	start := len(w.buf)
	if w.buf[start-1] != '{' {
		w.buf = append(w.buf, ',')
	}
	w.buf = append(append(append(w.buf, '"'), name...), '"', ':')
	if !value() {
		w.buf = w.buf[:start]
		return false
	}
	return true
}

// members writes the answers of a block as an object. It reports whether there
// were any.
func (w *writer) members(b *block, p part) bool {
	w.buf = append(w.buf, '{')
	found := false
	for _, n := range b.box.sorted {
		if b.cells == nil || !b.cells[n.index].known.is() || b.cells[n.index].state == blank {
			continue
		}
		if w.member(n.id, func() bool { return w.value(b, n, p) }) {
			found = true
		}
	}
	w.buf = append(w.buf, '}')
	return found
}

func (w *writer) value(b *block, n *node, p part) bool {
	c := &b.cells[n.index]
	switch {
	case n.kind.Repeated:
		return w.elements(n, c, p)
	case n.kind.Nested:
		return w.members(c.kids, p)
	}
	if p == publicOnly && n.private || p == privateOnly && !n.private || !n.leaf() {
		return false
	}
	w.buf = append(w.buf, b.canonical(c)...)
	return true
}

// elements writes a repeat. The public part has all elements, so that they can
// be counted, unless the whole repeat is private; the private part has as many,
// so that the two can be put together again.
func (w *writer) elements(n *node, c *cell, p part) bool {
	if p == publicOnly && n.private {
		return false
	}
	found := p == everything || p == publicOnly || n.private
	w.buf = append(w.buf, '[')
	for i, e := range c.elements {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if w.members(e, p) {
			found = true
		}
	}
	w.buf = append(w.buf, ']')
	return found
}
