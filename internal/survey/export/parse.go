package export

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Answers reads the answers of a response back from the cells of a full wide
// table, the reverse of the writers. Calculated values are left out.
func (l *Layout) Answers(c *form.Cells) (jsontext.Value, []form.WrongCell) {
	p := parser{columns: l.columns, cells: c}
	out, _ := p.object([]byte(nil), l.root)
	return out, p.wrong
}

// parser makes answers of the cells of one row.
type parser struct {
	columns []Column // of the row's table
	cells   *form.Cells
	wrong   []form.WrongCell
}

// at is the value of a column.
func (p *parser) at(i int) string { return p.cells.Values[p.columns[i].Name] }

func (p *parser) bad(i int, detail string) {
	p.wrong = append(p.wrong, form.WrongCell{Column: p.columns[i].Name, Detail: detail})
}

// object writes the members of a section or group that have answers; false when
// none has.
func (p *parser) object(b []byte, n *node) ([]byte, bool) {
	b = append(b, '{')
	some := false
	for _, kid := range n.kids {
		before := len(b)
		if some {
			b = append(b, ',')
		}
		b = append(quote(b, kid.id), ':')
		ok := false
		switch kid.kind {
		case object:
			b, ok = p.object(b, kid)
		case repeat:
			b, ok = p.list(b, kid)
		default:
			b, ok = p.leaf(b, kid)
		}
		if !ok {
			b = b[:before]
			continue
		}
		some = true
	}
	return append(b, '}'), some
}

// list writes the entries of a repeat: of its own table, or the JSON of a cell.
func (p *parser) list(b []byte, n *node) ([]byte, bool) {
	text := p.at(n.first)
	if entries, ok := p.cells.Entries[n.section+"."+n.path]; ok {
		b = append(b, '[')
		for i, e := range entries {
			if i > 0 {
				b = append(b, ',')
			}
			in := parser{columns: n.table, cells: e}
			b, _ = in.object(b, n)
			p.wrong = append(p.wrong, in.wrong...)
		}
		return append(b, ']'), true
	}
	switch v := jsontext.Value(text); {
	case text == "":
		return b, false
	case text == "0":
		return append(b, "[]"...), true
	case v.Kind() == '[' && v.IsValid():
		return append(b, text...), true
	}
	p.bad(n.first, "The cell must be a JSON array of the entries, or the file must have a table of them.")
	return b, false
}

// leaf writes the answer of a question.
func (p *parser) leaf(b []byte, n *node) ([]byte, bool) {
	if n.of.Calculated {
		return b, false
	}
	if code := p.code(n); code != "" {
		return append(quote(append(b, `{"noAnswer":`...), code), '}'), true
	}
	switch n.kind {
	case several:
		return p.several(b, n)
	case parts:
		return p.parts(b, n)
	case single:
		if text := p.at(n.first); text == other && n.other > 0 && p.at(n.other) != "" {
			return append(quote(append(b, `{"other":`...), p.at(n.other)), '}'), true
		}
	}
	return p.value(b, n, n.first)
}

// code is the one that stands in place of an answer; "" when none does.
func (p *parser) code(n *node) string {
	first := n.first
	text := p.at(first)
	if !slices.Contains(p.columns[first].Missing, text) || text == "" {
		return ""
	}
	if n.of.Rows { // of a matrix all rows have it
		for _, i := range n.columns {
			if p.at(i) != text {
				return ""
			}
		}
	}
	return text
}

// value writes an answer that is one cell.
func (p *parser) value(b []byte, n *node, i int) ([]byte, bool) {
	text := p.at(i)
	if text == "" {
		return b, false
	}
	switch n.of.CEL {
	case cel.Number:
		return p.number(b, i)
	case cel.Boolean:
		yes, ok := form.YesNo(strings.Replace(text, "OK", "yes", 1))
		if !ok {
			p.bad(i, "The cell must be true or false, or yes or no.")
			return b, false
		}
		return strconv.AppendBool(b, yes), true
	}
	if p.cells.Plain && n.of.Clock && n.of.CEL == cel.Text && len(text) > len("15:04:05") {
		text = text[:len("15:04:05")] // without parts of a second and zone
	}
	return quote(b, text), true
}

func (p *parser) number(b []byte, i int) ([]byte, bool) {
	text := strings.TrimSpace(p.at(i))
	if v := jsontext.Value(text); v.Kind() != '0' || !v.IsValid() {
		p.bad(i, "The cell must be a number, with a point before its decimals.")
		return b, false
	}
	return append(b, text...), true
}

// several writes several choices. Nothing chosen is an answer too, where the
// columns of the options say so.
func (p *parser) several(b []byte, n *node) ([]byte, bool) {
	text := p.at(n.first)
	if text == "" {
		for _, i := range n.columns {
			if p.at(i) != "0" {
				return b, false
			}
		}
		return append(b, "[]"...), len(n.columns) > 0
	}
	all := strings.Split(text, Separator)
	if p.cells.Plain && len(all) == 1 {
		all = strings.Fields(text)
	}
	b = append(b, '[')
	for i, choice := range all {
		if i > 0 {
			b = append(b, ',')
		}
		if choice == other && n.other > 0 && p.at(n.other) != "" {
			b = append(quote(append(b, `{"other":`...), p.at(n.other)), '}')
			continue
		}
		b = quote(b, strings.TrimSpace(choice))
	}
	return append(b, ']'), true
}

// parts writes an answer that has a cell for each member.
func (p *parser) parts(b []byte, n *node) ([]byte, bool) {
	base := strings.TrimSuffix(p.columns[n.first].Name, firstSuffix(n))
	if text := p.cells.Values[base]; p.cells.Plain && n.of.Place && text != "" && p.at(n.first) == "" {
		p.place(base, text)
	}
	b = append(b, '{')
	some := false
	member := func(name string, i int, numeric bool) {
		if p.at(i) == "" {
			return
		}
		before := len(b)
		if some {
			b = append(b, ',')
		}
		b = append(quote(b, name), ':')
		ok := true
		if numeric {
			b, ok = p.number(b, i)
		} else {
			b = quote(b, p.at(i))
		}
		if !ok {
			b = b[:before]
			return
		}
		some = true
	}
	if n.of.Rows {
		for i := n.first; i < n.first+len(n.columns); i++ {
			member(p.columns[i].Row, i, false)
		}
		return append(b, '}'), some
	}
	for _, part := range n.parts {
		member(part.Name, n.columns[part.Name], form.KindOf(part.Type).CEL == cel.Number)
	}
	return append(b, '}'), some
}

// firstSuffix is what the name of the first column of a part ends with.
func firstSuffix(n *node) string {
	if len(n.parts) > 0 {
		return n.parts[0].Suffix
	}
	return ""
}

// place takes a place in one cell apart: latitude, longitude, altitude,
// accuracy.
func (p *parser) place(base, text string) {
	for i, word := range strings.Fields(text) {
		if i < 4 {
			p.cells.Values[base+[...]string{"/lat", "/lon", "/altitude", "/accuracy"}[i]] = word
		}
	}
}

// Places are the questions and repeats that have columns or tables in a full
// export.
func (l *Layout) Places() []form.Place {
	var out []form.Place
	var walk func(n *node, path, was []string)
	walk = func(n *node, path, was []string) {
		for _, kid := range n.kids {
			at := append(path[:len(path):len(path)], kid.id)
			named := append(was[:len(was):len(was)], cmp.Or(kid.was, kid.id))
			switch kid.kind {
			case object:
				walk(kid, at, named)
			case repeat:
				out = append(out, form.Place{Column: kid.section + "." + kid.path, Path: named, Repeat: true})
				walk(kid, at, named)
			default:
				out = append(out, form.Place{Column: strings.Join(at, "."), Path: named, Geo: kid.of.Place, Media: kid.of.Media})
			}
		}
	}
	walk(l.root, nil, nil)
	return out
}

// Names returns the names of all columns, in the table of responses and in
// those of repeats.
func (l *Layout) Names() []string {
	var out []string
	for _, c := range l.columns {
		out = append(out, c.Name)
	}
	for _, t := range l.Tables() {
		for _, c := range t.columns {
			out = append(out, c.Name)
		}
	}
	return out
}

// Heads returns the columns of the response as a whole.
func (l *Layout) Heads() []string {
	var out []string
	for _, h := range l.heads {
		out = append(out, h.column.Name)
	}
	return out
}
