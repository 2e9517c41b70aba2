package export

import (
	"fmt"
	"slices"
	"strconv"
)

// longRow is an answer with its place.
type longRow struct {
	section, question string
	index             string // places in the lists around it, counted from 1: 2.1
	value             cell
}

// longHeads are the columns of the response that a long table begins with.
func (l *Layout) longHeads() []int {
	var out []int
	for i, h := range l.heads {
		if slices.Contains(h.column.Shapes, Long) {
			out = append(out, i)
		}
	}
	return out
}

// longNames are the columns of a long table after those of the response.
var longNames = [...]string{"section", "question", "index", "value"}

// each gives every answer of a response to emit, section by section.
func (l *Layout) each(r *Response, emit func(longRow)) error {
	if err := l.fillHead(r); err != nil {
		return err
	}
	p := scanner{s: r.Answers}
	w := longWalk{l: l, emit: emit}
	w.members(&p, l.root, "")
	if p.bad {
		return fmt.Errorf("response %d: the answers cannot be read", r.NID)
	}
	return nil
}

type longWalk struct {
	l    *Layout
	emit func(longRow)
}

func (w longWalk) members(p *scanner, n *node, index string) {
	if !p.open('{') {
		return
	}
	at := 0
	for p.more('}') {
		kid := n.find(p.name(), &at)
		switch {
		case kid == nil:
			p.value()
		case kid.kind == object && p.peek() == '{':
			w.members(p, kid, index)
		case kid.kind == repeat && p.peek() == '[':
			p.i++
			for i := 1; p.more(']'); i++ {
				w.members(p, kid, below(index, i))
			}
		default:
			w.answer(p, kid, index)
		}
	}
}

// below is the index of an element of a list.
func below(index string, i int) string {
	if index == "" {
		return strconv.Itoa(i)
	}
	return index + "." + strconv.Itoa(i)
}

func (w longWalk) answer(p *scanner, n *node, index string) {
	raw := p.value()
	if p.bad || raw[0] == 'n' {
		return
	}
	put := func(suffix, index string, c cell) {
		if c.kind != empty {
			w.emit(longRow{n.section, n.path + suffix, index, c})
		}
	}
	if code := noAnswer(raw); code != "" {
		put("", index, word(code))
		return
	}
	choose := func(raw, index string) {
		text := otherText(raw)
		if text == "" {
			put("", index, cellOf(raw))
			return
		}
		put("", index, word(other))
		put("/other", index, cellOf(text))
	}
	in := scanner{s: raw}
	switch n.kind {
	case single:
		choose(raw, index)
	case several:
		if in.open('[') {
			for i := 1; in.more(']'); i++ {
				choose(in.value(), below(index, i))
			}
		}
	case parts:
		w.parts(&in, n, func(suffix string, c cell) { put(suffix, index, c) })
	case named:
		put("", index, word(n.name(w.l, textOf(raw))))
	default:
		put("", index, cellOf(raw))
	}
	p.bad = p.bad || in.bad
}

// parts takes an object apart that has several columns.
func (w longWalk) parts(p *scanner, n *node, put func(suffix string, c cell)) {
	if !p.open('{') {
		return
	}
	for p.more('}') {
		name, v := p.member(), p.value()
		if p.bad {
			return
		}
		if suffix, ok := n.suffix(name); ok {
			put(suffix, cellOf(w.l.coarse(n, v)))
		}
	}
}

// suffix is what the question of a part ends with.
func (n *node) suffix(name string) (string, bool) {
	for _, p := range n.parts {
		if p.Name == name {
			return p.Suffix, true
		}
	}
	return "." + name, n.of.Rows
}
