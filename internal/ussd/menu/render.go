package menu

import (
	"strings"
)

// View is a viewer of a node and what is known about them.
type View struct {
	Caller        string // number of the handset
	Lang          string // one the pack does not speak stands for the default
	Limits        Limits // of the gateway; zero members stand for the pack's
	Vars          map[string]string
	Authenticated bool
	Draft         bool
	Notice        string // shown above the text of the node; made by Fill
	Page          int    // wraps around

	all bool // conditions on values count as held, for lint
}

// Shown is one rendered screen.
type Shown struct {
	Text  string
	Units int  // of the alphabet the text needs
	UCS2  bool // it needs the one of 80 characters
	Page  int  // from 0
	Pages int
}

// look is a node in one language, prepared for rendering.
type look struct {
	body  string
	list  string // variable of the rows that stand before the lines; "" is none
	item  string // of a row
	said  string // variable of the lines that stand before the others; "" is none
	lines []line
	tail  []string // Back, Exit
	paged []string // More, Back, Exit: of pages that another one follows
	// still has the finished pages of a node that shows no variable, by
	// flags; nil for other nodes.
	still [][]Shown
}

// line is an option, or the way past an input, as it is shown.
type line struct {
	text   string
	when   Guard
	values *Expression
}

func (l *line) holds(v *View) bool { return l.when.Holds(v) && l.values.Holds(v) }

// flagged is how many combinations of flags there are.
const flagged = 4

func (v *View) flags() int {
	n := 0
	if v.Authenticated {
		n = 1
	}
	if v.Draft {
		n += 2
	}
	return n
}

// Holds reports whether all conditions of g hold for v.
func (g Guard) Holds(v *View) bool {
	for _, c := range g {
		if v.has(c.Word) == c.Not {
			return false
		}
	}
	return true
}

func (v *View) has(word string) bool {
	switch word {
	case Authenticated:
		return v.Authenticated
	case HasDraft:
		return v.Draft
	}
	return v.Vars[word] != ""
}

// Holds reports whether v may choose o.
func (o *Option) Holds(v *View) bool { return o.If.Holds(v) && o.When.Holds(v) }

// Option finds the option of n with this key that v may choose; nil when there
// is none. The option may be on another page of the node than the one in view.
func (n *Node) Option(v *View, key string) *Option {
	for i := range n.Options {
		if o := &n.Options[i]; o.Key == key && o.Holds(v) {
			return o
		}
	}
	return nil
}

// Render makes the screen of n for v. A node that shows no variable costs no
// allocation: its pages are made when the pack is read.
func (n *Node) Render(v *View) Shown {
	lk := n.look(v.Lang)
	limits := n.pack.limits(v.Limits)
	if lk.still != nil && v.Notice == "" {
		pages := lk.still[v.flags()]
		if limits == n.pack.Limits {
			return pages[wrap(v.Page, len(pages))]
		}
		if len(pages) == 1 && limits.Holds(pages[0].Units, pages[0].UCS2) {
			return pages[0]
		}
	}
	one := lk.one(v)
	if limits.Holds(one.Units, one.UCS2) {
		return one
	}
	pages := lk.split(v, limits)
	return pages[wrap(v.Page, len(pages))]
}

// pages makes all pages of the look.
func (lk *look) pages(v *View, limits Limits) []Shown {
	if one := lk.one(v); limits.Holds(one.Units, one.UCS2) {
		return []Shown{one}
	}
	return lk.split(v, limits)
}

// Goodbye is the closing screen after exit.
func (p *Pack) Goodbye(v *View) Shown {
	text := p.Fill(p.Navigation.Goodbye, v)
	units, ucs2 := Units(text)
	return Shown{Text: text, Units: units, UCS2: ucs2, Pages: 1}
}

// Fill returns t in the language of v with its variables filled in, for example
// for notices.
func (p *Pack) Fill(t Text, v *View) string {
	return p.fill(t.In(v.Lang, p.Default()), v)
}

// Arguments returns the arguments for the action of n, with the variables
// filled in.
func (n *Node) Arguments(v *View) map[string]string {
	if !n.fills {
		return n.With
	}
	out := make(map[string]string, len(n.With))
	for name, s := range n.With {
		out[name] = n.pack.fill(s, v)
	}
	return out
}

func (p *Pack) fill(s string, v *View) string {
	if strings.IndexByte(s, '{') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 32)
	expand(&b, fold(s, p.Title.In(v.Lang, p.Default())), v)
	return b.String()
}

// Within returns the limits of the pack on a gateway: the smaller ones of both.
func (p *Pack) Within(gateway Limits) Limits { return p.limits(gateway) }

// limits are the smaller ones of the pack and of a gateway.
func (p *Pack) limits(of Limits) Limits {
	l := p.Limits
	if of.GSM7 > 0 {
		l.GSM7 = min(l.GSM7, of.GSM7)
	}
	if of.UCS2 > 0 {
		l.UCS2 = min(l.UCS2, of.UCS2)
	}
	return l
}

func (n *Node) look(lang string) *look {
	return &n.looks[max(n.pack.language(lang), 0)]
}

// wrap brings a page number into the range of those there are.
func wrap(page, pages int) int {
	if page < 0 || pages == 0 {
		return 0
	}
	return page % pages
}

// one makes the whole node as one screen, however long.
func (lk *look) one(v *View) Shown {
	var b strings.Builder
	b.Grow(len(v.Notice) + len(lk.body) + 160)
	lk.head(&b, v)
	for _, item := range lk.items(v) {
		b.WriteByte('\n')
		b.WriteString(item)
	}
	for i := range lk.lines {
		if l := &lk.lines[i]; l.holds(v) {
			b.WriteByte('\n')
			expand(&b, l.text, v)
		}
	}
	for _, t := range lk.tail {
		b.WriteByte('\n')
		b.WriteString(t)
	}
	text := b.String()
	units, ucs2 := Units(text)
	return Shown{Text: text, Units: units, UCS2: ucs2, Pages: 1}
}

func (lk *look) head(b *strings.Builder, v *View) {
	if v.Notice != "" {
		b.WriteString(v.Notice)
		b.WriteByte('\n')
	}
	expand(b, lk.body, v)
}

// split spreads the node over pages.
func (lk *look) split(v *View, limits Limits) []Shown {
	var b strings.Builder
	lk.head(&b, v)
	body := b.String()
	texts := Pages(limits, body, lk.visible(v), func(page, pages int) []string {
		if page == pages-1 {
			return lk.tail
		}
		return lk.paged
	})
	out := make([]Shown, len(texts))
	for i, text := range texts {
		units, ucs2 := Units(text)
		out[i] = Shown{Text: text, Units: units, UCS2: ucs2, Page: i, Pages: len(texts)}
	}
	return out
}

// visible are the lines of the options that v may choose.
func (lk *look) visible(v *View) []string {
	lines := lk.items(v)
	for i := range lk.lines {
		if l := &lk.lines[i]; l.holds(v) {
			var b strings.Builder
			expand(&b, l.text, v)
			lines = append(lines, b.String())
		}
	}
	return lines
}

// expand writes s with {name} replaced by variables and {{ by a brace. A value
// is never looked into again.
func expand(b *strings.Builder, s string, v *View) {
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			b.WriteString(s)
			return
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if strings.HasPrefix(s, "{") {
			b.WriteByte('{')
			s = s[1:]
			continue
		}
		name, rest, _ := strings.Cut(s, "}")
		switch name {
		case Language:
			b.WriteString(v.Lang)
		case Caller:
			b.WriteString(v.Caller)
		default:
			b.WriteString(Plain(v.Vars[name]))
		}
		s = rest
	}
}

// fold puts the title of the pack into s.
func fold(s, title string) string {
	return strings.ReplaceAll(s, "{"+App+"}", title)
}

// names lists the variables that s shows. The text has been checked.
func names(s string) []string {
	var out []string
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return out
		}
		s = s[i+1:]
		if strings.HasPrefix(s, "{") {
			s = s[1:]
			continue
		}
		name, rest, _ := strings.Cut(s, "}")
		out = append(out, name)
		s = rest
	}
}

// prepare makes the looks of n in all languages of its pack.
func (n *Node) prepare() {
	p := n.pack
	n.looks = make([]look, len(p.Languages))
	for i, lang := range p.Languages {
		title := p.Title.In(lang, p.Default())
		in := func(t Text) string { return fold(t.In(lang, p.Default()), title) }
		lk := &n.looks[i]
		lk.body = in(n.Text)
		if n.List != nil {
			lk.list, lk.item = n.List.Of, in(n.List.Text)
		}
		for _, o := range n.Options {
			lk.lines = append(lk.lines, line{text: o.Key + ". " + in(o.Text), when: o.If, values: o.When})
		}
		if n.Input != nil {
			lk.said = n.Input.Choices
		}
		if n.Input != nil && n.Input.Skip != nil {
			lk.lines = append(lk.lines, line{text: n.Input.Skip.Key + ". " + in(n.Input.Skip.Text)})
		}
		if n.Back != "" {
			lk.tail = append(lk.tail, KeyBack+". "+in(p.Navigation.Back))
		}
		if n.Exit {
			lk.tail = append(lk.tail, KeyExit+". "+in(p.Navigation.Exit))
		}
		lk.paged = append([]string{KeyMore + ". " + in(p.Navigation.More)}, lk.tail...)
		if n.Kind() != KindDo && lk.fixed() {
			lk.freeze(lang, p.Limits)
		}
	}
}

// fixed reports whether only flags change what is shown.
func (lk *look) fixed() bool {
	if len(names(lk.body)) > 0 || lk.list != "" || lk.said != "" {
		return false
	}
	for _, l := range lk.lines {
		if len(names(l.text)) > 0 || l.values != nil {
			return false
		}
		for _, c := range l.when {
			if c.Word != Authenticated && c.Word != HasDraft {
				return false
			}
		}
	}
	return true
}

// freeze makes the pages of a fixed look for all flags.
func (lk *look) freeze(lang string, limits Limits) {
	lk.still = make([][]Shown, flagged)
	for f := range lk.still {
		v := &View{Lang: lang, Authenticated: f&1 != 0, Draft: f&2 != 0}
		lk.still[f] = lk.pages(v, limits)
	}
}
