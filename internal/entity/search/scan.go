package search

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// Records are JSON we have written ourselves, and a page may have to look into
// thousands of them. What follows reads single members without decoding the
// rest. It trusts the text to be JSON; from anything else it reads nonsense,
// but never past the end.

// members calls fn with each member of the object b: its raw name, and where
// its value begins and ends. It stops when fn returns false.
func members(b string, fn func(name string, from, to int) bool) {
	i := blank(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	for i = blank(b, i+1); i < len(b) && b[i] == '"'; {
		end := skip(b, i)
		name := b[i+1 : max(i+1, end-1)]
		i = blank(b, blank(b, end)+1) // over the colon
		if i >= len(b) {
			return
		}
		if end = skip(b, i); end == i || !fn(name, i, end) {
			return
		}
		if i = blank(b, end); i < len(b) && b[i] == ',' {
			i = blank(b, i+1)
		}
	}
}

// elements calls fn with each element of the array b.
func elements(b string, fn func(value string)) {
	i := blank(b, 0)
	if i >= len(b) || b[i] != '[' {
		return
	}
	for i = blank(b, i+1); i < len(b) && b[i] != ']'; {
		end := skip(b, i)
		if end == i {
			return
		}
		fn(b[i:end])
		if i = blank(b, end); i < len(b) && b[i] == ',' {
			i = blank(b, i+1)
		}
	}
}

// blank is the first place from i on that holds no blank.
func blank(b string, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return min(i, len(b))
}

// skip is the place after the value that begins at i.
func skip(b string, i int) int {
	switch b[i] {
	case '"':
		return skipText(b, i)
	case '{', '[':
		level := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipText(b, i)
				continue
			case '{', '[':
				level++
			case '}', ']':
				level--
			}
			if i++; level == 0 {
				return i
			}
		}
		return len(b)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

func skipText(b string, i int) int {
	for i++; i < len(b); {
		end := strings.IndexByte(b[i:], '"')
		if end < 0 {
			return len(b)
		}
		slashes := 0
		for j := i + end - 1; j >= i && b[j] == '\\'; j-- {
			slashes++
		}
		if i += end + 1; slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// decode reads a value. Short texts and numbers are most of them, and need no
// decoder.
func decode(v string) (any, bool) {
	switch {
	case v[0] == '"' && len(v) > 1 && strings.IndexByte(v, '\\') < 0:
		return v[1 : len(v)-1], true
	case v == "true", v == "false":
		return v == "true", true
	case v == "null":
		return nil, true
	case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	var out any
	err := json.Unmarshal([]byte(v), &out)
	return out, err == nil
}

// plain decodes a name, or a text without its quotes.
func plain(name string) string {
	if strings.IndexByte(name, '\\') < 0 {
		return name
	}
	var out string
	if json.Unmarshal([]byte(`"`+name+`"`), &out) != nil {
		return name
	}
	return out
}

// tree is the requested part of a record.
type tree rql.Tree

func (t tree) add(path []string) { rql.Tree(t).Add(path) }

// decode reads the wanted members of the object b.
func (t tree) decode(b string) map[string]any {
	out := make(map[string]any, len(t))
	left := len(t)
	members(b, func(name string, from, to int) bool {
		name = plain(name)
		below, ok := t[name]
		if !ok {
			return true
		}
		left--
		if value := b[from:to]; below != nil && value[0] == '{' {
			out[name] = tree(below).decode(value)
		} else if v, ok := decode(value); ok {
			out[name] = v
		}
		return left > 0
	})
	return out
}

// locate finds the value of one member of the object b; from is to without it.
func locate(b, want string) (from, to int) {
	members(b, func(name string, i, j int) bool {
		if name == want {
			from, to = i, j
		}
		return name != want
	})
	return from, to
}

// member is the value of one member of the object b, "" without it.
func member(b, name string) string {
	from, to := locate(b, name)
	return b[from:to]
}

// text is the value of a member that is a text, "" otherwise.
func text(b, name string) string {
	v := member(b, name)
	if v == "" {
		return ""
	}
	out, _ := decode(v)
	s, _ := out.(string)
	return s
}
