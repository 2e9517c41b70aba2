package form

import (
	"slices"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// evaluation is one check of answers.
type evaluation struct {
	f      *Form
	in     Input
	r      *Result
	blocks []block // by section; those not selected have no cells
	arena  []byte  // canonical bytes of all answers
	*reader
	reading   answering // the answer that is being read
	cost      uint64
	budget    uint64
	gaps      gaps
	waits     map[*truth]gap // undecided conditions, and the answer that decides each
	made      int            // cells of groups and elements
	today     cel.Value
	household *cel.Record
	response  *cel.Record
	choice    cel.Value // the one that a filter looks at
	before    any       // the answers that are corrected; nil until needed
}

// block is an instance of a container: a section, a group, an element.
type block struct {
	ev     *evaluation
	box    *container
	up     *block
	index  int // of an element
	cells  []cell
	record cel.Record
	known  truth // relevance of a section
}

// cell is what is known about one question in one block.
type cell struct {
	state      state
	known      truth // relevance
	calculated truth // yes: done; unsure: done, with answers missing; busy: at it
	flag       bool  // a boolean's value
	start, end int   // canonical bytes in the arena
	num        float64
	text       string   // the chosen option
	texts      []string // the chosen options
	value      cel.Value
	kids       *block
	elements   []*block
}

type state uint8

const (
	blank  state = iota
	given        // there is an answer
	silent       // there is a reason for none: noAnswer
)

// begin makes the blocks of the selected sections.
func (ev *evaluation) begin() {
	total := 0
	for i, on := range ev.f.selected {
		if on {
			total += len(ev.f.sections[i].nodes)
		}
	}
	cells := make([]cell, total)
	ev.blocks = make([]block, len(ev.f.sections))
	for i, s := range ev.f.sections {
		b := &ev.blocks[i]
		b.ev, b.box = ev, s.container
		b.record = cel.Record{Shape: s.shape, Members: b}
		if ev.f.selected[i] {
			b.cells, cells = cells[:len(s.nodes):len(s.nodes)], cells[len(s.nodes):]
			ev.groups(b)
		}
	}
}

func (ev *evaluation) newBlock(box *container, up *block) *block {
	b := &block{ev: ev, box: box, up: up, cells: make([]cell, len(box.nodes))}
	b.record = cel.Record{Shape: box.shape, Members: b}
	ev.made += len(b.cells)
	ev.groups(b)
	return b
}

// groups makes the blocks of groups. They always exist: questions and
// calculations in them do not wait for an answer.
func (ev *evaluation) groups(b *block) {
	for _, n := range b.box.groups {
		c := &b.cells[n.index]
		c.state, c.kids = given, ev.newBlock(n.kids, b)
	}
}

// outside is where expressions about the whole response are evaluated.
func (ev *evaluation) outside() cel.Vars { return &block{ev: ev} }

// ResolveName gives the variables of expressions that stand in the block.
func (b *block) ResolveName(name string) (any, bool) {
	v, ok := b.ev.f.vars[name]
	if !ok {
		return nil, false
	}
	switch v.kind {
	case aSection:
		return &b.ev.blocks[v.at].record, true
	case anElement, anIndex:
		for e := b; e != nil; e = e.up {
			if e.box != v.box {
				continue
			}
			if v.kind == anIndex {
				return cel.WholeValue(e.index), true
			}
			return &e.record, true
		}
		return cel.Null, true
	case theHousehold:
		return about(&b.ev.household, b.ev.f.household, b.ev.in.Household), true
	case theResponse:
		return about(&b.ev.response, b.ev.f.response, b.ev.in.Response), true
	case theFiles:
		return b.ev.f.files, true
	case aChoice:
		return b.ev.choice, true
	}
	if b.ev.today == nil {
		y, m, d := b.ev.in.Now.Date()
		b.ev.today = cel.InstantValue(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
	}
	return b.ev.today, true
}

// Parent implements cel.Vars.
func (b *block) Parent() cel.Vars { return nil }

// about is the record of the household or the response.
func about(kept **cel.Record, shape *cel.Shape, values map[string]any) *cel.Record {
	if *kept == nil {
		*kept = &cel.Record{Shape: shape, Members: facts{fields: shape.Fields(), values: values}}
	}
	return *kept
}

// facts are members that come from outside.
type facts struct {
	fields []cel.Field
	values map[string]any
	miss   func() // is called for missing answers that may still come; nil when none may
}

// Member implements cel.Members.
func (f facts) Member(i int) cel.Value {
	v, ok := f.values[f.fields[i].Name]
	if f.fields[i].Type == cel.Instant {
		return instant(v)
	}
	if !ok && f.fields[i].Name == "attributes" {
		return cel.Bag{}
	}
	if !ok && f.miss != nil {
		f.miss()
	}
	return cel.Native(v)
}

// Answered implements cel.Members.
func (f facts) Answered() bool { return len(f.values) > 0 }

func instant(v any) cel.Value {
	switch v := v.(type) {
	case time.Time:
		if !v.IsZero() {
			return cel.InstantValue(v)
		}
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil {
			return cel.InstantValue(t)
		}
	}
	return cel.Null
}

// holds evaluates a condition within the budget of the check.
func (b *block) holds(p *cel.Program) (held bool, err error) {
	if b.ev.cost > b.ev.budget {
		return false, errBudget
	}
	held, cost, err := p.Holds(b)
	b.ev.cost += cost
	return held, err
}

// Member returns an answer for expressions: null when there is none, when the
// question is not asked, and for dontKnow and refused.
func (b *block) Member(i int) cel.Value {
	if i >= len(b.cells) {
		return cel.Null
	}
	n, c := b.box.nodes[i], &b.cells[i]
	if !b.asks(n) {
		if c.known == unsure {
			b.ev.miss(gap{b, n})
		}
		return cel.Null
	}
	if n.kind.Calculated {
		b.compute(n)
		if c.calculated == unsure {
			b.ev.miss(b.ev.waits[&c.calculated])
		}
	} else if c.state == blank && !n.kind.Shown {
		b.ev.miss(gap{b, n})
	}
	if c.value == nil {
		c.value = b.valueOf(n, c)
	}
	return c.value
}

// Answered reports whether anything in the block is answered.
func (b *block) Answered() bool {
	before := b.ev.gaps
	for i := range b.cells {
		if b.answered(b.box.nodes[i]) {
			b.ev.gaps = before
			return true
		}
	}
	if b.cells != nil && b.standing().is() {
		b.ev.miss(gap{b, nil})
	}
	return false
}

// answered reports whether a question has an answer that counts.
func (b *block) answered(n *node) bool {
	c := &b.cells[n.index]
	switch {
	case n.kind.Calculated || n.kind.Shown:
		return false
	case c.state == blank || !b.asks(n):
		return false
	case c.kids != nil:
		return c.kids.Answered()
	}
	return true
}

// sent reports whether there is an answer to a question, asked or not.
func (b *block) sent(n *node) bool {
	c := &b.cells[n.index]
	if c.kids == nil {
		return c.state != blank
	}
	return slices.ContainsFunc(n.kids.nodes, c.kids.sent)
}

// pointer is the place of the block in a response.
func (b *block) pointer() string {
	o := b.box.owner
	if o == nil {
		return b.ev.f.sections[b.box.section].place
	}
	if o.kind.Repeated {
		return b.up.at(o) + "/" + strconv.Itoa(b.index)
	}
	return b.up.at(o)
}

// at is the place of a question in a response.
func (b *block) at(n *node) string {
	if n.place != "" {
		return n.place
	}
	return b.pointer() + "/" + n.id
}

func (ev *evaluation) wrong(pointer, code, detail string) {
	if len(ev.r.Wrong) < MaxProblems {
		ev.r.Wrong = append(ev.r.Wrong, fault.Field{Pointer: fault.Pointer(pointer), Code: code, Detail: detail})
	}
}

func (ev *evaluation) missing(pointer, detail string) {
	if len(ev.r.Missing) < MaxProblems && !slices.ContainsFunc(ev.r.Missing, func(f fault.Field) bool { return f.Pointer == pointer }) {
		ev.r.Missing = append(ev.r.Missing, fault.Field{Pointer: pointer, Code: "required", Detail: detail})
	}
}
