package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Level says how much personal data is in a file.
type Level string

// The levels.
const (
	// None names nobody, and does not show which responses belong to one
	// household.
	None Level = "none"
	// Pseudonymised uses the same pseudonym wherever a household, a collector
	// or a verifier appears in the project.
	Pseudonymised Level = "pseudonymised"
	// Full includes everything.
	Full Level = "full"
)

// Levels returns all levels, the least first.
func Levels() []Level { return []Level{None, Pseudonymised, Full} }

// Shape says what a row is.
type Shape string

// The shapes.
const (
	Wide Shape = "wide" // a response
	Long Shape = "long" // an answer
)

// MaxColumns limits the columns of a wide table, as spreadsheets do. A form
// with more is exported long.
const MaxColumns = 16_384

// Response is a response in the form that a file shows.
type Response struct {
	NID         int64
	ID          string
	Round       int64
	Household   string
	Stratum     string
	Group       string
	Status      string
	Collector   string
	VStatus     string // of the verification
	Verifier    string
	VerifiedAt  int64 // ms; 0 before the first decision
	SubmittedAt int64 // ms
	ReceivedAt  int64
	UpdatedAt   int64
	Flags       int64
	FlagRules   string // names of the checks, in one text
	Revision    int64
	Head        string // the stored record, JSON
	Answers     string // JSON; includes personal answers for Full only
	Place       *Place // for Full only
	Erased      bool   // personal answers can no longer be read
}

// Place is where an interview took place.
type Place struct {
	Lat, Lon float64
	Accuracy *float64
}

// LayoutConfig describes the files of a survey.
type LayoutConfig struct {
	Survey   string
	Form     *form.Form
	Level    Level
	Shape    Shape
	Repeats  Repeats
	Language string        // of labels in the codebook; that of the template by default
	Names    privacy.Names // needed unless the level is Full
	Sample   Sample        // which columns describe the sample

	weights *weights
}

// Layout is the shape of the files of one export. It holds the row that is
// being written: use it in one goroutine.
type Layout struct {
	cfg     LayoutConfig
	columns []Column
	heads   []headColumn      // the first of columns
	root    *node             // the answers
	wide    int               // columns a wide table would have
	people  map[string]string // names of collectors and verifiers

	row  []cell
	head head
}

// NewLayout makes the layout of an export.
func NewLayout(cfg LayoutConfig) *Layout {
	l := &Layout{cfg: cfg, people: map[string]string{}}
	l.heads = headsOf(cfg.Level, cfg.Sample)
	l.wide = len(l.heads) + width(cfg.Form)
	b := &builder{level: cfg.Level, marks: marksOf(cfg.Form), serials: cfg.Form.Serials(), fold: l.wide > MaxColumns}
	for _, h := range l.heads {
		b.columns = append(b.columns, h.column)
	}
	l.root = b.build(cfg.Form)
	l.columns = b.columns
	l.row = make([]cell, len(l.columns))
	return l
}

// Columns returns the columns of the wide table.
func (l *Layout) Columns() []Column { return l.columns }

// node is where answers stand: a section, a group, a repeat or a question.
type node struct {
	id      string
	was     string // what another program calls it, where that is not the id
	kind    kind
	of      *form.Kind     // of a question
	kids    []*node        // of sections, groups and repeats, ordered as JSON is written
	first   int            // its first column
	columns map[string]int // those of options, rows or parts; they follow each other
	parts   []form.Part    // of an answer that is an object
	other   int            // column for an answer in other words; 0: none
	path    string         // in its section
	section string
	table   []Column                     // of a repeat: what its entries have
	name    func(*Layout, string) string // of a named answer
}

// kind is how an answer is taken apart.
type kind uint8

const (
	scalar kind = iota
	object      // a section or group
	repeat
	single
	several
	parts // rows too
	named // a name stands in place of the answer
)

// builder makes the columns and the tree of a form.
type builder struct {
	level   Level
	marks   map[string]form.PII
	serials map[string]bool // ids of questions for the number on a thing
	columns []Column
	section *form.Section
	fold    bool // options and rows have no columns of their own
}

// width is how many columns the answers of a form have in a wide table, at
// most.
func width(f *form.Form) int {
	var count func(all []form.Question) int
	count = func(all []form.Question) int {
		n := 0
		for i := range all {
			n += maxParts + len(all[i].Options) + len(all[i].Rows) + count(all[i].Questions)
		}
		return n
	}
	n := 0
	selected := f.Sections()
	for _, s := range f.Template().Sections {
		if slices.Contains(selected, s.ID) {
			n += count(s.Questions)
		}
	}
	return n
}

// marksOf finds the mark of personal data that counts for each question, by
// its path.
func marksOf(f *form.Form) map[string]form.PII {
	marks := map[string]form.PII{}
	for _, c := range f.Columns() {
		path := c.Path
		if c.Kind.Rows {
			path = path[:len(path)-1]
		}
		marks[strings.Join(path, ".")] = c.PII
	}
	return marks
}

// build makes the tree of the selected sections.
func (b *builder) build(f *form.Form) *node {
	root := &node{kind: object}
	selected := f.Sections()
	t := f.Template()
	for i := range t.Sections {
		s := &t.Sections[i]
		if !slices.Contains(selected, s.ID) {
			continue
		}
		b.section = s
		n := &node{id: s.ID, kind: object}
		b.questions(n, s.Questions, []string{s.ID})
		if len(n.kids) > 0 {
			root.kids = append(root.kids, n)
		}
	}
	root.sort()
	return root
}

// sort orders the kids as canonical JSON orders members. Ids are ASCII.
func (n *node) sort() {
	slices.SortFunc(n.kids, func(a, b *node) int { return strings.Compare(a.id, b.id) })
}

func (b *builder) questions(into *node, all []form.Question, prefix []string) {
	for i := range all {
		q := &all[i]
		path := append(prefix[:len(prefix):len(prefix)], q.ID)
		var n *node
		switch k := form.KindOf(q.Type); {
		case k.Shown:
		case k.Repeated:
			n = b.repeat(q, path)
		case k.Nested:
			n = &node{id: q.ID, was: q.Name, kind: object}
			if b.questions(n, q.Questions, path); len(n.kids) == 0 {
				n = nil
			}
		default:
			n = b.leaf(q, path)
		}
		if n != nil {
			n.section, n.path = path[0], strings.Join(path[1:], ".")
			into.kids = append(into.kids, n)
		}
	}
	into.sort()
}

// repeat makes one column for a list. Its questions have none of their own in
// a wide table.
func (b *builder) repeat(q *form.Question, path []string) *node {
	n := &node{id: q.ID, was: q.Name, kind: repeat, first: len(b.columns)}
	inner := &builder{level: b.level, marks: b.marks, serials: b.serials, section: b.section, fold: b.fold}
	if inner.questions(n, q.Questions, path); len(n.kids) == 0 {
		return nil
	}
	n.table = inner.columns
	c := b.column(q, path, "")
	c.PII, c.Shapes = "", []Shape{Wide}
	for _, k := range inner.columns {
		k.Shapes, k.Repeat = []Shape{Long}, true
		c.inside = append(c.inside, k)
		if k.PII.Private() {
			c.PII = k.PII
		}
	}
	b.columns = append(b.columns, c)
	return n
}

// leaf makes the columns of a question, nil when the level leaves it out.
func (b *builder) leaf(q *form.Question, path []string) *node {
	n := &node{id: q.ID, was: q.Name, of: form.KindOf(q.Type), first: len(b.columns)}
	private := b.marks[strings.Join(path, ".")].Private()
	serial := b.serials[q.ID] && b.level != Full
	if private && b.level != Full || (n.of.Household || serial) && b.level == None {
		return nil
	}
	add := func(suffix string, change func(*Column)) {
		c := b.column(q, path, suffix)
		if change != nil {
			change(&c)
		}
		b.columns = append(b.columns, c)
	}
	switch k := n.of; {
	case k.Rows:
		n.kind = parts
		b.options(n, q.Rows, add)
	case k.Several:
		n.kind = several
		b.options(n, q.Options, add)
	case len(k.Parts) > 0:
		b.parts(n, add)
	case k.Options:
		n.kind = single
		add("", nil)
	case k.Household:
		n.kind, n.name = named, (*Layout).household
		add("", nil)
	case serial:
		n.kind, n.name = named, (*Layout).serial
		add("", func(c *Column) { c.Type, c.Unit, c.Note = string(form.FreeText), "", renamed })
	default:
		add("", nil)
	}
	if q.Other {
		n.other = len(b.columns)
		add("/other", func(c *Column) { c.Type, c.Options, c.from, c.Missing = string(form.FreeText), nil, nil, nil })
	}
	return n
}

// options makes the columns of a question that has one for each option or row.
func (b *builder) options(n *node, all []form.Option, add func(string, func(*Column))) {
	n.columns = map[string]int{}
	if !n.of.Rows || b.fold {
		add("", nil)
	}
	if b.fold {
		return
	}
	for i := range all {
		o := &all[i]
		n.columns[o.Value] = len(b.columns)
		if n.of.Rows {
			add("."+o.Value, func(c *Column) { c.Row, c.Label = o.Value, c.labelOf(o) })
		} else {
			add("/"+o.Value, func(c *Column) { c.choice(o, n.of) })
		}
	}
}

// maxParts is how many parts an answer has at most, a place.
const maxParts = 4

// parts makes a column for each part of an answer. A home identifies a person:
// below Full a place is rounded to a tenth of a degree, about 11 km.
func (b *builder) parts(n *node, add func(string, func(*Column))) {
	n.kind, n.columns = parts, map[string]int{}
	coarse := n.of.Place && b.level != Full
	for _, p := range n.of.Parts {
		if coarse && p.Detail {
			continue
		}
		n.columns[p.Name], n.parts = len(b.columns), append(n.parts, p)
		add(p.Suffix, func(c *Column) {
			c.Type, c.Unit = string(p.Type), cmp.Or(p.Unit, c.Unit)
			if n.of.Place {
				c.part = p.Name
			}
			if p.Detail {
				c.Missing = nil
			}
			if coarse {
				c.Note = "Rounded to 0.1 degrees."
			}
		})
	}
}

// Check reports whether the shape is possible: a table may have too many
// columns.
func (l *Layout) Check() error {
	if l.cfg.Shape == Wide && l.wide > MaxColumns {
		return fmt.Errorf("a wide table would have up to %d columns, at most %d are possible", l.wide, MaxColumns)
	}
	return nil
}
