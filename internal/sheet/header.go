package sheet

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// cell is one cell as a reader found it.
type cell struct {
	text   string
	number bool   // XLSX marks it as a number
	truth  bool   // XLSX marks it as a boolean; text is true or false
	date   bool   // a number that is shown as a date; text is RFC 3339
	bad    string // why it cannot be read

	guarded  bool // text lost an apostrophe
	computed bool // XLSX says it is the value of a formula
}

func (c cell) empty() bool { return c.text == "" && c.bad == "" }

// header turns rows into records: it knows the path and the kind of every
// column.
type header struct {
	columns *Columns
	names   []string // as the file has them, for messages
	kinds   []string
	at      []int // column of columns; -1: left out, -2: has no name
	line    int64 // where the names stand
}

// newHeader reads the row of names.
func newHeader(names []string, line int64, o Options) (*header, error) {
	for len(names) > 0 && strings.TrimSpace(names[len(names)-1]) == "" {
		names = names[:len(names)-1]
	}
	if len(names) == 0 {
		return nil, &Error{Line: line, Code: "no_columns", Detail: "The first line must name the columns."}
	}
	if len(names) > MaxColumns {
		return nil, tooManyColumns(line)
	}
	h := &header{columns: &Columns{root: newNode("")}, line: line}
	left := len(o.Mapping)
	for i, name := range names {
		name = strings.TrimSpace(name)
		path, mapped := o.Mapping[name]
		if mapped {
			left--
		} else {
			path = name
			if o.Flat {
				path = joinPath("", name)
			}
		}
		h.names = append(h.names, name)
		switch {
		case name == "":
			h.at = append(h.at, -2)
		case path == "":
			h.at = append(h.at, -1)
		default:
			if err := h.column(path); err != nil {
				e := AsError(err)
				e.Line, e.Column = line, columnName(name, i)
				return nil, e
			}
			h.kinds = append(h.kinds, o.Kind(path))
		}
	}
	if left > 0 {
		return nil, h.unmapped(line, o)
	}
	return h, nil
}

func (h *header) column(path string) error {
	if !validText(path) {
		return &Error{Code: "not_text", Detail: "The name of the column is not valid UTF-8, or holds U+0000."}
	}
	if err := h.columns.add(path, len(h.columns.paths)); err != nil {
		return err
	}
	h.at = append(h.at, len(h.columns.paths))
	h.columns.paths = append(h.columns.paths, path)
	return nil
}

// unmapped names a column of the mapping that the file does not have.
func (h *header) unmapped(line int64, o Options) error {
	have := map[string]bool{}
	for _, name := range h.names {
		have[name] = true
	}
	missing := ""
	for name := range o.Mapping {
		if !have[name] && (missing == "" || name < missing) {
			missing = name
		}
	}
	return &Error{Line: line, Column: missing, Code: "unknown_column", Detail: "The mapping names a column the file does not have: " + shorten(missing) + "."}
}

func columnName(name string, i int) string {
	if name == "" {
		return strconv.Itoa(i + 1)
	}
	return shorten(name)
}

// record makes the record of a row.
func (h *header) record(line int64, cells []cell) Record {
	rec := Record{Line: line, cells: cells}
	values := make([]jsontext.Value, len(h.columns.paths))
	for i, c := range cells {
		if c.empty() {
			continue
		}
		at, name := -2, ""
		if i < len(h.at) {
			at, name = h.at[i], h.names[i]
		}
		switch {
		case at == -1:
			continue
		case at == -2:
			rec.Errs = append(rec.Errs, &Error{Line: line, Column: columnName("", i), Code: "unnamed_column", Detail: "The cell stands in a column without a name."})
			continue
		}
		v, detail := c.value(h.kinds[at])
		if detail != "" {
			rec.Errs = append(rec.Errs, &Error{Line: line, Column: columnName(name, i), Code: "wrong_type", Detail: detail})
			continue
		}
		values[at] = v
	}
	if path := h.columns.root.clash(values); path != "" {
		rec.Errs = append(rec.Errs, &Error{Line: line, Column: shorten(path), Code: "nested_column", Detail: "The cell is a value, and other cells of the row are members of it."})
	}
	if len(rec.Errs) == 0 {
		rec.JSON, _ = appendNode(nil, h.columns.root, values)
	}
	return rec
}

// clash finds a path that has a value of its own and values inside it.
func (n *node) clash(values []jsontext.Value) string {
	for _, name := range n.names {
		child := n.children[name]
		if len(child.names) == 0 {
			continue
		}
		if child.column >= 0 && values[child.column] != nil && child.filled(values) {
			return child.path
		}
		if path := child.clash(values); path != "" {
			return path
		}
	}
	return ""
}

// filled reports whether something inside n has a value.
func (n *node) filled(values []jsontext.Value) bool {
	for _, name := range n.names {
		c := n.children[name]
		if c.column >= 0 && values[c.column] != nil || c.filled(values) {
			return true
		}
	}
	return false
}

// appendNode writes the members of n that have values, false when none has.
func appendNode(out []byte, n *node, values []jsontext.Value) ([]byte, bool) {
	if n.column >= 0 && values[n.column] != nil {
		return append(out, values[n.column]...), true
	}
	out = append(out, '{')
	some := false
	for _, name := range n.names {
		before := len(out)
		if some {
			out = append(out, ',')
		}
		quoted, err := jsontext.AppendQuote(out, name)
		var ok bool
		if out, ok = appendNode(append(quoted, ':'), n.children[name], values); !ok || err != nil {
			out = out[:before]
			continue
		}
		some = true
	}
	return append(out, '}'), some || n.path == ""
}

// value is the JSON of a cell of a kind, or what is wrong with it. The message
// never repeats the cell, which may be personal, because reports are stored.
func (c cell) value(kind string) (v jsontext.Value, detail string) {
	if c.bad != "" {
		return nil, c.bad
	}
	switch kind {
	case "number":
		return c.numeric()
	case "boolean":
		return c.boolean()
	case "object", "array", "json":
		return c.document(kind)
	case "any":
		if v := jsontext.Value(c.text); !c.number && (v.Kind() == '0' || v.Kind() == 't' || v.Kind() == 'f') && checkValue(v) {
			return v, ""
		}
		return c.guess()
	case "":
		return c.guess()
	}
	return c.words(kind)
}

func (c cell) numeric() (jsontext.Value, string) {
	if c.date || c.truth {
		return nil, "The cell must be a number."
	}
	text := strings.TrimSpace(c.text)
	v := jsontext.Value(text)
	if v.Kind() != '0' || !v.IsValid() {
		return nil, "The cell must be a number, with a point before its decimals."
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, "The number is too large."
	}
	if c.number {
		return shortest(f), ""
	}
	return v, ""
}

// shortest writes a number of XLSX: 0.1 is kept there as
// 0.10000000000000001, with 17 digits.
func shortest(f float64) jsontext.Value {
	if f == 0 {
		f = 0 // -0 is 0
	}
	if math.Abs(f) < 1e21 && f == math.Trunc(f) {
		return strconv.AppendFloat(nil, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64)
}

func (c cell) boolean() (jsontext.Value, string) {
	switch strings.ToLower(strings.TrimSpace(c.text)) {
	case "true", "1":
		return jsontext.Value("true"), ""
	case "false", "0":
		return jsontext.Value("false"), ""
	}
	return nil, "The cell must be true or false."
}

// document reads JSON text.
func (c cell) document(kind string) (jsontext.Value, string) {
	v := jsontext.Value(strings.TrimSpace(c.text))
	if checkValue(v) && (kind == "json" || kind == "array" && v.Kind() == '[' || kind != "array" && v.Kind() == '{') {
		return v, ""
	}
	want := "a JSON object"
	if kind == "array" {
		want = "a JSON array"
	}
	return nil, "The cell must hold " + want + "."
}

func checkValue(v jsontext.Value) bool {
	if v.Kind() == '{' {
		return checkObject(v) == nil
	}
	// The checks of an object fit anything inside one.
	return checkObject(append(append([]byte(`{"v":`), v...), '}')) == nil
}

// guess converts a cell of an undeclared path.
func (c cell) guess() (jsontext.Value, string) {
	if c.truth {
		return jsontext.Value(c.text), ""
	}
	if c.number && !c.date {
		return c.numeric()
	}
	if c.text != "" && strings.IndexByte(`[{"`, c.text[0]) >= 0 {
		if v := jsontext.Value(c.text); checkValue(v) {
			return v, ""
		}
	}
	return c.words("")
}

// words is a text. A number that became one by a spreadsheet's wish is written
// as it looks there.
func (c cell) words(kind string) (jsontext.Value, string) {
	text := c.text
	switch {
	case c.date:
		text = dateText(text, kind)
	case c.number:
		v, detail := c.numeric()
		if detail != "" {
			return nil, detail
		}
		text = string(v)
	}
	if !validText(text) {
		return nil, "The text is not valid UTF-8, or holds U+0000."
	}
	v, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, "The text is not valid UTF-8."
	}
	return v, ""
}

// dateText writes a time of XLSX for its kind: without the time of day for a
// date, or at midnight unless the kind includes a time.
func dateText(text, kind string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	midnight := t.Equal(t.Truncate(24 * time.Hour))
	if kind == "date" || kind != "date-time" && midnight {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}
