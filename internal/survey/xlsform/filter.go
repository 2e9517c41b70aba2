package xlsform

import (
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// A filter of choices is an expression about each choice: names in it that
// stand alone are its cells in the sheet choices, or in the file it comes from.
// In CEL it is choiceFilter, in which choice has the same members:
//
//	county = ${county}         choice.county == county

// choiceVariable is what CEL calls the choice.
const choiceVariable = "choice"

// Columns are the columns that a filter may name.
func Columns(filter string) []string {
	tokens, err := lex(filter)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range tokens {
		if t.kind == tName {
			out = append(out, t.text)
		}
	}
	return out
}

// FilterToCEL translates the filter of a question. member returns the name of a
// column as a member of choice, false when there is no such column. The error
// is that of ToCEL.
func (n *Names) FilterToCEL(filter string, at *Named, member func(column string) (string, bool)) (cel string, notes []string, err error) {
	tree, err := parseXPath(filter, true)
	if err != nil {
		return "", nil, err
	}
	c := &toCEL{names: n, from: at, column: member}
	p, err := c.expr(tree)
	if err != nil {
		return "", nil, err
	}
	return c.truth(p).text, c.notes, nil
}

// filtered takes the filter of a question's choices, unless it is the one we
// would write for the value we kept.
func (tr *translator) filtered(e *entry, q *form.Question, want string, p place) {
	text := e.get("choice_filter")
	if text == want {
		return
	}
	if q.ChoiceFilter != "" {
		e.item("choice_filter", Warning, "changed", "The filter was changed; the column hearth_choiceFilter is left out.")
	}
	q.ChoiceFilter = ""
	switch {
	case text == "":
		return
	case !filterable(q):
		e.ignored("choice_filter")
		return
	}
	q.ChoiceFilter = e.attempt("choice_filter", func(text string) (string, []string, error) {
		return tr.names.FilterToCEL(text, p.from, func(column string) (string, bool) { return tr.member(q, column) })
	})
	tr.derive(e, "choice_filter", &q.ChoiceFilter, p)
}

// member is what a column of choices is called as a member of choice.
func (tr *translator) member(q *form.Question, column string) (string, bool) {
	if q.OptionsFrom != nil {
		file, _ := tr.files.find(q.OptionsFrom.File)
		if file == nil {
			return "", false
		}
		return file.Column(column)
	}
	switch base, _, _ := strings.Cut(strings.ToLower(column), ":"); base {
	case "name":
		return "value", true
	case "label": // in the default language, whichever the form names
		return "label", true
	}
	word := form.Word(column)
	for _, o := range q.Options {
		for _, data := range o.Data {
			for name := range data {
				if strings.EqualFold(name, word) {
					return name, true
				}
			}
		}
	}
	return "", false
}

// column is the column of choices that a member of choice stands in, the way
// back.
func (n *Names) column(q *form.Question, member string) string {
	switch from := q.OptionsFrom; {
	case member == "value" && (from == nil || from.Value == ""):
		return "name"
	case member == "value":
		return from.Value
	case member == "label" && from != nil && from.Label != "":
		return from.Label
	}
	return member
}

// respelled reports whether a filter of choices compares what they say with
// options that have other names in XLSForm.
func (n *Names) respelled(q *form.Question, filter string) bool {
	for _, name := range form.Reference.FindAllStringSubmatch(filter, -1) {
		to, err := n.lookup([]string{name[1]}, n.Question(q))
		if err != nil {
			continue
		}
		for _, o := range q.Options {
			if slices.ContainsFunc(o.Data, func(data map[string]string) bool { return to.respells(data) }) {
				return true
			}
		}
	}
	return false
}

// respells reports whether one of the texts is an option of n that has another
// name in XLSForm.
func (n *Named) respells(texts map[string]string) bool {
	for _, text := range texts {
		if _, other := n.names[text]; other {
			return true
		}
	}
	return false
}

// dataColumns are the columns of a sheet of choices that filters look at, with
// their places and what they are called as members of choice; all takes every
// column that nothing else reads.
func (t *table) dataColumns(named []string, all bool) map[int]string {
	out := map[int]string{}
	known := folded(choicesOrder, []string{"value", "media::image", "media::audio", "media::video", "media::big-image"})
	taken := map[string]bool{}
	for i, c := range t.columns {
		looked := slices.ContainsFunc(named, func(n string) bool { return strings.EqualFold(n, c.base) || strings.EqualFold(n, c.header) })
		if c.base == "" || c.tag != "" || slices.Contains(known, c.base) && !(looked && strings.HasPrefix(c.base, "media::")) || !looked && !all {
			continue
		}
		if word := form.Word(c.header); !taken[strings.ToLower(word)] {
			out[i], taken[strings.ToLower(word)] = word, true
		}
	}
	return out
}

// data are the cells of a choice that filters look at, nil without any; exact
// keeps the space around them.
func (r *row) data(columns map[int]string, exact bool) []map[string]string {
	var out map[string]string
	for i, name := range columns {
		if i >= len(r.cells) {
			continue
		}
		text := r.cells[i].Text
		if !exact {
			text = strings.TrimSpace(text)
		}
		if text != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = text
		}
	}
	if out == nil {
		return nil
	}
	return []map[string]string{out}
}
