package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// Repeats says where the entries of repeats go.
type Repeats string

// Where they can stand.
const (
	Inline Repeats = "inline" // a repeat is JSON in one cell
	Tables Repeats = "tables" // each repeat is a table of its own, with a row for each entry
)

// Table is the table of one repeat: a row for each entry, found by responseId
// and index. The entries of a repeat inside another have the index of the entry
// they are in as parentIndex.
type Table struct {
	Name    string // section.question
	columns []Column
	kept    []int   // columns that are shown: a repeat inside has a table of its own
	path    []*node // from the section to the repeat
	row     []cell
}

// tableHeads are the columns of a table before those of its questions.
var tableHeads = [...]string{"responseId", "parentIndex", "index"}

// Tables returns the tables of the repeats, in the order of the form.
func (l *Layout) Tables() []*Table {
	var out []*Table
	var walk func(n *node, path []*node)
	walk = func(n *node, path []*node) {
		for _, kid := range n.kids {
			at := append(path[:len(path):len(path)], kid)
			if kid.kind == repeat {
				t := &Table{Name: kid.section + "." + kid.path, columns: kid.table, path: at, row: make([]cell, len(kid.table))}
				for i := range kid.table {
					if len(kid.table[i].inside) == 0 {
						t.kept = append(t.kept, i)
					}
				}
				out = append(out, t)
			}
			if kid.kind == repeat || kid.kind == object {
				walk(kid, at)
			}
		}
	}
	walk(l.root, nil)
	slices.SortStableFunc(out, func(a, b *Table) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// names are the heads of the columns.
func (t *Table) names() []string {
	out := tableHeads[:]
	for _, i := range t.kept {
		out = append(out[:len(out):len(out)], t.columns[i].Name)
	}
	return out
}

// entries gives emit a row for each entry that a response has in a repeat. The
// row is valid until emit returns.
func (l *Layout) entries(t *Table, r *Response, emit func(row []cell) error) error {
	w := entryWalk{l: l, t: t, id: l.responseCell(r), emit: emit}
	p := scanner{s: r.Answers}
	w.members(&p, l.root, 0, "")
	if p.bad {
		return fmt.Errorf("response %d: the answers cannot be read", r.NID)
	}
	return w.err
}

type entryWalk struct {
	l    *Layout
	t    *Table
	id   cell
	out  []cell
	emit func([]cell) error
	err  error
}

// members looks in the members of an object for the next part of the path.
func (w *entryWalk) members(p *scanner, n *node, depth int, index string) {
	if !p.open('{') {
		return
	}
	at := 0
	for p.more('}') {
		kid := n.find(p.name(), &at)
		switch {
		case kid == nil || kid != w.t.path[depth] || w.err != nil:
			p.value()
		case kid.kind == object && p.peek() == '{':
			w.members(p, kid, depth+1, index)
		case kid.kind == repeat && p.peek() == '[':
			p.i++
			for i := 1; p.more(']'); i++ {
				if depth < len(w.t.path)-1 {
					w.members(p, kid, depth+1, below(index, i))
					continue
				}
				w.entry(p, kid, index, below(index, i))
			}
		default:
			p.value()
		}
	}
}

// entry gives the row of an entry away.
func (w *entryWalk) entry(p *scanner, n *node, parent, index string) {
	in := scanner{s: p.value()}
	clear(w.t.row)
	main := w.l.row
	w.l.row = w.t.row
	w.l.members(&in, n)
	w.l.row = main
	if p.bad = p.bad || in.bad; p.bad || w.err != nil {
		return
	}
	w.out = append(w.out[:0], w.id, word(parent), word(index))
	for _, i := range w.t.kept {
		w.out = append(w.out, w.t.row[i])
	}
	w.err = w.emit(w.out)
}

// elements counts the elements of a list.
func (p *scanner) elements() (n int64) {
	if !p.open('[') {
		return 0
	}
	for p.more(']') {
		p.value()
		n++
	}
	return n
}

// tableWriter writes the table of a repeat as CSV.
type tableWriter struct {
	l *Layout
	t *Table
	rows
}

// Begin writes the heads of the columns.
func (w *tableWriter) Begin(b []byte) ([]byte, error) { return appendHeads(b, w.t.names()), nil }

// Add writes a row for each entry of a response.
func (w *tableWriter) Add(b []byte, r *Response) ([]byte, error) {
	err := w.l.entries(w.t, r, func(row []cell) error {
		w.rows++
		b = appendCells(b, row)
		return nil
	})
	return b, err
}

func appendHeads(b []byte, names []string) []byte {
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = sheet.AppendCSV(b, name)
	}
	return append(b, '\r', '\n')
}

func appendCells(b []byte, row []cell) []byte {
	for i := range row {
		if i > 0 {
			b = append(b, ',')
		}
		b = row[i].appendCSV(b)
	}
	return append(b, '\r', '\n')
}

// Sheets returns the tables of repeats by the names of their sheets in a
// workbook.
func (l *Layout) Sheets() map[string]string {
	out, tables := map[string]string{}, l.Tables()
	for i, name := range sheetNames(tables) {
		out[name] = tables[i].Name
	}
	return out
}

// sheetNames are the names of the sheets of tables, which differ from each other
// and from those of the workbook.
func sheetNames(tables []*Table) []string {
	taken := map[string]bool{"data": true, "codebook": true, "export": true}
	var out []string
	for i, t := range tables {
		name := t.Name
		if len(name) > sheet.MaxSheetName { // ids are ASCII
			name = name[:sheet.MaxSheetName]
		}
		if taken[strings.ToLower(name)] {
			end := fmt.Sprintf("~%d", i+1)
			name = name[:min(len(name), sheet.MaxSheetName-len(end))] + end
		}
		taken[strings.ToLower(name)] = true
		out = append(out, name)
	}
	return out
}
