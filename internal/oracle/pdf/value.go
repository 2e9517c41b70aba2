package pdf

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// What there is in a PDF: nil, bool, float64, string, and these.
type (
	name  string
	ref   int // an object by its number; generations are ignored
	array []any
	dict  map[name]any
	word  string // an operator, or what closes an array or a dictionary
)

// stream is a dictionary with its raw bytes.
type stream struct {
	head dict
	raw  []byte
}

const (
	maxDepth = 32         // of arrays and dictionaries in each other
	kept     = 3 * inStep // what a value costs that is kept, in bytes that are read
)

// scanner reads values. It never fails: errors are skipped, and its work is bounded.
type scanner struct {
	in   []byte
	at   int
	work *work
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

// skip passes spaces and comments.
func (s *scanner) skip() {
	for s.at < len(s.in) {
		switch c := s.in[s.at]; {
		case isSpace(c):
			s.at++
		case c == '%':
			end := bytes.IndexAny(s.in[s.at:], "\r\n")
			if end < 0 {
				end = len(s.in) - s.at
			}
			s.at += end
		default:
			return
		}
	}
}

// value reads the next value. ok is false at the end.
func (s *scanner) value(depth int) (v any, ok bool) {
	if !s.work.step() { // before spaces are passed, which may be the whole file
		return nil, false
	}
	from := s.at
	s.skip()
	s.work.spend(s.at - from)
	if s.at >= len(s.in) || depth > maxDepth {
		return nil, false
	}
	switch c := s.in[s.at]; {
	case c == '<' && s.next() == '<':
		s.at += 2
		return s.dict(depth), true
	case c == '[':
		s.at++
		return s.array(depth), true
	}
	from = s.at
	v = s.single()
	s.work.spend(s.at - from)
	return v, true
}

// single reads a value that holds no other.
func (s *scanner) single() any {
	c := s.in[s.at]
	if isDelimiter(c) {
		s.at++
	}
	switch {
	case c == '/':
		return s.name()
	case c == '(':
		return s.literal()
	case c == '<':
		return s.hex()
	case c == '>' && s.at < len(s.in) && s.in[s.at] == '>':
		s.at++
		return word(">>")
	case isDelimiter(c):
		return word(c)
	}
	return s.plain()
}

// next is the byte after this one.
func (s *scanner) next() byte {
	if s.at+1 < len(s.in) {
		return s.in[s.at+1]
	}
	return 0
}

// regular reads until a space or a delimiter.
func (s *scanner) regular() []byte {
	from := s.at
	for s.at < len(s.in) && !isSpace(s.in[s.at]) && !isDelimiter(s.in[s.at]) {
		s.at++
	}
	return s.in[from:s.at]
}

func (s *scanner) name() name {
	raw := s.regular()
	if bytes.IndexByte(raw, '#') < 0 {
		return name(raw)
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if n, err := strconv.ParseUint(string(raw[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return name(out)
}

// plain reads a number, a reference, a constant or an operator.
func (s *scanner) plain() any {
	raw := s.regular()
	if n, ok := figure(raw); ok {
		if id, ok := s.reference(raw); ok {
			return id
		}
		return n
	}
	switch string(raw) {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	return word(raw)
}

// figure reads a number, of a size that numbers in files have.
func figure(raw []byte) (float64, bool) {
	if len(raw) == 0 || len(raw) > 32 || strings.Trim(string(raw), "+-.0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil && math.Abs(n) < 1e12
}

// reference reads the rest of "12 0 R" after its first number.
func (s *scanner) reference(first []byte) (ref, bool) {
	id, err := strconv.Atoi(string(first))
	if err != nil || id < 0 {
		return 0, false
	}
	i := s.at
	defer func() { s.work.spend(i - s.at) }() // what was searched in vain
	for ; i < len(s.in) && isSpace(s.in[i]); i++ {
	}
	from := i
	for ; i < len(s.in) && s.in[i] >= '0' && s.in[i] <= '9'; i++ {
	}
	if i == from || i-from > 5 {
		return 0, false
	}
	for ; i < len(s.in) && isSpace(s.in[i]); i++ {
	}
	if i >= len(s.in) || s.in[i] != 'R' || i+1 < len(s.in) && !isSpace(s.in[i+1]) && !isDelimiter(s.in[i+1]) {
		return 0, false
	}
	s.at = i + 1
	return ref(id), true
}

func (s *scanner) array(depth int) array {
	var out array
	for {
		v, ok := s.value(depth + 1)
		if !ok || v == word("]") {
			return out
		}
		s.work.spend(kept)
		out = append(out, v)
	}
}

func (s *scanner) dict(depth int) dict {
	out := dict{}
	for {
		key, ok := s.value(depth + 1)
		if !ok || key == word(">>") {
			return out
		}
		k, isName := key.(name)
		if !isName {
			continue
		}
		v, ok := s.value(depth + 1)
		if !ok || v == word(">>") {
			return out
		}
		s.work.spend(kept)
		out[k] = v
	}
}

func (s *scanner) hex() string {
	var out []byte
	half := -1
	for ; s.at < len(s.in); s.at++ {
		c := s.in[s.at]
		if c == '>' {
			s.at++
			break
		}
		n, err := strconv.ParseUint(string(c), 16, 8)
		switch {
		case err != nil:
		case half < 0:
			half = int(n)
		default:
			out, half = append(out, byte(half<<4|int(n))), -1
		}
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	return string(out)
}

// escapes are the letters with a meaning after a backslash.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

func (s *scanner) literal() string {
	var out []byte
	for open := 1; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; c {
		case '\\':
			out = s.escape(out)
			continue
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				s.at++
				return string(out)
			}
		}
		out = append(out, s.in[s.at])
	}
	return string(out)
}

// escape reads what follows a backslash, and stays on its last byte.
func (s *scanner) escape(out []byte) []byte {
	s.at++
	if s.at >= len(s.in) {
		return out
	}
	c := s.in[s.at]
	if to, ok := escapes[c]; ok {
		return append(out, to)
	}
	switch {
	case c == '\r' && s.next() == '\n':
		s.at++
		return out
	case c == '\r' || c == '\n':
		return out
	case c < '0' || c > '7':
		return append(out, c)
	}
	n := int(c - '0')
	for range 2 {
		if d := s.next(); d >= '0' && d <= '7' {
			n = n*8 + int(d-'0')
			s.at++
		}
	}
	return append(out, byte(n))
}
