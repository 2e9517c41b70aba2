package export

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner walks over a JSON text that the store has written: it was checked
// when it came in, so this only finds where things are. It allocates nothing.
// Anything it does not understand ends the walk with bad.
type scanner struct {
	s   string
	i   int
	bad bool
}

// space skips what may stand between tokens.
func (p *scanner) space() {
	for p.i < len(p.s) && p.s[p.i] <= ' ' {
		p.i++
	}
}

// peek is the next byte, 0 at the end.
func (p *scanner) peek() byte {
	if p.i < len(p.s) && p.s[p.i] > ' ' {
		return p.s[p.i]
	}
	p.space()
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// open enters an object or array; false when the next value is something else.
func (p *scanner) open(c byte) bool {
	if p.peek() != c {
		p.bad = true
		return false
	}
	p.i++
	return true
}

// more reports whether an object or array has a further member, and steps over
// the comma before it, or over its end.
func (p *scanner) more(end byte) bool {
	if p.bad {
		return false
	}
	c := p.peek()
	if c == ',' {
		p.i++
		c = p.peek()
	}
	if c == end {
		p.i++
		return false
	}
	if c == 0 {
		p.bad = true
		return false
	}
	return true
}

// name reads the name of a member. Relevant names have no escapes; one with
// escapes is returned raw and matches nothing.
func (p *scanner) name() string {
	raw := p.text()
	if p.peek() != ':' || len(raw) < 2 {
		p.bad = true
		return ""
	}
	p.i++
	return raw[1 : len(raw)-1]
}

// member is name for names that may have escapes.
func (p *scanner) member() string {
	name := p.name()
	if strings.IndexByte(name, '\\') < 0 {
		return name
	}
	return plain(`"` + name + `"`)
}

// text reads a string with its quotes, escapes unchanged.
func (p *scanner) text() string {
	if p.peek() != '"' {
		p.bad = true
		return ""
	}
	for at := p.i + 1; ; {
		n := strings.IndexByte(p.s[at:], '"')
		if n < 0 {
			p.bad = true
			return ""
		}
		at += n
		back := at
		for p.s[back-1] == '\\' {
			back--
		}
		at++
		if (at-1-back)%2 == 0 {
			raw := p.s[p.i:at]
			p.i = at
			return raw
		}
	}
}

// value reads any value in its raw form.
func (p *scanner) value() string {
	c := p.peek()
	start := p.i
	switch c {
	case '"':
		return p.text()
	case '{', '[':
		p.nested()
	default:
		for p.i < len(p.s) {
			if b := p.s[p.i]; b == ',' || b == '}' || b == ']' || b <= ' ' {
				break
			}
			p.i++
		}
	}
	if p.bad || p.i == start {
		p.bad = true
		return ""
	}
	return p.s[start:p.i]
}

// nested steps over an object or array.
func (p *scanner) nested() {
	depth := 0
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case '"':
			if p.text(); p.bad {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		p.i++
		if depth == 0 {
			return
		}
	}
	p.bad = true
}

// plain is the text of a JSON string. It is copied only when it has escapes.
func plain(raw string) string {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	out, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(out)
}

// quote is a text as a JSON string.
func quote(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // invalid UTF-8 is replaced
	return b
}
