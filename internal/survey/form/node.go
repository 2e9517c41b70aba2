package form

import (
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// node is a compiled question.
type node struct {
	q       *Question
	kind    *Kind
	id      string
	pointer string // in the template document
	place   string // in a response; "" inside a repeat, where it has an index
	index   int    // in its container
	in      *container
	kids    *container // of a group or repeat
	private bool       // the answer is kept apart: marked, or in a marked group, or calculated from such answers

	relevant, required, constraint, calculate *cel.Program

	options  map[string]*choice
	file     *fileOptions   // where they are instead
	filter   *cel.Program   // which of them are offered
	offers   *cel.Shape     // of an option, for the filter
	rows     map[string]int // matrix: row value to its place in rowOrder
	rowOrder []string       // in canonical order
	shape    *cel.Shape     // geo, quantity, matrix
	pattern  *cel.Pattern
	min, max float64 // of numbers; infinite when open
	most     int     // characters of a text, elements of a repeat
}

// choice is an option with its canonical form.
type choice struct {
	value     string
	canonical []byte
	exclusive bool
	rows      []cel.Value // what the filter sees; one is enough
}

// container is what questions stand in: a section, a group, or the element of
// a repeat.
type container struct {
	owner   *node // the group or repeat; nil of a section
	section int
	// variable and position are the names of the section or element, and of its
	// index, in expressions.
	variable, position string

	nodes  []*node
	byID   map[string]*node
	sorted []*node // in canonical order
	groups []*node // those that are groups
	shape  *cel.Shape
	scope  map[string][]string // of a section or repeat: how to reach questions, those in groups too
}

// leaf reports whether the node has an answer of its own.
func (n *node) leaf() bool { return n.kids == nil && !n.kind.Shown }

// counted reports whether the node counts in completeness: people answer it.
func (n *node) counted() bool {
	return (n.kind.Asked() || n.kind.Repeated) && !n.q.ReadOnly
}

// parent is the container around c, nil of a section.
func (c *container) parent() *container {
	if c.owner == nil {
		return nil
	}
	return c.owner.in
}

// each visits all nodes below c, parents first.
func (c *container) each(visit func(*node)) {
	for _, n := range c.nodes {
		visit(n)
		if n.kids != nil {
			n.kids.each(visit)
		}
	}
}

// repeat is the innermost repeat around c, nil without one.
func (c *container) repeat() *container {
	for ; c != nil; c = c.parent() {
		if c.owner != nil && c.owner.kind.Repeated {
			return c
		}
	}
	return nil
}

// reach fills scope. Questions inside a repeat have no single value and are
// not in it.
func (c *container) reach(from *container, prefix []string) {
	for _, n := range from.nodes {
		path := append(slices.Clone(prefix), n.id)
		c.scope[n.id] = path
		if n.kids != nil && !n.kind.Repeated {
			c.reach(n.kids, path)
		}
	}
}

// sort fixes the canonical order of members. Ids are ASCII, so bytes order as
// UTF-16 does, which RFC 8785 asks for.
func (c *container) sort() {
	c.sorted = slices.Clone(c.nodes)
	slices.SortFunc(c.sorted, func(a, b *node) int { return strings.Compare(a.id, b.id) })
}

// section is a compiled section.
type section struct {
	*container
	s        *Section
	id       string
	pointer  string
	place    string // in a response
	relevant *cel.Program
	required bool
}
