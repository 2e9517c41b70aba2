package rql

import (
	"strings"
	"unicode/utf8"
)

// maxPiece is how long a piece between two stars may be when it holds a
// question mark: it is searched for with one machine word.
const maxPiece = 64

const oneRune = -1 // means ? in a piece

// glob is a compiled pattern. Matching looks at each character of a text a
// fixed number of times, so no pattern is slow.
type glob struct {
	pieces []piece // between stars; the first is at the start, the last at the end
}

// piece is what stands between two stars.
type piece struct {
	text  string // when it has no ?
	runes []rune // when it has
}

// newGlob compiles a pattern, or says what is wrong with it.
func newGlob(pattern string) (*glob, string) {
	if utf8.RuneCountInString(pattern) > maxPattern {
		return nil, "A pattern is at most 256 characters long."
	}
	g := &glob{}
	var now []rune
	wild, escaped := false, false
	flush := func() {
		p := piece{runes: now}
		if !wild {
			p = piece{text: string(now)}
		}
		g.pieces = append(g.pieces, p)
		now, wild = nil, false
	}
	for _, r := range pattern {
		switch {
		case escaped:
			now, escaped = append(now, r), false
		case r == '\\':
			escaped = true
		case r == '*':
			flush()
		case r == '?':
			now, wild = append(now, oneRune), true
		default:
			now = append(now, r)
		}
	}
	if escaped {
		return nil, "The pattern ends in a backslash."
	}
	flush()
	for _, p := range g.pieces {
		if len(p.runes) > maxPiece {
			return nil, "A part of a pattern with a question mark is at most 64 characters long."
		}
	}
	return g, ""
}

// prefix is the text every match begins with, and whether anything may follow
// it.
func (g *glob) prefix() (text string, open bool) {
	first := g.pieces[0]
	if first.runes == nil {
		return first.text, len(g.pieces) > 1
	}
	n := 0
	for n < len(first.runes) && first.runes[n] != oneRune {
		n++
	}
	return string(first.runes[:n]), true
}

func (g *glob) match(s string) bool {
	first, last := g.pieces[0], g.pieces[len(g.pieces)-1]
	n, ok := first.atStart(s)
	if !ok {
		return false
	}
	if s = s[n:]; len(g.pieces) == 1 {
		return s == ""
	}
	for _, p := range g.pieces[1 : len(g.pieces)-1] {
		end := p.find(s)
		if end < 0 {
			return false
		}
		s = s[end:]
	}
	return last.atEnd(s)
}

// atStart reports whether s begins with p, and how many bytes that takes.
func (p piece) atStart(s string) (int, bool) {
	if p.runes == nil {
		return len(p.text), strings.HasPrefix(s, p.text)
	}
	at := 0
	for _, want := range p.runes {
		r, n := utf8.DecodeRuneInString(s[at:])
		if n == 0 || want != oneRune && want != r {
			return 0, false
		}
		at += n
	}
	return at, true
}

// atEnd reports whether s ends with p.
func (p piece) atEnd(s string) bool {
	if p.runes == nil {
		return strings.HasSuffix(s, p.text)
	}
	for i := len(p.runes) - 1; i >= 0; i-- {
		r, n := utf8.DecodeLastRuneInString(s)
		if n == 0 || p.runes[i] != oneRune && p.runes[i] != r {
			return false
		}
		s = s[:len(s)-n]
	}
	return true
}

// find returns where the first match of p in s ends, -1 when there is none.
// With question marks it is the shift-and search: bit i of state says that the
// first i+1 characters of p have just been seen.
func (p piece) find(s string) int {
	if p.runes == nil {
		if at := strings.Index(s, p.text); at >= 0 {
			return at + len(p.text)
		}
		return -1
	}
	var wild, state uint64
	masks := make(map[rune]uint64, len(p.runes))
	for i, r := range p.runes {
		if r == oneRune {
			wild |= 1 << i
		} else {
			masks[r] |= 1 << i
		}
	}
	done := uint64(1) << (len(p.runes) - 1)
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRuneInString(s[at:])
		at += n
		if state = (state<<1 | 1) & (wild | masks[r]); state&done != 0 {
			return at
		}
	}
	return -1
}
