package form

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Form is a compiled template, against which answers are checked. It never
// changes and is safe for concurrent use.
type Form struct {
	*compiled
	selected []bool // by section
	order    []int  // selected sections in canonical order
	readers  *sync.Pool
}

// compiled is what all selections of a template share.
type compiled struct {
	t        *Template
	sections []*section
	byID     map[string]int
	unique   map[string]*node // questions whose id is unique in the template
	vars     map[string]variable
	shapes   []*cel.Shape
	env      *cel.Env

	household, response *cel.Shape
	files               *cel.Record // nil without any
	asking              *asking     // nil: it asks nothing of twins

	weight  int // bytes of expressions
	serials map[string]bool
}

// Compile checks a template and compiles it. The fault TEMPLATE_INVALID names
// every problem with its JSON pointer, at most 100. The form keeps t: it must
// not change afterwards.
func Compile(t *Template) (*Form, error) {
	c := &compiler{
		compiled: &compiled{t: t, byID: map[string]int{}, unique: map[string]*node{}, vars: map[string]variable{}},
		patterns: map[string]*cel.Pattern{},
	}
	c.document()
	if !c.over { // with other problems too, for expressions have their own
		c.tables()
		c.build()
		c.expressions()
	}
	if len(c.problems) > 0 {
		return nil, fault.New(fault.Invalid, "TEMPLATE_INVALID", "The template is not valid.").With(c.problems...)
	}
	c.serials = serialsOf(t)
	f := &Form{compiled: c.compiled, selected: make([]bool, len(c.sections)), readers: &sync.Pool{}}
	for i := range f.selected {
		f.selected[i] = true
	}
	f.arrange()
	return f, nil
}

// arrange fixes the canonical order of the selected sections.
func (f *Form) arrange() {
	f.order = nil
	for i, on := range f.selected {
		if on {
			f.order = append(f.order, i)
		}
	}
	slices.SortFunc(f.order, func(a, b int) int {
		if f.sections[a].id < f.sections[b].id {
			return -1
		}
		return 1
	})
}

// Select returns the form of a survey that asks only these sections, in any
// order. Names of the other sections and their questions are null in
// expressions. The fault TEMPLATE_INVALID names sections that do not exist; an
// empty list selects all.
func (f *Form) Select(sections []string) (*Form, error) {
	if len(sections) == 0 {
		return f, nil
	}
	s := &Form{compiled: f.compiled, selected: make([]bool, len(f.sections)), readers: f.readers}
	var wrong fault.Checks
	for i, id := range sections {
		at, ok := f.byID[id]
		if !ok {
			wrong.Add(fmt.Sprintf("/sections/%d", i), "unknown", "The template has no section of this id.")
			continue
		}
		s.selected[at] = true
	}
	if err := wrong.Err("TEMPLATE_INVALID", "The template does not have all of the sections."); err != nil {
		return nil, err
	}
	s.arrange()
	return s, nil
}

// Template returns the document the form was compiled from, with all sections.
// Do not change it.
func (f *Form) Template() *Template { return f.t }

// Sections returns the ids of the selected sections in the order of the
// document.
func (f *Form) Sections() []string {
	var ids []string
	for i, s := range f.sections {
		if f.selected[i] {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// HasConsent reports whether a consent question is in the selected sections.
func (f *Form) HasConsent() bool { return len(f.consents()) > 0 }

// Keeps reports whether a value of the form is calculated only once: a
// correction needs Input.Before.
func (f *Form) Keeps() bool {
	return slices.ContainsFunc(f.sections, func(s *section) bool {
		found := false
		s.each(func(n *node) { found = found || n.q.Once })
		return found
	})
}

// consents are the pointers of the consent questions of the selected sections;
// of one in a repeat that of the repeat.
func (f *Form) consents() []string {
	var at []string
	for i, s := range f.sections {
		if f.selected[i] {
			s.each(func(n *node) {
				if n.kind.Consent {
					at = append(at, cmp.Or(n.place, "/responses/"+s.id))
				}
			})
		}
	}
	return at
}

// compiler gathers problems while it builds.
type compiler struct {
	*compiled
	problems  []fault.Field
	over      bool // the form is over a size limit
	questions int
	written   int // bytes of expressions
	nodes     []*node
	heap      int                     // bytes of regular expressions
	patterns  map[string]*cel.Pattern // by the text of a question
}

func (c *compiler) problem(pointer, code, format string, args ...any) {
	if len(c.problems) < MaxProblems {
		c.problems = append(c.problems, fault.Field{Pointer: pointer, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
}

// tooMuch notes that a limit is passed beyond which nothing is built.
func (c *compiler) tooMuch(pointer, code, format string, args ...any) {
	c.over = true
	c.problem(pointer, code, format, args...)
}

// build makes the nodes. With problems around they only serve to check the
// expressions.
func (c *compiler) build() {
	seen := map[string]int{}
	for i := range c.t.Sections {
		s := &c.t.Sections[i]
		at := fmt.Sprintf("/sections/%d", i)
		box := &container{section: i, variable: fmt.Sprintf("@s%d", i), shape: c.shape(fmt.Sprintf("s%d", i))}
		if !slices.Contains(ours, s.ID) {
			c.byID[s.ID] = i
		}
		c.sections = append(c.sections, &section{
			container: box, s: s, id: s.ID, pointer: at, place: "/responses/" + s.ID,
			required: slices.Contains(c.t.Validations.RequiredSections, s.ID),
		})
		c.fill(box, s.Questions, at+"/questions")
		box.scope = map[string][]string{}
		box.reach(box, nil)
		box.each(func(n *node) {
			seen[n.id]++
			c.unique[n.id] = n
		})
	}
	for id, n := range seen {
		if n > 1 {
			delete(c.unique, id)
		}
	}
}

func (c *compiler) shape(name string) *cel.Shape {
	s := cel.NewShape(name)
	c.shapes = append(c.shapes, s)
	return s
}

// fill makes the nodes of a container.
func (c *compiler) fill(box *container, questions []Question, at string) {
	box.byID = make(map[string]*node, len(questions))
	for i := range questions {
		q := &questions[i]
		n := &node{q: q, kind: KindOf(q.Type), id: q.ID, pointer: fmt.Sprintf("%s/%d", at, i), index: i, in: box, private: q.PII.Private()}
		if box.owner != nil && box.owner.private {
			n.private = true
		}
		switch {
		case box.owner == nil:
			n.place = c.sections[box.section].place + "/" + n.id
		case box.owner.place != "" && !box.owner.kind.Repeated:
			n.place = box.owner.place + "/" + n.id
		}
		_, twice := box.byID[n.id]
		box.nodes = append(box.nodes, n)
		box.byID[n.id] = n
		c.nodes = append(c.nodes, n)
		c.prepare(n)
		if n.kind.Nested {
			n.kids = &container{owner: n, section: box.section, shape: c.shape(fmt.Sprintf("q%d", len(c.nodes)))}
			n.kids.variable = fmt.Sprintf("@e%d", len(c.nodes))
			n.kids.position = fmt.Sprintf("@i%d", len(c.nodes))
			c.fill(n.kids, q.Questions, n.pointer+"/questions")
			n.kids.scope = map[string][]string{}
			n.kids.reach(n.kids, nil)
		}
		if n.kind.Nested && !n.kind.Repeated {
			box.groups = append(box.groups, n)
		}
		if !twice {
			box.shape.Add(n.id, n.typeOf())
		} else {
			box.shape.Add(n.id, cel.Any) // one error about this is enough
		}
	}
	box.sort()
}
