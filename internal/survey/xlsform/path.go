package xlsform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// some are the elements of a repeat that meet a condition, or their answers to a
// question.
func (c *toCEL) some(n *xnode) (part, error) {
	base := n.args[0]
	to, err := c.names.lookup(base.path, c.from)
	if err != nil {
		return part{}, &SyntaxError{n.at, err.Error()}
	}
	over := to
	if !to.kind.Repeated {
		over = to.repeat()
	}
	if over == nil || over.repeat() != nil {
		return part{}, cannot("a condition in brackets is for the questions of a repeat")
	}
	in := *c
	in.over, in.guarded = over, true
	in.element = func(name string, at int) (part, error) {
		kid, err := c.names.lookup([]string{name}, over)
		if err != nil || !kid.within(over) {
			return part{}, &SyntaxError{at, "the repeat has no question " + shorten(name)}
		}
		return in.ref(kid)
	}
	which, err := in.expr(n.args[1])
	if err != nil {
		return part{}, err
	}
	list, _, err := c.names.cel(over, c.from)
	if err != nil {
		return part{}, cannot("%s", err)
	}
	if from := c.from; from != nil && from.within(over) && from != over {
		list = c.names.global(over, nil)
	}
	if which.kind == kNumber { // the place of one element
		list = "[item(" + list + ", " + which.in(pAdd) + " - 1)]"
	} else {
		list += ".filter(e, " + in.truth(which).text + ")"
	}
	p := part{text: list, prec: pPrimary, kind: kList, nodes: true}
	if len(n.path) > 0 {
		if to = over.step(n.path[0]); to == nil {
			return part{}, &SyntaxError{n.at, "the repeat has no question " + shorten(n.path[0])}
		}
	}
	if to != over {
		p.text += ".map(e, e." + strings.Join(below(to, over), ".") + ")"
	}
	return p, nil
}

// someEqual compares a list of answers or cells: one of them is enough.
func (c *toCEL) someEqual(op string, l, r part) (part, error) {
	each := part{text: "e", prec: pPrimary, kind: kAny}
	if r.nodes {
		r = first(r)
	}
	a, b, err := c.level(each, r, true)
	if err != nil {
		return part{}, err
	}
	return part{text: l.in(pPrimary) + ".exists(e, " + a.in(pAdd) + " " + relations[op] + " " + b.in(pAdd) + ")", prec: pPrimary, kind: kBool}, nil
}

// items are rows of a list of the workbook, or their cells in a column. They
// stand in the expression: lists do not change once a template is stored.
func (c *toCEL) items(n *xnode) (part, error) {
	rows, ok := c.names.rows(n.text)
	if !ok {
		return c.fileItems(n)
	}
	var columns []string
	in := *c
	in.guarded = true
	in.element = func(name string, _ int) (part, error) {
		name = strings.ToLower(name)
		if !slices.Contains(columns, name) {
			columns = append(columns, name)
		}
		return part{text: "i[" + quoteCEL(name) + "]", prec: pPrimary, kind: kText}, nil
	}
	chosen := ""
	if len(n.args) > 0 {
		which, err := in.expr(n.args[0])
		if err != nil {
			return part{}, err
		}
		chosen = ".filter(i, " + in.truth(which).text + ")"
	}
	column := ""
	if len(n.path) > 0 {
		p, err := in.element(n.path[0], n.at)
		if err != nil {
			return part{}, err
		}
		column = ".map(i, " + p.text + ")"
	}
	slices.Sort(columns)
	if c.names.files != nil && len(rows)*(len(columns)+1) > maxInline {
		return c.listItems(n, rows)
	}
	all := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(columns))
		for j, name := range columns {
			text, ok := row.named(name)
			if !ok && name != "itextid" && i == 0 {
				c.note("The list " + shorten(n.text) + " has no column " + shorten(name) + ": it is empty.")
			}
			cells[j] = quoteCEL(name) + ": " + quoteCEL(text)
		}
		all[i] = "{" + strings.Join(cells, ", ") + "}"
	}
	return part{text: "[" + strings.Join(all, ", ") + "]" + chosen + column, prec: pPrimary, kind: kList, nodes: true}, nil
}

func noFile(name string) error {
	return &UntranslatableError{Why: "the file " + shorten(name) + " is not here", file: name}
}

// pulldata is the cell of a column in the first row whose key is a value.
func (c *toCEL) pulldata(n *xnode) (part, error) {
	if len(n.args) != 4 || n.args[0].kind != xText || n.args[1].kind != xText || n.args[2].kind != xText {
		return part{}, &SyntaxError{n.at, "pulldata() takes the names of a file and two columns, and a value"}
	}
	which := &xnode{kind: xBinary, text: "=", args: []*xnode{{kind: xColumn, text: n.args[2].text, at: n.at}, n.args[3]}, at: n.at}
	list, err := c.items(&xnode{kind: xItems, text: n.args[0].text, args: []*xnode{which}, path: []string{n.args[1].text}, at: n.at})
	if err != nil {
		return part{}, err
	}
	return text(list), nil
}

// indexed is the answer in one element of a repeat.
func (c *toCEL) indexed(n *xnode) (part, error) {
	if len(n.args) != 3 || n.args[0].kind != xRef || n.args[1].kind != xRef {
		return part{}, cannot("indexed-repeat() of repeats inside each other has no equivalent")
	}
	to, err := c.names.lookup(n.args[0].path, c.from)
	if err != nil {
		return part{}, &SyntaxError{n.args[0].at, err.Error()}
	}
	over, err := c.names.lookup(n.args[1].path, c.from)
	if err != nil {
		return part{}, &SyntaxError{n.args[1].at, err.Error()}
	}
	if !over.kind.Repeated || over.repeat() != nil || to == over || !to.within(over) {
		return part{}, cannot("indexed-repeat() takes a question, the repeat it is in, and a number")
	}
	at, err := c.expr(n.args[2])
	if err != nil {
		return part{}, err
	}
	if at, err = number(at); err != nil {
		return part{}, err
	}
	list := c.names.global(over, c.from) + ".map(e, e." + strings.Join(below(to, over), ".") + ")"
	return call("item", kAny, list, at.in(pAdd)+" - 1"), nil
}

// choiceName is the label of a choice of a question.
func (c *toCEL) choiceName(n *xnode) (part, error) {
	if len(n.args) != 2 || n.args[1].kind != xText {
		return part{}, &SyntaxError{n.at, "jr:choice-name() takes a value and the name of a question in quotes"}
	}
	value, err := c.expr(n.args[0])
	if err != nil {
		return part{}, err
	}
	value = text(value)
	ref, err := parseXPath(n.args[1].text, false)
	if err != nil || ref.kind != xRef {
		return part{}, cannot("jr:choice-name() takes the name of a question in quotes")
	}
	to, err := c.names.lookup(ref.path, c.from)
	if err != nil {
		return part{}, &SyntaxError{n.at, err.Error()}
	}
	if to.from != nil {
		if file, _ := c.names.files.find(to.from.File); file != nil {
			return fileLabel(file, to.from, value), nil
		}
	}
	if len(to.labels) == 0 {
		return part{}, cannot("the question of jr:choice-name() has no choices")
	}
	if c.names.files != nil && len(to.labels) > maxInline {
		rows := make([][]string, len(to.labels))
		for i, l := range to.labels {
			rows[i] = l[:]
		}
		file := c.names.files.made(to.id+"_labels.csv", []string{"name", "label"}, rows)
		if file == nil {
			return part{}, cannot("the choices are too many")
		}
		return fileLabel(file, &form.OptionsFrom{}, value), nil
	}
	var all []string
	for _, l := range to.labels {
		all = append(all, quoteCEL(l[0])+": "+quoteCEL(l[1]))
	}
	return part{text: "{" + strings.Join(all, ", ") + "}[" + value.text + "]", prec: pPrimary, kind: kText}, nil
}

// maxInline is how many texts of a list stand in an expression; more become a
// file.
const maxInline = 40

// listItems are rows of a list that is kept as a file: too much for an
// expression.
func (c *toCEL) listItems(n *xnode, rows []choice) (part, error) {
	var header []string
	for _, column := range rows[0].columns {
		header = append(header, column.header)
	}
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = make([]string, len(header))
		for j := range header {
			if j < len(r.cells) {
				cells[i][j] = r.cells[j].Text
			}
		}
	}
	name := "list_" + form.Word(n.text) + ".csv"
	if c.names.files.made(name, header, cells) == nil {
		return part{}, cannot("the list %s is too long", shorten(n.text))
	}
	out := *n
	out.text = name
	return c.fileItems(&out)
}

// fileItems are rows of a file, or their cells in a column. A condition that
// compares a column with a value that is the same for all rows finds them
// without looking at each.
func (c *toCEL) fileItems(n *xnode) (part, error) {
	file, here := c.names.files.find(n.text)
	switch {
	case !here:
		return part{}, noFile(n.text)
	case file == nil:
		return part{}, cannot("the file %s cannot be read", shorten(n.text))
	}
	in := *c
	in.guarded = true
	in.element = func(name string, at int) (part, error) {
		column, ok := file.Column(name)
		if !ok {
			return part{}, &SyntaxError{at, "the file " + shorten(file.Name) + " has no column " + shorten(name)}
		}
		return part{text: "i." + column, prec: pPrimary, kind: kText}, nil
	}
	out := "files." + file.Key()
	var rest []*xnode
	if len(n.args) > 0 {
		rest = conjuncts(n.args[0])
	}
	if i, column, value := lookedUp(rest); i >= 0 {
		key, err := in.element(column.text, column.at)
		if err != nil {
			return part{}, err
		}
		v, err := c.expr(value)
		if err != nil {
			return part{}, err
		}
		out = "found(" + out + ", " + quoteCEL(strings.TrimPrefix(key.text, "i.")) + ", " + text(v).text + ")"
		rest = slices.Delete(slices.Clone(rest), i, i+1)
	}
	which, err := in.conditions(rest)
	if err != nil {
		return part{}, err
	}
	out += which
	c.notes = in.notes
	if len(n.path) > 0 {
		p, err := in.element(n.path[0], n.at)
		if err != nil {
			return part{}, err
		}
		out += ".map(i, " + p.text + ")"
	}
	return part{text: out, prec: pPrimary, kind: kList, nodes: true}, nil
}

// conditions have a list of rows keep those that meet all of them.
func (c *toCEL) conditions(all []*xnode) (string, error) {
	var out []string
	for _, n := range all {
		p, err := c.expr(n)
		if err != nil {
			return "", err
		}
		if p.kind == kNumber {
			return "", cannot("a row of a file is found by what it says, not by its number")
		}
		out = append(out, c.truth(p).in(pRelation))
	}
	if len(out) == 0 {
		return "", nil
	}
	return ".filter(i, " + strings.Join(out, " && ") + ")", nil
}

// conjuncts are the conditions that and joins.
func conjuncts(n *xnode) []*xnode {
	if n.kind == xBinary && n.text == "and" {
		return append(conjuncts(n.args[0]), conjuncts(n.args[1])...)
	}
	return []*xnode{n}
}

// lookedUp finds the condition that compares a column with a value which names
// no column, -1 when there is none.
func lookedUp(conditions []*xnode) (at int, column, value *xnode) {
	for i, n := range conditions {
		if n.kind != xBinary || n.text != "=" {
			continue
		}
		for j, side := range n.args {
			if other := n.args[1-j]; side.kind == xColumn && !other.named() {
				return i, side, other
			}
		}
	}
	return -1, nil, nil
}

// named reports whether an expression names a column.
func (n *xnode) named() bool {
	return n.kind == xColumn || slices.ContainsFunc(n.args, (*xnode).named)
}

// fileLabel is the label of a choice that is in a file.
func fileLabel(file *form.DataFile, from *form.OptionsFrom, value part) part {
	key, label := cmp.Or(from.Value, "name"), cmp.Or(from.Label, "label")
	shown, ok := file.Column(label)
	if !ok {
		return value
	}
	list := "found(files." + file.Key() + ", " + quoteCEL(key) + ", " + value.text + ").map(i, i." + shown + ")"
	return call("text", kText, call("item", kAny, list, "0").text)
}
