package form

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// graph is which question must be known before which. A vertex is a section or
// a question; its answer is known once its relevance is.
type graph struct {
	c      *compiler
	shapes map[*cel.Shape]*container
	state  map[any]mark // by *section or *node
	trail  []string
	found  bool
}

type mark uint8

const (
	unseen mark = iota
	open
	done
)

// cycles refuses questions whose relevance or calculation depends on
// themselves, and marks values calculated from private answers as private.
func (c *compiler) cycles() {
	g := &graph{c: c, shapes: map[*cel.Shape]*container{}, state: map[any]mark{}}
	for _, s := range c.sections {
		g.shapes[s.shape] = s.container
		s.each(func(n *node) {
			if n.kids != nil {
				g.shapes[n.kids.shape] = n.kids
			}
		})
	}
	for _, s := range c.sections {
		g.section(s)
		s.each(func(n *node) { g.node(n) })
	}
	if c.asking != nil {
		c.asking.private = g.program(c.asking.label)
	}
}

// enter opens a vertex. It reports whether to go on below it.
func (g *graph) enter(key any, pointer, name string) bool {
	switch g.state[key] {
	case done:
		return false
	case open:
		if !g.found {
			g.found = true
			at := 0
			for i, step := range g.trail {
				if step == name {
					at = i
				}
			}
			g.c.problem(pointer, "cycle", "This question or value depends on itself: %s.", strings.Join(append(g.trail[at:], name), " → "))
		}
		return false
	}
	g.state[key] = open
	g.trail = append(g.trail, name)
	return true
}

func (g *graph) leave(key any) {
	g.state[key] = done
	g.trail = g.trail[:len(g.trail)-1]
}

func (g *graph) section(s *section) {
	if g.enter(s, s.pointer, s.id) {
		g.program(s.relevant)
		g.leave(s)
	}
}

func (g *graph) node(n *node) {
	if !g.enter(n, n.pointer, g.c.sections[n.in.section].id+"."+n.id) {
		return
	}
	if n.in.owner != nil {
		g.node(n.in.owner)
	} else {
		g.section(g.c.sections[n.in.section])
	}
	g.program(n.relevant)
	if g.program(n.calculate) && n.q.PII == "" {
		n.private = true
	}
	g.leave(n)
}

// program visits what a program reads, and reports whether any of it is private.
func (g *graph) program(p *cel.Program) (private bool) {
	if p == nil {
		return false
	}
	for _, u := range p.Uses() {
		box := g.shapes[u.Shape]
		if box == nil {
			continue // a member of a place or quantity; the question itself is used too
		}
		reads := box.nodes
		if u.Field >= 0 {
			reads = box.nodes[u.Field : u.Field+1]
		}
		for _, n := range reads {
			private = g.reads(n, u.Deep) || private
		}
	}
	return private
}

// reads visits a question that is read, with all below it when it is read deep.
func (g *graph) reads(n *node, deep bool) (private bool) {
	g.node(n)
	private = n.private
	if deep && n.kids != nil {
		n.kids.each(func(k *node) {
			g.node(k)
			private = private || k.private
		})
	}
	return private
}
