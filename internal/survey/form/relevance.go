package form

import (
	"slices"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

type truth uint8

const (
	unknown truth = iota
	busy
	yes
	no
	unsure // an answer that is missing decides it
)

// is reports whether something is asked, or may be.
func (t truth) is() bool { return t == yes || t == unsure }

// gap is an answer that is missing, or, without a question, any in the block.
type gap struct {
	b *block
	n *node
}

func (g gap) pointer() string {
	if g.n == nil {
		return g.b.pointer()
	}
	return g.b.at(g.n)
}

// gaps are the answers that an expression has read and that are missing.
type gaps struct {
	count int
	last  gap
}

func (ev *evaluation) miss(g gap) { ev.gaps = gaps{ev.gaps.count + 1, g} }

// waiting reports whether answers of a partial response are missing that were read
// since before, and records the one t waits for. They are then forgotten: the
// reader of t may have missed nothing.
func (ev *evaluation) waiting(before gaps, t *truth) bool {
	g := ev.gaps
	ev.gaps = before
	if g.count == before.count || !ev.in.Partial {
		return false
	}
	if ev.waits == nil {
		ev.waits = map[*truth]gap{}
	}
	ev.waits[t] = g.last
	return true
}

// decide finds out whether a question is asked, within what is asked around it.
// In a partial response nothing is lost: while an answer is missing that the
// condition reads, a false condition may still become true.
func (b *block) decide(t *truth, around truth, p *cel.Program) {
	*t = around
	if p == nil || around == no {
		return
	}
	*t = busy
	before := b.ev.gaps
	held, _ := b.holds(p)
	switch waiting := b.ev.waiting(before, t); {
	case held:
		*t = around
		delete(b.ev.waits, t)
	case waiting:
		*t = unsure
	default:
		*t = no
	}
}

// standing reports whether the block itself is asked.
func (b *block) standing() truth {
	if b.box.owner != nil {
		return b.up.truth(b.box.owner)
	}
	if b.known == unknown {
		around := yes
		if b.cells == nil {
			around = no
		}
		b.decide(&b.known, around, b.ev.f.sections[b.box.section].relevant)
	}
	return b.known
}

// truth reports whether a question of the block is asked. It is computed once,
// on first use; a compiled form has no cycles.
func (b *block) truth(n *node) truth {
	c := &b.cells[n.index]
	if c.known == unknown {
		c.known = busy
		b.decide(&c.known, b.standing(), n.relevant)
	}
	return c.known
}

// asks reports whether a question counts. While it is unsure whether it is asked,
// an answer to it is kept, but none is demanded and none is calculated.
func (b *block) asks(n *node) bool {
	t := b.truth(n)
	return t == yes || t == unsure && b.sent(n)
}

// Asked reports whether a question was relevant; path is its section and the names
// that lead to it. One in a repeat is relevant when it is in the first element, or
// in an empty one if there is none. It costs no more than a check.
func (r *Result) Asked(path []string) bool {
	ev := r.ev
	ev.cost, ev.budget = 0, maxCost
	for i, s := range ev.f.sections {
		if s.id == path[0] && ev.f.selected[i] {
			b := &ev.blocks[i]
			return b.standing().is() && b.asked(path[1:])
		}
	}
	return false
}

// asked reports whether the question that a path leads to from the block is asked.
func (b *block) asked(path []string) bool {
	i := slices.IndexFunc(b.box.nodes, func(n *node) bool { return len(path) > 0 && n.id == path[0] })
	if i < 0 || !b.asks(b.box.nodes[i]) {
		return false
	}
	if len(path) == 1 {
		return true
	}
	n := b.box.nodes[i]
	c, inner := &b.cells[n.index], (*block)(nil)
	switch {
	case len(c.elements) > 0:
		inner = c.elements[0]
	case n.kind.Repeated:
		inner = b.ev.newBlock(n.kids, b)
	case n.kind.Nested:
		inner = c.kids
	}
	return inner == nil || len(inner.box.nodes) == 0 || inner.asked(path[1:])
}

// await records the answer that decides whether a sent value is relevant.
func (ev *evaluation) await(t *truth) {
	if g, ok := ev.waits[t]; ok {
		ev.missing(g.pointer(), "Whether other questions are asked depends on this answer.")
	}
}
