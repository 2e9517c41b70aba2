package form

import "github.com/hearth-dmrv/hearth/internal/cel"

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

// waiting reports whether of a partial response answers are missing that were read
// since before, and keeps the one t waits for. They are forgotten then: who has
// asked for t may have missed nothing.
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

// decide finds out whether something is asked that stands in what is asked
// around it. Of a partial response nothing is lost: as long as an answer is
// missing that the condition reads, what does not hold yet may still do.
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

// truth reports whether a question of the block is asked. It is found out once,
// when somebody wants to know; a compiled form has no cycles.
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

// await notes the answer that decides whether what was sent is asked.
func (ev *evaluation) await(t *truth) {
	if g, ok := ev.waits[t]; ok {
		ev.missing(g.pointer(), "Whether other questions are asked depends on this answer.")
	}
}
