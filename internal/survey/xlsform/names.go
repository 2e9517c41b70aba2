package xlsform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Named is a section or a question that expressions can name.
type Named struct {
	id     string
	was    string     // its name in XLSForm, where that is another
	node   string     // its name in an XForm, where that is another
	kind   *form.Kind // of a question
	parent *Named
	kids   []*Named
	// values maps names used in XLSForm to option values that are not words;
	// names maps back.
	values, names map[string]string
	labels        [][2]string // of the options: value and label
	from          *form.OptionsFrom
}

// depth is how many groups n is in.
func (n *Named) depth() int {
	d := 0
	for at := n.parent; at != nil; at = at.parent {
		d++
	}
	return d
}

// repeat is the innermost repeat n is in, nil when it is in none.
func (n *Named) repeat() *Named {
	for at := n.parent; at != nil; at = at.parent {
		if at.kind.Repeated {
			return at
		}
	}
	return nil
}

// within reports whether n is a or in it.
func (n *Named) within(a *Named) bool {
	for at := n; at != nil; at = at.parent {
		if at == a {
			return true
		}
	}
	return false
}

func (n *Named) kid(id string) *Named {
	for _, k := range n.kids {
		if k.id == id {
			return k
		}
	}
	return nil
}

// step is the one below n that XLSForm calls so.
func (n *Named) step(name string) *Named {
	for _, k := range n.kids {
		if k.was == name {
			return k
		}
	}
	return n.kid(name)
}

// Names is everything the expressions of a template can name.
type Names struct {
	sections []*Named
	all      map[string][]*Named // questions by id
	were     map[string][]*Named // questions by the names they had
	Alias    map[string]string   // names in XLSForm that became other ids
	Meta     map[string]string   // names of metadata rows: what they are in CEL, "" when they are nothing
	byQ      map[*form.Question]*Named
	bySec    map[*form.Section]*Named
	language string
	lists    map[string][]choice // of the workbook
	files    *files              // that come with it; nil without a workbook
	root     string              // of an XForm; "" for XLSForm
	stems    map[string]string   // names of the files of the template without .csv, by what expressions call them
}

// rows returns the rows of a list; false when there is none.
func (n *Names) rows(list string) ([]choice, bool) {
	rows, ok := n.lists[strings.TrimSuffix(list, ".csv")]
	return rows, ok
}

// NewNames finds the names of a template. It keeps pointers into it.
func NewNames(t *form.Template) *Names {
	n := &Names{all: map[string][]*Named{}, Alias: map[string]string{}, Meta: map[string]string{}, byQ: map[*form.Question]*Named{}, bySec: map[*form.Section]*Named{}, language: t.Language()}
	for i := range t.Files {
		if n.stems == nil {
			n.stems = map[string]string{}
		}
		n.stems[t.Files[i].Key()] = strings.TrimSuffix(t.Files[i].Name, ".csv")
	}
	for i := range t.Sections {
		s := &t.Sections[i]
		at := &Named{id: s.ID, kind: form.KindOf("")}
		n.sections, n.bySec[s] = append(n.sections, at), at
		n.addAll(at, s.Questions)
	}
	return n
}

// Question returns the Named of a question of the template.
func (n *Names) Question(q *form.Question) *Named { return n.byQ[q] }

// Section returns the Named of a section of the template.
func (n *Names) Section(s *form.Section) *Named { return n.bySec[s] }

func (n *Names) addAll(parent *Named, qs []form.Question) {
	for i := range qs {
		q := &qs[i]
		at := &Named{id: q.ID, kind: form.KindOf(q.Type), parent: parent, from: q.OptionsFrom}
		n.byQ[q] = at
		if q.Name != "" {
			at.was = q.Name
			if n.were == nil {
				n.were = map[string][]*Named{}
			}
			n.were[q.Name] = append(n.were[q.Name], at)
		}
		n.all[q.ID] = append(n.all[q.ID], at)
		parent.kids = append(parent.kids, at)
		at.values, at.names = Spell(q.Options)
		for _, o := range q.Options {
			label := o.Label.In(n.language, n.language)
			if label == "" {
				label = o.Value
			}
			at.labels = append(at.labels, [2]string{o.Value, label})
		}
		switch {
		case at.kind.Rows:
			names := RowNames(q.Rows)
			for i, o := range q.Rows {
				row := &Named{id: o.Value, node: names[i], kind: form.KindOf(form.SingleChoice), parent: at, values: at.values, names: at.names}
				at.kids = append(at.kids, row)
			}
		case at.kind.Units:
			for _, p := range at.kind.Parts {
				at.kids = append(at.kids, &Named{id: p.Name, kind: form.KindOf(p.Type), parent: at})
			}
		}
		n.addAll(at, q.Questions)
	}
}

// wordPattern is a choice name that every program takes: XLSForm separates
// chosen ones with spaces.
var wordPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Spell makes names for options whose value is not a word. It returns the
// values by name, and the names by value.
func Spell(options []form.Option) (values, names map[string]string) {
	taken := map[string]bool{}
	for _, o := range options {
		taken[o.Value] = true
	}
	for i, o := range options {
		if wordPattern.MatchString(o.Value) {
			continue
		}
		name := fmt.Sprintf("option_%d", i+1)
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		if values == nil {
			values, names = map[string]string{}, map[string]string{}
		}
		values[name], names[o.Value] = o.Value, name
	}
	return values, names
}

// beside are names with a meaning of their own in CEL: a question with such a
// name is reached through its section only.
var beside = []string{"household", "response", "today", "index", "math"}

// section finds a section.
func (n *Names) section(id string) *Named {
	for _, s := range n.sections {
		if s.id == id {
			return s
		}
	}
	return nil
}

// lookup finds what ${name}/step… means at a place.
func (n *Names) lookup(path []string, from *Named) (*Named, error) {
	id := path[0]
	if a, ok := n.Alias[id]; ok {
		id = a
	}
	found := slices.Concat(n.all[id], n.were[id])
	if s := n.section(id); s != nil {
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no question ${%s}", shorten(path[0]))
	}
	at := nearest(found, from)
	if at == nil {
		return nil, fmt.Errorf("several questions have the name ${%s}", shorten(path[0]))
	}
	for _, step := range path[1:] {
		if a, ok := n.Alias[step]; ok {
			step = a
		}
		if at = at.step(step); at == nil {
			return nil, fmt.Errorf("there is no %s in ${%s}", shorten(step), shorten(path[0]))
		}
	}
	return at, nil
}

// nearest is the one of found that shares most groups with from, nil when
// several do.
func nearest(found []*Named, from *Named) *Named {
	if len(found) == 1 {
		return found[0]
	}
	var best *Named
	most, tie := -1, false
	for _, f := range found {
		shared := -1
		for at := from; at != nil; at = at.parent {
			if f.within(at) {
				shared = at.depth()
				break
			}
		}
		if shared > most {
			best, most, tie = f, shared, false
		} else if shared == most {
			tie = true
		}
	}
	if tie {
		return nil
	}
	return best
}

// cel is how CEL names n in an expression at from; list says that it is a list
// of the answers of a repeat from outside.
func (n *Names) cel(to, from *Named) (text string, list bool, err error) {
	r := to.repeat()
	if r == nil {
		return n.global(to, from), false, nil
	}
	path := below(to, r)
	if from != nil && from != r && from.within(r) {
		return strings.Join(path, "."), false, nil
	}
	outer, many, err := n.cel(r, from)
	if err != nil || many {
		return "", false, fmt.Errorf("%s stands in a repeat inside a repeat", to.id)
	}
	return outer + ".map(e, e." + strings.Join(path, ".") + ")", true, nil
}

// global names something outside repeats: from its question at the top of the
// section when that is clear, else from the section.
func (n *Names) global(to, from *Named) string {
	if to.parent == nil {
		return to.id
	}
	sec, top := root(to), to
	for top.parent != sec {
		top = top.parent
	}
	path := below(to, sec)
	if slices.Contains(beside, top.id) || n.section(top.id) != nil || len(n.all[top.id]) > 1 && (from == nil || root(from) != sec) {
		path = append([]string{sec.id}, path...)
	}
	return strings.Join(path, ".")
}

func root(n *Named) *Named {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// identifier is a name that CEL takes after a dot without quotes.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// below are the names from top down to n, without top.
func below(n, top *Named) []string {
	var path []string
	for at := n; at != nil && at != top; at = at.parent {
		id := at.id
		if !identifier.MatchString(id) {
			id = "`" + id + "`"
		}
		path = append(path, id)
	}
	slices.Reverse(path)
	return path
}

// find returns what a path of CEL means at from, and the rest of the path.
func (n *Names) find(path []string, from *Named) (*Named, []string) {
	at := n.first(path[0], from)
	if at == nil {
		return nil, path
	}
	rest := path[1:]
	for len(rest) > 0 && !at.kind.Repeated {
		next := at.kid(rest[0])
		if next == nil {
			break
		}
		at, rest = next, rest[1:]
	}
	return at, rest
}

// first looks up the first name of a path, in the order the form does.
func (n *Names) first(name string, from *Named) *Named {
	if from != nil {
		for r := from.repeat(); r != nil; r = r.repeat() {
			if at := r.kid(name); at != nil {
				return at
			}
		}
	}
	if s := n.section(name); s != nil {
		return s
	}
	if slices.Contains(beside, name) {
		return nil
	}
	if from != nil {
		if at := root(from).kid(name); at != nil {
			return at
		}
	}
	if found := n.all[name]; len(found) == 1 && found[0].parent.parent == nil {
		return found[0]
	}
	return nil
}

// xls is how XLSForm names a question.
func (n *Names) xls(to *Named) (string, error) {
	suffix := ""
	for at := to; at != nil; at = at.parent {
		holders := len(n.all[at.id])
		if n.section(at.id) != nil {
			holders++
		}
		inside := at.parent != nil && (at.parent.kind.Rows || at.parent.kind.Units)
		if holders == 1 && !inside {
			return "${" + at.id + "}" + suffix, nil
		}
		if !wordPattern.MatchString(at.id) {
			break
		}
		suffix = "/" + at.id + suffix
	}
	return "", fmt.Errorf("XLSForm has no clear name for %s", to.id)
}
