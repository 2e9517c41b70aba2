package form

import "slices"

// Column is a leaf of a form: a value that has its own place in an export.
// Groups, repeats and notes are not leaves; a matrix has one column for each
// row.
type Column struct {
	Path    []string // section, groups and repeats, question, row of a matrix
	Section string
	Type    Type
	Kind    *Kind
	Label   Text
	PII     PII // the mark, or the one inherited from its group or from the answers it is calculated from
	Repeat  bool
	Repeats [][]string // the paths of the repeats it is in, the outermost first
	Options []Option   // of choices, ranks and matrices
	Unit    string
	Ruled   bool // a constraint of its own says which answers fit
	Serial  bool // it is the number on a thing, or its DID
	// Indicators are the marks of the question, and of the groups and repeats it is in.
	Indicators []string
}

// Columns returns the leaves of the selected sections in the order of the
// document.
func (f *Form) Columns() []Column {
	var columns []Column
	for i, s := range f.sections {
		if f.selected[i] {
			columns = s.columns(columns, s.id, []string{s.id}, nil)
		}
	}
	return columns
}

func (c *container) columns(columns []Column, section string, prefix, marks []string) []Column {
	repeats := c.repeats(prefix)
	for _, n := range c.nodes {
		path := append(prefix[:len(prefix):len(prefix)], n.id)
		marks := append(marks[:len(marks):len(marks)], n.q.Indicators...)
		column := Column{
			Path: path, Section: section, Type: n.q.Type, Kind: n.kind, Label: n.q.Label, PII: n.mark(),
			Repeat: len(repeats) > 0, Repeats: repeats, Options: n.q.Options, Unit: n.q.Unit, Ruled: n.constraint != nil, Serial: n.q.Serial(), Indicators: marks,
		}
		switch {
		case n.kind.Shown:
		case n.kind.Nested:
			columns = n.kids.columns(columns, section, path, marks)
		case n.kind.Rows:
			for _, row := range n.q.Rows {
				cell := column
				cell.Path = append(path[:len(path):len(path)], row.Value)
				cell.Label = row.Label
				columns = append(columns, cell)
			}
		default:
			columns = append(columns, column)
		}
	}
	return columns
}

// repeats are the paths of the repeats around c, whose own path is given.
func (c *container) repeats(path []string) [][]string {
	if c.owner == nil {
		return nil
	}
	out := c.parent().repeats(path[:len(path)-1])
	if c.owner.kind.Repeated {
		out = append(out, slices.Clip(path))
	}
	return out
}

// mark is the PII mark that counts.
func (n *node) mark() PII {
	if n.q.PII.Private() || !n.private {
		return n.q.PII
	}
	for o := n.in.owner; o != nil; o = o.in.owner {
		if o.q.PII.Private() {
			return o.q.PII
		}
	}
	return PIIIndirect // calculated from private answers
}
