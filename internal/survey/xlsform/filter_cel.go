package xlsform

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// A filter of choices is an expression about each choice: names in it that
// stand alone are its cells in the sheet choices. Our templates have no such
// thing, so a filter becomes a constraint that says for each choice when it may
// be chosen:
//
//	(!(town in ["a", "b"]) || county == "x") && (!(town in ["c"]) || county == "y")

// Item is a choice as a filter sees it.
type filterItem struct {
	Value string            // what an answer has
	Cells map[string]string // by column, in lower case; name is one
}

// cell is a cell of a choice by the name of its column.
func (i filterItem) cell(name string) (string, bool) {
	text, ok := i.Cells[strings.ToLower(name)]
	return text, ok
}

// Columns are the columns that a filter may name, in lower case.
func Columns(filter string) []string {
	tokens, err := lex(filter)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range tokens {
		if t.kind == tName {
			out = append(out, strings.ToLower(t.text))
		}
	}
	return out
}

// FilterToCEL translates the filter of a question into a constraint of at most
// so many bytes. The error is that of ToCEL.
func (n *Names) FilterToCEL(filter string, at *Named, items []filterItem, most int) (cel string, notes []string, err error) {
	if len(filter) > most {
		return "", nil, tooLong(most)
	}
	tree, err := parseXPath(filter, true)
	if err != nil {
		return "", nil, err
	}
	self, _, err := n.cel(at, at)
	if err != nil {
		return "", nil, cannot("%s", err)
	}
	offers, notes, err := n.offers(tree, at, items)
	if err != nil {
		return "", nil, err
	}
	var order []string // conditions
	values := map[string][]string{}
	size := 0
	for _, o := range offers {
		if o.when == "true" {
			continue
		}
		value := quoteCEL(o.value)
		if values[o.when] == nil {
			order = append(order, o.when)
			size += len(o.when)
		}
		values[o.when] = append(values[o.when], value)
		if size += len(value); size > most {
			return "", nil, tooLong(most)
		}
	}
	all := make([]string, len(order))
	for i, condition := range order {
		all[i] = filterStart(at, self) + strings.Join(values[condition], ", ") + "]) || " + condition + ")"
	}
	return strings.Join(all, " && "), notes, nil
}

// offer is when a choice is offered, in CEL.
type offer struct{ value, when string }

// offers are the choices with their conditions. A choice that a list has several
// times is offered when one of its rows is.
func (n *Names) offers(tree *xnode, at *Named, items []filterItem) (out []offer, notes []string, err error) {
	places := map[string]int{}
	for _, item := range items {
		c := &toCEL{names: n, from: at, column: item.cell}
		p, err := c.expr(tree)
		if err != nil {
			return nil, nil, err
		}
		for _, note := range c.notes {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		when := c.truth(p).in(pAnd)
		i, again := places[item.Value]
		switch {
		case !again:
			places[item.Value] = len(out)
			out = append(out, offer{item.Value, when})
		case out[i].when == "true" || when == "true":
			out[i].when = "true"
		case out[i].when != when:
			out[i].when = "(" + out[i].when + " || " + when + ")"
		}
	}
	return out, notes, nil
}

func tooLong(most int) error {
	return cannot("as a constraint it would have more than %d characters", most)
}

// filterStart is how each part of such a constraint begins.
func filterStart(at *Named, self string) string {
	if at.gives() == kList {
		return "(!" + self + ".exists(o, o in ["
	}
	return "(!(" + self + " in ["
}

// Filter is a constraint as a filter of choices.
type Filter struct {
	Rest    string                // CEL of the constraint without it
	CEL     string                // of the filter
	XPath   string                // the filter
	Columns []string              // the columns of its choices beside the name
	Items   map[string]filterItem // by value
}

// JoinFilter adds the CEL of a filter to that of a constraint.
func JoinFilter(rest, filter string) string {
	switch {
	case filter == "":
		return rest
	case rest == "":
		return filter
	}
	return "(" + rest + ") && " + filter
}

// splitFilter takes apart what JoinFilter made. What is before the filter must
// be an expression of its own: in (a) || (b) && f it is not.
func splitFilter(cel, start string) (rest, filter string, ok bool) {
	if strings.HasPrefix(cel, start) {
		return "", cel, true
	}
	i := strings.Index(cel, ") && "+start)
	if i < 0 || !strings.HasPrefix(cel, "(") {
		return "", "", false
	}
	rest = cel[1:i]
	_, err := parseCEL(rest)
	return rest, cel[i+len(") && "):], err == nil
}

// gate is a part of a constraint: when some values may be chosen.
type gate struct {
	values []string
	when   string // XPath
}

// gates takes the CEL of a filter apart.
func (n *Names) gates(filter string, at *Named) ([]gate, error) {
	tree, err := parseCEL(filter)
	if err != nil {
		return nil, err
	}
	x := &toXPath{names: n, from: at, meta: map[string]bool{}}
	var out []gate
	var walk func(e ast.Expr, depth int) error
	walk = func(e ast.Expr, depth int) error {
		if depth > maxDepth {
			return cannot("the expression nests too deep")
		}
		if and := asCall(e, operators.LogicalAnd, 2); and != nil {
			if err := walk(and.Args()[0], depth+1); err != nil {
				return err
			}
			return walk(and.Args()[1], depth+1)
		}
		or := asCall(e, operators.LogicalOr, 2)
		if or == nil {
			return cannot("the expression is no filter")
		}
		values := excepted(or.Args()[0])
		when, err := x.expr(or.Args()[1], depth)
		if err != nil || values == nil {
			return cannot("the expression is no filter")
		}
		out = append(out, gate{values, x.truth(when).text})
		return nil
	}
	err = walk(tree.Expr(), 0)
	if len(x.meta) > 0 {
		err = cannot("the expression names the response")
	}
	return out, err
}

// excepted gives the values of !(x in [values]) and !x.exists(o, o in [values]),
// nil for anything else.
func excepted(e ast.Expr) []string {
	not := asCall(e, operators.LogicalNot, 1)
	if not == nil {
		return nil
	}
	e = not.Args()[0]
	if exists := asCall(e, "exists", 2); exists != nil {
		e = exists.Args()[1]
	}
	in := asCall(e, operators.In, 2)
	if in == nil || in.Args()[1].Kind() != ast.ListKind {
		return nil
	}
	var values []string
	for _, v := range in.Args()[1].AsList().Elements() {
		if v.Kind() != ast.LiteralKind {
			return nil
		}
		text, ok := v.AsLiteral().(types.String)
		if !ok {
			return nil
		}
		values = append(values, string(text))
	}
	return values
}

// Filter recognises the constraint of a question as one that FilterToCEL makes:
// it gives a filter that is translated back into the very same text, nil when
// there is none. reserved tells which columns the sheet choices has already.
func (n *Names) Filter(q *form.Question, most int, reserved func(column string) bool) *Filter {
	at := n.Question(q)
	self, list, err := n.cel(at, at)
	if err != nil || list {
		return nil
	}
	rest, cel, ok := splitFilter(q.Constraint, filterStart(at, self))
	if !ok {
		return nil
	}
	gates, err := n.gates(cel, at)
	if err != nil {
		return nil
	}
	f := &Filter{Rest: rest, CEL: cel, Items: map[string]filterItem{}}
	if !f.generalise(gates, at, reserved) {
		return nil
	}
	var items []filterItem
	for _, o := range q.Options {
		item, ok := f.Items[o.Value]
		if !ok {
			return nil
		}
		items = append(items, item)
	}
	if back, _, err := n.FilterToCEL(f.XPath, at, items, most); err != nil || back != cel {
		return nil
	}
	return f
}

// generalise finds the one expression that all gates are made of: where their
// texts differ stands a column.
func (f *Filter) generalise(gates []gate, at *Named, reserved func(string) bool) bool {
	frame, first := cut(gates[0].when)
	texts := make([][]string, len(first)) // by place, then by gate
	var names []string                    // of the choices, when each has a gate of its own
	for _, g := range gates {
		other, found := cut(g.when)
		if !slices.Equal(frame, other) {
			return false
		}
		if len(g.values) == 1 {
			names = append(names, at.choice(g.values[0]))
		}
		for j, text := range found {
			texts[j] = append(texts[j], text)
		}
	}
	f.XPath = frame[0]
	columns := map[string][]string{}
	for j, found := range texts {
		term := constant(found)
		if slices.Equal(found, names) {
			term = "name"
		}
		for _, c := range f.Columns {
			if term == "" && slices.Equal(found, columns[c]) {
				term = c
			}
		}
		if term == "" {
			term = f.column(frame[:j+1], reserved)
			columns[term] = found
		}
		f.XPath += term + frame[j+1]
	}
	for i, g := range gates {
		for _, v := range g.values {
			item := filterItem{Value: v, Cells: map[string]string{"name": at.choice(v)}}
			for c, found := range columns {
				item.Cells[c] = found[i]
			}
			f.Items[v] = item
		}
	}
	return true
}

// constant is a text that all gates have, "" when they have several, or there
// is only one gate.
func constant(texts []string) string {
	if len(texts) == 1 || len(slices.Compact(slices.Clone(texts))) > 1 {
		return ""
	}
	return literalText(texts[0]).text
}

// choice is the name of a value in XLSForm.
func (n *Named) choice(value string) string {
	if name, ok := n.names[value]; ok {
		return name
	}
	return value
}

// column names a new column after the question it is compared with.
func (f *Filter) column(before []string, reserved func(string) bool) string {
	text := strings.Join(before, "")
	name := "filter"
	if i := strings.LastIndex(text, "${"); i >= 0 {
		name, _, _ = strings.Cut(text[i+2:], "}")
		name = strings.ToLower(name)
	}
	if reserved(name) || slices.Contains([]string{"and", "or", "div", "mod", "name"}, name) {
		name = "filter_" + name
	}
	for slices.Contains(f.Columns, name) {
		name += "_2"
	}
	f.Columns = append(f.Columns, name)
	return name
}

// cut separates an expression into its texts and what is around them.
func cut(expression string) (frame, texts []string) {
	tokens, err := lex(expression)
	if err != nil {
		return []string{expression}, nil
	}
	from := 0
	for _, t := range tokens {
		if t.kind == tText {
			frame, texts = append(frame, expression[from:t.at]), append(texts, t.text)
			from = t.at + len(t.text) + 2
		}
	}
	return append(frame, expression[from:]), texts
}
