package menu

import (
	"fmt"
	"slices"
	"strings"
)

// worst are the letters that fill variables: one of the 7-bit alphabet, and
// one that turns the screen into UCS-2.
var worst = []string{"W", "Ŋ"}

// longestCaller is as long as a number can be.
const longestCaller = "+254700000000000"

// goodbye measures the closing text of exit, which cannot be paged.
func (l *linter) goodbye() {
	for _, lang := range l.p.Languages {
		v := l.view(lang, worst[0])
		if g := l.p.Goodbye(v); !l.limits.Holds(g.Units, g.UCS2) {
			l.add(LevelError, "", lang, "the goodbye has %d units, more than a screen", g.Units)
		}
	}
}

// sizes measures the screens of n in all languages with the longest values.
func (l *linter) sizes(n *Node, notices []Text) {
	for _, lang := range l.p.Languages {
		for _, letter := range worst {
			for f := range flagged {
				v := l.view(lang, letter)
				v.Authenticated, v.Draft = f&1 != 0, f&2 != 0
				if n.List != nil {
					v.Vars[n.List.Of] = sample(n.List.Text.In(lang, l.p.Default()), v.Vars)
				}
				l.size(n, v, letter == worst[0], notices)
			}
			if !n.shows(lang) {
				break // no variable: the letters make no difference
			}
		}
	}
}

// sample is some rows with the longest values. More only make more pages.
func sample(text string, longest map[string]string) string {
	row := map[string]string{}
	for _, name := range names(text) {
		row[name] = longest[name]
	}
	rows, err := Rows([]map[string]string{row, row, row})
	if err != nil {
		return ""
	}
	return rows
}

// view has the longest value for every variable.
func (l *linter) view(lang, letter string) *View {
	v := &View{Lang: lang, Limits: l.limits, Vars: map[string]string{}, all: true, Caller: longestCaller}
	for name := range l.shown {
		length := l.p.Longest[name]
		if length == 0 {
			length = usualLength
		}
		v.Vars[name] = longWords(letter, length)
	}
	return v
}

// longWords is a value of n characters in words of up to ten.
func longWords(letter string, n int) string {
	var b strings.Builder
	for i := range n {
		if i%11 == 10 && i < n-1 {
			b.WriteByte(' ')
		} else {
			b.WriteString(letter)
		}
	}
	return b.String()
}

// variables are those that the texts of the pack show.
func (p *Pack) variables() map[string]bool {
	out := map[string]bool{}
	p.texts(func(_, _ string, t Text) {
		for _, s := range t {
			for _, name := range names(s) {
				out[name] = true
			}
		}
	})
	return out
}

// shows reports whether the screen of n depends on variables.
func (n *Node) shows(lang string) bool { return n.look(lang).still == nil }

func (l *linter) size(n *Node, v *View, narrow bool, notices []Text) {
	lk := n.look(v.Lang)
	alone := lk.pages(v, l.limits)
	if n.End && len(alone) > 1 {
		l.closing(n, v, narrow)
	}
	if len(alone) > manyPages && narrow {
		l.add(LevelWarning, n.ID, v.Lang, "needs %d pages", len(alone))
	}
	l.whole(n, v, alone)
	if !narrow {
		return
	}
	for _, t := range notices {
		with := *v
		with.Notice = l.p.Fill(t, v)
		pages := lk.pages(&with, l.limits)
		if len(pages) > len(alone) {
			l.add(LevelWarning, n.ID, v.Lang, "needs %d pages with the notice %q", len(pages), t.In(v.Lang, l.p.Default()))
		}
	}
}

// closing reports a closing screen of several pages. Values that need UCS-2
// are rare, so that is a warning, and none when plain ones are too long too.
func (l *linter) closing(n *Node, v *View, narrow bool) {
	const format = "the closing screen has %d units, more than one page"
	units := n.look(v.Lang).one(v).Units
	if narrow {
		l.add(LevelError, n.ID, v.Lang, format, units)
	} else if !slices.ContainsFunc(l.found, func(f Finding) bool { return f.Level == LevelError && f.Node == n.ID && f.Lang == v.Lang }) {
		l.add(LevelWarning, n.ID, v.Lang, format, units)
	}
}

// whole finds lines that no page can hold in one piece, and pages that had to
// do without Back and Exit or without an option.
func (l *linter) whole(n *Node, v *View, pages []Shown) {
	lk := n.look(v.Lang)
	lines := lk.visible(v)
	var shown []string
	for _, p := range pages {
		on := strings.Split(p.Text, "\n")
		shown = append(shown, on...)
		if !l.limits.Holds(p.Units, p.UCS2) {
			l.add(LevelError, n.ID, v.Lang, "cannot be made to fit: a page has %d units", p.Units)
		}
		for _, t := range lk.tail {
			if !slices.Contains(on, t) {
				l.add(LevelError, n.ID, v.Lang, "cannot be made to fit: a page has no room for %q", t)
			}
		}
		if len(lines) > 0 && n.Input == nil && !slices.ContainsFunc(lines, func(s string) bool { return slices.Contains(on, s) }) {
			l.add(LevelError, n.ID, v.Lang, "cannot be made to fit: a page has no room for an option")
		}
	}
	guess := ""
	if n.shows(v.Lang) {
		guess = fmt.Sprintf(", each value as long as vars says, else %d characters", usualLength)
	}
	for _, s := range lines {
		if !slices.Contains(shown, s) {
			l.add(LevelError, n.ID, v.Lang, "cannot be made to fit: an option has %d units%s", units(s), guess)
		}
	}
}

func units(s string) int {
	n, _ := Units(s)
	return n
}
