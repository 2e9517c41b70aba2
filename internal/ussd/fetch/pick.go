package fetch

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// maxValue is how many characters of a value are kept.
const maxValue = 160

var errNoJSON = errors.New("not JSON")

// values takes what is wanted out of an answer. What is not there, and what is
// neither a text, a number nor a boolean, removes the variable.
func values(data []byte, wanted []menu.Pick) (map[string]string, error) {
	set := make(map[string]string, len(wanted))
	doc := jsontext.Value(strings.TrimSpace(string(data)))
	if len(doc) == 0 && len(wanted) == 0 {
		return set, nil // nothing was asked for
	}
	if !doc.IsValid() {
		return nil, errNoJSON
	}
	for _, p := range wanted {
		set[p.Var] = text(find(doc, p.At))
	}
	return set, nil
}

// find follows a JSON Pointer; nil is nothing.
func find(doc jsontext.Value, pointer string) jsontext.Value {
	if pointer == "" {
		return doc
	}
	for _, name := range strings.Split(pointer[1:], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch doc.Kind() {
		case '{':
			var members map[string]jsontext.Value
			if json.Unmarshal(doc, &members) != nil {
				return nil
			}
			doc = members[name]
		case '[':
			var items []jsontext.Value
			i, err := strconv.Atoi(name)
			if err != nil || json.Unmarshal(doc, &items) != nil || i < 0 || i >= len(items) {
				return nil
			}
			doc = items[i]
		default:
			return nil
		}
	}
	return doc
}

// text is a value on one line of a screen.
func text(v jsontext.Value) string {
	s := ""
	switch v.Kind() {
	case '"':
		if json.Unmarshal(v, &s) != nil {
			return ""
		}
	case '0', 't', 'f':
		s = string(v)
	}
	s = strings.Join(strings.Fields(strings.Map(printable, s)), " ")
	if r := []rune(s); len(r) > maxValue {
		s = string(r[:maxValue])
	}
	return s
}

// printable keeps what a line can show.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}
