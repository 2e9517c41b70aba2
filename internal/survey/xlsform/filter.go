package xlsform

import (
	"slices"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// filtered takes the constraint of a question together with the filter of its
// choices, which becomes a part of the constraint.
func (tr *translator) filtered(e *entry, q *form.Question, want string, p place) {
	kept := Filter{Rest: q.Constraint}
	if f := tr.written().filter(q); f != nil {
		kept = *f
	}
	filter := tr.choiceFilter(e, q, p)
	same := filter == kept.CEL
	if same && e.get("constraint") == want {
		return
	}
	whole := q.Constraint
	q.Constraint = kept.Rest
	tr.constraint(e, q, want, p)
	if !same && kept.CEL != "" {
		e.item("choice_filter", Warning, "changed", "The filter was changed; that in the column hearth_constraint is left out.")
	}
	if filter == "" {
		return
	}
	rest := q.Constraint
	if q.Constraint = JoinFilter(rest, filter); q.Constraint != whole {
		tr.derived = append(tr.derived, derived{at: e, base: "choice_filter", drop: func() { q.Constraint = rest }, given: p.pointer})
	}
}

// choiceFilter is the filter of a row as a constraint, "" without or when it
// cannot be one.
func (tr *translator) choiceFilter(e *entry, q *form.Question, p place) string {
	switch text := e.get("choice_filter"); {
	case text == "":
		return ""
	case !filterable(q):
		e.ignored("choice_filter")
		return ""
	}
	return e.attempt("choice_filter", func(text string) (string, []string, error) {
		return tr.names.FilterToCEL(text, p.from, tr.items(e, q, text), cel.MaxLength)
	})
}

// items are the choices of a question as a filter sees them.
func (tr *translator) items(e *entry, q *form.Question, filter string) []filterItem {
	columns := Columns(filter)
	var items []filterItem
	for _, c := range tr.lists[e.listKey()] {
		if !slices.ContainsFunc(q.Options, func(o form.Option) bool { return o.Value == c.Value }) {
			continue
		}
		cells := map[string]string{}
		for _, name := range columns {
			if text, ok := c.named(name); ok {
				cells[name] = text
			}
		}
		items = append(items, filterItem{Value: c.Value, Cells: cells})
	}
	return items
}
