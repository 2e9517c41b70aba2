package form

import (
	"iter"
	"maps"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cel"
)

// choiceName is what the filter of a question calls the option it looks at.
const choiceName = "choice"

// choiceMembers lists the members that every option has in a filter.
var choiceMembers = []string{"value", "label"}

// prepareFilter makes the options of a question as its filter sees them.
func (c *compiler) prepareFilter(n *node) {
	if n.q.ChoiceFilter == "" {
		return
	}
	if n.file != nil {
		n.offers = c.fileChoice(n)
		return
	}
	shape := c.shape("o" + n.pointer)
	n.offers = shape
	names := map[string]bool{}
	for _, o := range n.q.Options {
		for _, row := range o.Data {
			for name := range row {
				names[name] = true
			}
		}
	}
	members := slices.Concat(choiceMembers, slices.Sorted(maps.Keys(names)))
	for _, m := range members {
		shape.Add(m, cel.Text)
	}
	lang := c.t.Language()
	for i := range n.q.Options {
		o := &n.q.Options[i]
		to := n.options[o.Value]
		if to == nil {
			continue
		}
		rows := o.Data
		if len(rows) == 0 {
			rows = []map[string]string{nil}
		}
		for _, row := range rows {
			cells := choiceCells{o.Value, o.Label.In(lang, lang)}
			for _, m := range members[len(choiceMembers):] {
				cells = append(cells, row[m])
			}
			to.rows = append(to.rows, &cel.Record{Shape: shape, Members: cells})
		}
	}
}

// choiceCells are the members of an option in a filter.
type choiceCells []string

// Member implements cel.Members.
func (c choiceCells) Member(i int) cel.Value { return cel.TextValue(c[i]) }

// Answered implements cel.Members.
func (c choiceCells) Answered() bool { return true }

// fileChoice is the shape of an option that is a row of a file: its columns, and
// value and label where no column is called so.
func (c *compiler) fileChoice(n *node) *cel.Shape {
	shape := c.shape("o" + n.pointer)
	for _, column := range n.file.file.Columns {
		shape.Add(column, cel.Text)
	}
	for _, m := range choiceMembers {
		if !slices.Contains(n.file.file.Columns, m) {
			shape.Add(m, cel.Text)
		}
	}
	return shape
}

// fileCells are the members of an option that is a row of a file.
type fileCells struct {
	of  *fileOptions
	row int
	at  []cel.Field
}

// Member implements cel.Members.
func (c *fileCells) Member(i int) cel.Value {
	if i < len(c.of.file.Columns) {
		return cel.TextValue(c.of.file.content.cell(c.row, i))
	}
	value, label := c.of.shown(c.row)
	if c.at[i].Name == "value" {
		return cel.TextValue(value)
	}
	return cel.TextValue(label)
}

// Answered implements cel.Members.
func (c *fileCells) Answered() bool { return true }

// compileFilter compiles the filter of a question, in which choice is an option.
func (c *compiler) compileFilter(n *node) *cel.Program {
	if n.offers == nil {
		return nil
	}
	names := c.names(n.in)
	return c.compileNamed(n.pointer+"/choiceFilter", n.q.ChoiceFilter, func(name string) (cel.Ref, error) {
		if name == choiceName {
			return cel.Ref{Var: "@" + n.offers.Name()}, nil
		}
		return names(name)
	}, cel.Condition)
}

// option finds an option by its value, nil when there is none.
func (n *node) option(value string) *choice {
	if n.file == nil {
		return n.options[value]
	}
	if value == "" || len(n.file.table.Find(n.file.value, value)) == 0 {
		return nil
	}
	return &choice{value: value, canonical: quote(nil, value)}
}

// mostOptions is how many options there are.
func (n *node) mostOptions() int {
	if n.file == nil {
		return len(n.options)
	}
	return len(n.file.file.content.rows)
}

// values are the values of the options in their order, each once.
func (n *node) values() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n.q.Options {
			if !yield(n.q.Options[i].Value) {
				return
			}
		}
		if n.file == nil {
			return
		}
		for i := range n.file.file.content.rows {
			value, _ := n.file.shown(i)
			if value != "" && n.file.table.Find(n.file.value, value)[0] == i && !yield(value) {
				return
			}
		}
	}
}

// fits reports whether the filter of a question holds for one of the rows of an
// option. What cannot be evaluated does not hold.
func (b *block) fits(n *node, rows iter.Seq[cel.Value]) (held bool, err error) {
	before := b.ev.choice
	defer func() { b.ev.choice = before }()
	for row := range rows {
		b.ev.choice = row
		if held, err = b.holds(n.filter); held {
			return true, nil
		}
	}
	return false, err
}

// rowsOf are what the filter of a question sees of an option.
func (n *node) rowsOf(value string) iter.Seq[cel.Value] {
	if n.file == nil {
		o := n.options[value]
		if o == nil {
			return slices.Values([]cel.Value(nil))
		}
		return slices.Values(o.rows)
	}
	return func(yield func(cel.Value) bool) {
		for _, i := range n.file.table.Find(n.file.value, value) {
			if !yield(n.fileRow(i)) {
				return
			}
		}
	}
}

func (n *node) fileRow(i int) cel.Value {
	return &cel.Record{Shape: n.offers, Members: &fileCells{n.file, i, n.offers.Fields()}}
}

// offered checks that a chosen option is offered, given the other answers. In a
// partial response an answer that the filter needs may still come.
func (ev *evaluation) offered(b *block, n *node, c *cell) {
	chosen := c.texts
	if !n.kind.Several {
		chosen = []string{c.text}
	}
	for _, value := range chosen {
		if value == "other" && n.q.Other {
			continue
		}
		before := ev.gaps.count
		held, err := b.fits(n, n.rowsOf(value))
		if held || err == errBudget || ev.in.Partial && ev.gaps.count > before {
			continue
		}
		ev.wrong(b.at(n), "not_offered", "The filter of the question does not offer this option with the other answers as they are.")
		return
	}
}

// offered are the options that the answers leave, in one language.
func (v viewer) offered(b *block, n *node) []api.PreviewOption {
	if n.file != nil {
		return v.offeredRows(b, n)
	}
	if n.filter == nil {
		return v.options(n.q.Options)
	}
	var left []Option
	for _, o := range n.q.Options {
		if held, _ := b.fits(n, n.rowsOf(o.Value)); held {
			left = append(left, o)
		}
	}
	return v.options(left)
}

// offeredRows are the options of a file that the answers leave, at most
// MaxOptions.
func (v viewer) offeredRows(b *block, n *node) []api.PreviewOption {
	var out []api.PreviewOption
	seen := map[string]bool{}
	for i := range n.file.file.content.rows {
		value, label := n.file.shown(i)
		if value == "" || seen[value] {
			continue
		}
		if n.filter != nil {
			held, err := b.fits(n, slices.Values([]cel.Value{n.fileRow(i)}))
			if err == errBudget {
				break
			}
			if !held {
				continue
			}
		}
		seen[value] = true
		if out = append(out, api.PreviewOption{Value: value, Label: label}); len(out) == MaxOptions {
			break
		}
	}
	return out
}
