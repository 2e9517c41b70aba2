package answer

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads stored answers: canonical JSON, without spaces. It leaves
// complex values to the decoder, and rejects text that is not canonical.
type scanner struct {
	*reader
	text []byte // what is left
}

// object reads the members of a section, a group or a matrix. It returns false
// when the text is not canonical.
func (s *scanner) object(p *place) bool {
	if !s.take('{') {
		return false
	}
	for first := true; !s.take('}'); first = false {
		if !first && !s.take(',') {
			return false
		}
		name, ok := s.value()
		if !ok || len(name) < 2 || name[0] != '"' || !s.take(':') {
			return false
		}
		k := p.kids[string(name[1:len(name)-1])]
		if k != nil && k.form == 0 && len(s.text) > 0 && s.text[0] == '{' {
			if !s.object(k) {
				return false
			}
			continue
		}
		v, ok := s.value()
		if !ok || k != nil && !s.leaf(k, v) {
			return false
		}
	}
	return true
}

func (s *scanner) take(c byte) bool {
	if len(s.text) == 0 || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

// value cuts off the next value.
func (s *scanner) value() ([]byte, bool) {
	depth, quoted := 0, false
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return s.cut(i + 1)
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return s.cut(i)
			}
			if depth--; depth == 0 {
				return s.cut(i + 1)
			}
		case c == ',' && depth == 0:
			return s.cut(i)
		}
	}
	return nil, false
}

func (s *scanner) cut(n int) ([]byte, bool) {
	v := s.text[:n]
	s.text = s.text[n:]
	return v, n > 0
}

// leaf reads one answer.
func (s *scanner) leaf(p *place, v []byte) bool {
	switch kind := jsontext.Value(v).Kind(); {
	case kind == '"' && !bytes.Contains(v, []byte{'\\'}):
		s.reader.value(p, string(v[1:len(v)-1]), 0)
	case kind == '0':
		num, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return false
		}
		s.add(p, number, "", num, 0)
	case kind == 't' || kind == 'f':
		code, num := flag(kind == 't')
		s.add(p, boolean, code, num, 0)
	case kind == 'n':
	default:
		var any any
		if json.Unmarshal(v, &any) != nil {
			return false
		}
		s.reader.value(p, any, 0)
	}
	return true
}
