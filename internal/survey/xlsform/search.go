package xlsform

import (
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// The appearance search('file', …) has a question take its choices from a file.
// The list of its type has one choice whose name and label are the columns of
// the values and labels; choices whose names are numbers are offered as well.
// What comes after the file says which rows are offered:
//
//	search('villages', 'matches', 'county', ${county})
//	search('villages', 'contains', 'label', ${part}, 'county', ${county})

// searched is the call in an appearance, nil without one.
func (e *entry) searched() *xnode {
	text := e.get("appearance")
	at := strings.Index(text, "search(")
	if at < 0 || at > 0 && text[at-1] != ' ' {
		return nil
	}
	for end := at; end < len(text); end++ {
		if text[end] != ')' {
			continue
		}
		if n, err := parseXPath(text[at:end+1], false); err == nil && n.kind == xCall {
			return n
		}
	}
	e.item("appearance", Error, "expression_invalid", "This search() is not valid. It takes the name of a file in quotes, and then how, where and what to look for.")
	return nil
}

// search has a question take its choices from the file that its appearance
// names; false when it names none.
func (im *importer) search(e *entry, q *form.Question) bool {
	call := e.searched()
	if call == nil {
		return false
	}
	if len(call.args) == 0 || call.args[0].kind != xText {
		e.item("appearance", Error, "expression_invalid", "search() takes the name of a file in quotes.")
		return false
	}
	o := &form.OptionsFrom{}
	for _, c := range im.lists[e.listKey()] {
		if _, err := strconv.Atoi(c.Value); err == nil {
			e.item("appearance", Warning, "option_ignored", "The choice %s is not in the file. It is left out: add it to the file.", shorten(c.Value))
			continue
		}
		label, _, more := strings.Cut(c.Label.In(im.def, im.def), ",")
		if more {
			e.item("appearance", Note, "option_ignored", "Of several columns for the labels, the first is used.")
		}
		o.Value, o.Label = c.Value, strings.TrimSpace(label)
	}
	e.file, e.search = call.args[0].text, call
	im.takeFile(e, q, o)
	return true
}

// searches are the ways to look for something, as calls of XPath.
var searches = map[string]string{"contains": "contains", "startswith": "starts-with", "endswith": "ends-with", "matches": "="}

// searchFilter is the filter equivalent to a search, "" when everything is
// offered.
func (tr *translator) searchFilter(e *entry, q *form.Question, p place) {
	args := e.search.args[1:]
	if len(args) == 0 || q.OptionsFrom == nil {
		return
	}
	fits := func(i int, kind xkind) bool { return i < len(args) && args[i].kind == kind }
	if !fits(0, xText) || !fits(1, xText) || len(args) != 3 && (len(args) != 5 || !fits(3, xText)) || searches[args[0].text] == "" {
		e.item("appearance", Error, "expression_invalid", "search() takes contains, startswith, endswith or matches, a column and a value, and then may take a second column and its value.")
		return
	}
	c := &toCEL{names: tr.names, from: p.from, column: func(column string) (string, bool) { return tr.member(q, column) }}
	tree := &xnode{kind: xColumn, text: args[1].text}
	if way := searches[args[0].text]; way == "=" {
		tree = &xnode{kind: xBinary, text: way, args: []*xnode{tree, args[2]}}
	} else {
		tree = &xnode{kind: xCall, text: way, args: []*xnode{lowered(tree), lowered(args[2])}}
	}
	if len(args) == 5 {
		second := &xnode{kind: xBinary, text: "=", args: []*xnode{{kind: xColumn, text: args[3].text}, args[4]}}
		tree = &xnode{kind: xBinary, text: "and", args: []*xnode{tree, second}}
	}
	for _, column := range []*xnode{args[1], args[len(args)-2]} {
		if _, ok := tr.member(q, column.text); !ok {
			e.item("appearance", Error, "missing_column", "The file %s has no column %s.", shorten(e.file), shorten(column.text))
			return
		}
	}
	part, err := c.expr(tree)
	if err != nil {
		e.item("appearance", Error, "expression_not_translated", "The search cannot be translated: %s.", err)
		return
	}
	q.ChoiceFilter = c.truth(part).text
	tr.derive(e, "appearance", &q.ChoiceFilter, p)
}

// lowered is a text without capitals: phones look for a text in any case.
func lowered(n *xnode) *xnode {
	const upper, lower = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
	return &xnode{kind: xCall, text: "translate", args: []*xnode{n, {kind: xText, text: upper}, {kind: xText, text: lower}}, at: n.at}
}
