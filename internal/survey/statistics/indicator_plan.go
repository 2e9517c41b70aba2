package statistics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// planned is an indicator in a form: where its questions are, or why it has no
// figure.
type planned struct {
	*definition
	at        map[string]*form.Column // by role
	questions []api.IndicatorQuestion
	reason    string
}

// plan finds the questions of all indicators.
func plan(f *form.Form) []planned {
	columns := f.Columns()
	out := make([]planned, len(definitions))
	for i := range definitions {
		mark := ""
		p := planned{definition: &definitions[i], at: map[string]*form.Column{}}
		var missing, sealed, wrong []string
		for _, r := range p.roles {
			c, by := find(columns, p.id, r, true)
			q := api.IndicatorQuestion{Role: r.name, By: by}
			switch {
			case c == nil:
				if near, _ := find(columns, p.id, r, false); near != nil {
					wrong = append(wrong, r.unfit(near))
				} else {
					missing = append(missing, r.name)
				}
				mark = cmp.Or(mark, p.id+"."+r.name)
			case closed(c):
				sealed = append(sealed, strings.Join(c.Path, "/"))
			}
			if c != nil {
				q.Question, p.at[r.name] = strings.Join(c.Path, "/"), c
			}
			p.questions = append(p.questions, q)
		}
		switch {
		case len(missing)+len(wrong) > 0:
			if len(missing) > 0 {
				wrong = append(wrong, fmt.Sprintf("The template has no question for: %s.", strings.Join(missing, ", ")))
			}
			p.reason = fmt.Sprintf("%s Mark a suitable question with indicators: [%q].", strings.Join(wrong, " "), mark)
		case len(sealed) > 0:
			p.reason = fmt.Sprintf("The answers of %s are sealed.", strings.Join(sealed, ", "))
		case apart(p.at["amount"], p.at["fuel"]):
			p.reason = "Fuel and amount are not asked together, so nothing shows which amount belongs to which fuel."
		}
		out[i] = p
	}
	return out
}

// apart reports whether two questions are not in the same place of the form.
func apart(a, b *form.Column) bool {
	return a != nil && b != nil && !slices.Equal(a.Path[:len(a.Path)-1], b.Path[:len(b.Path)-1])
}

// closed reports whether answers are kept from figures.
func closed(c *form.Column) bool { return c.PII.Private() || c.Serial }

// find is the question of a role: the one that a mark names for it, else one of its
// ids, else one with another mark of the role. Of several the first one, and one
// that is not sealed before one that is. With fit it is one that can have the role.
func find(columns []form.Column, of string, r role, fit bool) (_ *form.Column, by string) {
	var found *form.Column
	best := len(r.ids) + 4
	for i := range columns {
		c := &columns[i]
		if fit && r.unfit(c) != "" {
			continue
		}
		rank := len(r.ids) + 2
		if n := slices.Index(r.ids, c.Path[len(c.Path)-1]); n >= 0 {
			rank = 1 + n
		} else if slices.ContainsFunc(c.Indicators, func(m string) bool { return slices.Contains(r.marks, m) }) {
			rank = len(r.ids) + 1
		}
		if slices.Contains(c.Indicators, of+"."+r.name) {
			rank = 0
		}
		if rank > len(r.ids)+1 || rank > best || rank == best && !(closed(found) && !closed(c)) {
			continue
		}
		best, found = rank, c
	}
	switch {
	case found == nil:
		return nil, ""
	case best == 0 || best > len(r.ids):
		return found, "mark"
	}
	return found, "id"
}

// paths are the questions that are read, each once, and the repeats they are in.
func paths(all []planned) [][]string {
	var out [][]string
	seen := map[string]bool{}
	for _, p := range all {
		if p.reason != "" {
			continue
		}
		for _, r := range p.roles {
			c := p.at[r.name]
			for _, path := range append([][]string{c.Path}, c.Repeats...) {
				if key := strings.Join(path, "/"); !seen[key] {
					seen[key] = true
					out = append(out, path)
				}
			}
		}
	}
	return out
}
