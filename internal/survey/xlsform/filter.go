package xlsform

import (
	"slices"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform/xpath"
)

// filtered takes the constraint of a question together with the filter of its
// choices, which becomes a part of the constraint.
func (im *importer) filtered(e *entry, q *form.Question, want string, p place) {
	kept := xpath.Filter{Rest: q.Constraint}
	if f := im.written().filter(q); f != nil {
		kept = *f
	}
	filter := im.choiceFilter(e, q, p)
	same := filter == kept.CEL
	if same && e.get("constraint") == want {
		return
	}
	whole := q.Constraint
	q.Constraint = kept.Rest
	im.constraint(e, q, want, p)
	if !same && kept.CEL != "" {
		e.item("choice_filter", Warning, "changed", "The filter was changed; that in the column hearth_constraint is left out.")
	}
	if filter == "" {
		return
	}
	rest := q.Constraint
	if q.Constraint = xpath.JoinFilter(rest, filter); q.Constraint != whole {
		im.derived = append(im.derived, derived{at: e, base: "choice_filter", drop: func() { q.Constraint = rest }, given: p.pointer})
	}
}

// choiceFilter is the filter of a row as a constraint, "" without or when it
// cannot be one.
func (im *importer) choiceFilter(e *entry, q *form.Question, p place) string {
	switch text := e.get("choice_filter"); {
	case text == "":
		return ""
	case !filterable(q):
		im.ignored(e, "choice_filter")
		return ""
	}
	return im.attempt(e, "choice_filter", func(text string) (string, []string, error) {
		out, err := im.names.FilterToCEL(text, p.from, im.items(e, q, text), cel.MaxLength)
		return out, nil, err
	})
}

// items are the choices of a question as a filter sees them.
func (im *importer) items(e *entry, q *form.Question, filter string) []xpath.Item {
	columns := xpath.Columns(filter)
	var items []xpath.Item
	for _, c := range im.lists[e.list] {
		if !slices.ContainsFunc(q.Options, func(o form.Option) bool { return o.Value == c.Value }) {
			continue
		}
		cells := map[string]string{}
		for _, name := range columns {
			if c.has(name) {
				cells[name] = c.get(name)
			}
		}
		items = append(items, xpath.Item{Value: c.Value, Cells: cells})
	}
	return items
}
