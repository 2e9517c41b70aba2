package form

import (
	"cmp"
	"slices"
)

// Reach is what an interviewer can accept as an answer.
type Reach uint8

// The reaches.
const (
	Anything Reach = iota // whatever a question asks for
	ByKeys                // typed on any telephone
	InWords               // said or written in a conversation
)

// MaxKeyed is how many options a simple telephone shows.
const MaxKeyed = 40

// Takes reports whether a question can be answered within the reach.
func (r Reach) Takes(q *Question) bool {
	k := KindOf(q.Type)
	switch {
	case r == Anything:
		return true
	case k.Media || k.Place:
		return false
	case r == InWords:
		return true
	}
	return !k.Keyless && (len(q.Options) <= MaxKeyed || q.ChoiceFilter != "")
}

// Bounds returns the least and the largest number that a question accepts; nil for
// none.
func Bounds(q *Question) (low, high *float64) {
	low, high = q.Validation.Min, q.Validation.Max
	if k := KindOf(q.Type); k.high > 0 {
		low, high = cmp.Or(low, &k.low), cmp.Or(high, &k.high)
	}
	return low, high
}

// Beyond is a question that cannot be asked.
type Beyond struct {
	Path     []string
	Type     Type
	Required bool // an interview without an answer to it may stay incomplete
}

// Beyond lists the questions of the selected sections that a mode cannot ask,
// given its reach, without those that are never relevant in the mode.
func (f *Form) Beyond(r Reach, mode string) []Beyond {
	check := f.Check(Input{Response: map[string]any{"mode": mode}, Partial: true})
	var out []Beyond
	var look func(b *block, path []string)
	look = func(b *block, path []string) {
		for _, n := range b.box.nodes {
			if b.truth(n) == no || n.q.ReadOnly || n.kind.Calculated || n.kind.Shown {
				continue
			}
			at := append(slices.Clone(path), n.id)
			switch {
			case n.kind.Repeated:
				look(b.ev.newBlock(n.kids, b), at)
			case n.kind.Nested:
				look(b.cells[n.index].kids, at)
			case !r.Takes(n.q):
				out = append(out, Beyond{at, n.q.Type, n.q.Required.Always || n.required != nil})
			}
		}
	}
	for i, s := range f.sections {
		if b := &check.ev.blocks[i]; f.selected[i] && b.standing() != no {
			look(b, []string{s.id})
		}
	}
	return out
}
