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

// values extracts the wanted values from an answer. One that is missing, or not
// a text, a number or a boolean, removes the variable.
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
		if len(p.Columns) == 0 {
			set[p.Var] = text(find(doc, p.At))
			continue
		}
		var err error
		if set[p.Var], err = rows(find(doc, p.At), p.Columns); err != nil {
			return nil, err
		}
	}
	return set, nil
}

const (
	maxCell = 60      // characters of a column
	maxList = 6 << 10 // bytes of a list: it is stored with every step
)

// rows extracts the rows of a list, as many as there is room for; "" for none.
func rows(list jsontext.Value, columns []menu.Column) (string, error) {
	var items []jsontext.Value
	if list.Kind() != '[' || json.Unmarshal(list, &items) != nil {
		return "", nil
	}
	var out []map[string]string
	size := 2
	for _, item := range items[:min(len(items), menu.MaxRows)] {
		row := make(map[string]string, len(columns))
		for _, c := range columns {
			row[c.Name] = cut(text(find(item, c.At)), maxCell)
			size += len(c.Name) + len(row[c.Name]) + 8
		}
		if size > maxList {
			break
		}
		out = append(out, row)
	}
	if len(out) == 0 {
		return "", nil
	}
	return menu.Rows(out)
}

// outcome is ok, or empty when the first list that is wanted has no rows.
func outcome(set map[string]string, wanted []menu.Pick) string {
	for _, p := range wanted {
		if len(p.Columns) > 0 {
			if set[p.Var] == "" {
				return menu.Empty
			}
			break
		}
	}
	return resOK
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
	return cut(s, maxValue)
}

// cut keeps the first n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
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

// chosen is what a menu takes out of an answer, as a JSON object; the whole answer
// where it takes nothing.
func chosen(answer string, wanted []menu.Pick) string {
	if len(wanted) == 0 {
		return answer
	}
	doc, out := jsontext.Value(strings.TrimSpace(answer)), []string(nil)
	if !doc.IsValid() {
		return answer
	}
	for _, p := range wanted {
		if s := words(find(doc, p.At)); s != "" {
			out = append(out, strings.ReplaceAll(p.Var, "_", " ")+": "+s)
		}
	}
	return strings.Join(out, ", ")
}

// words puts JSON into words: the members of an object by their names, the items of
// a list one after the other.
func words(v jsontext.Value) string {
	d := jsontext.NewDecoder(strings.NewReader(string(v)))
	out, err := next(d)
	if err != nil {
		return ""
	}
	return out
}

// next puts the next value into words. The decoder limits the depth of JSON.
func next(d *jsontext.Decoder) (string, error) {
	switch d.PeekKind() {
	case '{', '[':
		return inside(d)
	case 'n':
		return "", d.SkipValue()
	}
	t, err := d.ReadToken()
	return t.String(), err
}

// inside puts an object or a list into words.
func inside(d *jsontext.Decoder) (string, error) {
	open, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	var parts []string
	between := "; "
	for err == nil && d.PeekKind() != '}' && d.PeekKind() != ']' {
		name := ""
		if open.Kind() == '{' {
			between = ", "
			t, err := d.ReadToken()
			if err != nil {
				return "", err
			}
			name = strings.ReplaceAll(t.String(), "_", " ") + ": "
		}
		var s string
		if s, err = next(d); s != "" {
			parts = append(parts, name+s)
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return strings.Join(parts, between), err
}
