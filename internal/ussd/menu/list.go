package menu

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml/ast"
)

// The bounds of lists.
const (
	MaxRows    = 40 // of a list
	maxColumns = 6
)

// List is a choice among rows of data, which an action has extracted from an
// answer. Each row is an option, numbered from 1.
type List struct {
	Of   string            `json:"of"`   // variable that holds the rows
	Text Text              `json:"text"` // of a row; {name} shows a column
	Set  map[string]string `json:"set"`  // variable → column of the row that is chosen
	To   string            `json:"to"`
}

// Column is a value of each row.
type Column struct {
	Name string `json:"name"`
	At   string `json:"at"` // JSON Pointer inside the row
}

// Rows is the stored form of rows, for the variable of a list.
func Rows(rows []map[string]string) (string, error) {
	data, err := json.Marshal(rows, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("store rows: %w", err)
	}
	return string(data), nil
}

// rows reads the rows of a list; a variable that holds none has none.
func (v *View) rows(of string) []map[string]string {
	text := v.Vars[of]
	if text == "" {
		return nil
	}
	var rows []map[string]string
	if json.Unmarshal([]byte(text), &rows) != nil {
		return nil
	}
	return rows[:min(len(rows), MaxRows)]
}

// Row returns the variables that choosing a numbered row sets; nil when there
// is no such row.
func (n *Node) Row(v *View, key string) map[string]string {
	if n.List == nil || !numberForm.MatchString(key) {
		return nil
	}
	i, err := strconv.Atoi(key)
	rows := v.rows(n.List.Of)
	if err != nil || i < 1 || i > len(rows) {
		return nil
	}
	set := make(map[string]string, len(n.List.Set))
	for name, column := range n.List.Set {
		set[name] = rows[i-1][column]
	}
	return set
}

// items are the lines of the rows.
func (lk *look) items(v *View) []string {
	var out []string
	if lk.said != "" && v.Vars[lk.said] != "" {
		return strings.Split(Plain(v.Vars[lk.said]), "\n")
	}
	if lk.list == "" {
		return nil
	}
	for i, row := range v.rows(lk.list) {
		var b strings.Builder
		b.WriteString(strconv.Itoa(i+1) + ". ")
		expand(&b, lk.item, &View{Lang: v.Lang, Vars: row})
		out = append(out, b.String())
	}
	return out
}

// list reads the choice among rows of a node.
func (r *reader) listOf(n *Node, v *value, path string) {
	o := r.object(v, path, listFields)
	if o == nil {
		r.unread++
		return
	}
	l := &List{Of: r.scalar(o.get("of"), path+".of"), To: r.target(o.get("to"), path+".to")}
	n.List = l
	r.rowText = true
	l.Text = r.line(o.get("text"), path+".text")
	r.rowText = false
	if s := o["set"]; s != nil {
		l.Set = r.constants(s, path+".set")
		for _, m := range s.members {
			at := path + ".set." + m.name
			r.sets(m.name, m.spot, at)
			if m.name == Language {
				r.bad(m.spot, at, "%s cannot be set by a row", Language)
			}
			r.vars[m.name] = true
		}
	}
	for i, opt := range n.Options {
		if numberForm.MatchString(opt.Key) {
			r.bad(v.spot, path, "option %d has the number %s for its key, which is a row of the list; use letters or #", i+1, opt.Key)
		}
	}
	r.later = append(r.later, func() { r.columns(l, o, path) })
}

// columns checks that a list shows and sets what its rows have.
func (r *reader) columns(l *List, o object, path string) {
	columns, ok := r.lists[l.Of]
	if !ok {
		if l.Of != "" {
			r.bad(o.get("of").spot, path+".of", "no answer gives the list %s; there are %s", strconv.Quote(l.Of), strings.Join(slices.Sorted(maps.Keys(r.lists)), ", "))
		}
		return
	}
	check := func(name, at string, where *value) {
		if !slices.Contains(columns, name) {
			r.bad(where.spot, path+at, "the rows of %s have no column %s; they have %s", l.Of, strconv.Quote(name), strings.Join(columns, ", "))
		}
	}
	seen := map[string]bool{}
	for _, s := range l.Text {
		for _, name := range names(s) {
			if !seen[name] {
				seen[name] = true
				check(name, ".text", o.get("text"))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Set)) {
		check(l.Set[name], ".set."+name, o.get("set"))
	}
}

// pick reads one value, or one list, that a node takes out of an answer.
func (r *reader) pick(m member, path string) Pick {
	p := Pick{Var: m.name}
	if m.value.kind != ast.MappingType {
		r.vars[m.name] = true
		p.At = r.form(m.value, path, pointerForm)
		return p
	}
	var names []string
	for _, c := range r.members(m.value, path) {
		at := path + "." + c.name
		pointer := r.form(c.value, at, pointerForm)
		if c.name == "rows" {
			p.At = pointer
			continue
		}
		if !variableForm.MatchString(c.name) {
			r.bad(c.spot, at, "a column has the form %s", variableForm)
		}
		p.Columns, names = append(p.Columns, Column{c.name, pointer}), append(names, c.name)
	}
	if n := len(p.Columns); n == 0 || n > maxColumns {
		r.bad(m.spot, path, "a list has from 1 to %d columns beside rows", maxColumns)
	}
	if was, ok := r.lists[m.name]; ok && !slices.Equal(slices.Sorted(slices.Values(was)), slices.Sorted(slices.Values(names))) {
		r.bad(m.spot, path, "the list %s has other columns in another place", m.name)
	}
	r.lists[m.name] = names
	r.later = append(r.later, func() {
		if _, asked := r.inputs[m.name]; asked || r.vars[m.name] {
			r.bad(m.spot, path, "%s is a list here and a text in another place", m.name)
		}
	})
	return p
}
