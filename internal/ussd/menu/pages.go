package menu

import (
	"strings"
	"unicode/utf8"
)

const (
	// repeatable is how many lines of options, at most, may stand on every
	// page below a long text.
	repeatable = 3
	// leastRoom is what a page must leave to the text in units; a tail that
	// leaves less is dropped, for a screen is never above the limit.
	leastRoom = 8
)

// Pages spreads a body and the lines of its options over as many screens as
// they need. Words stay whole unless one alone is longer than a page. Every
// page ends with the lines of tail, which receives the page, from 0, and the
// number of pages. Up to three short options below a long body are on every
// page; longer lists are spread, at least one option on each page. White space
// at a page break is left out; nothing else is.
//
// No page exceeds the limits as long as these are 40 or more.
func Pages(l Limits, body string, lines []string, tail func(page, pages int) []string) []string {
	p := pager{limits: l.OrStandard(), body: strings.TrimSpace(body), lines: lines, tail: tail}
	pages, used := 1, []string(nil)
	for range 8 {
		used = p.layout(pages)
		if len(used) == pages {
			return used
		}
		pages = max(pages+1, len(used))
	}
	return used
}

type pager struct {
	limits Limits
	body   string
	lines  []string
	tail   func(page, pages int) []string
}

// layout fills pages on the assumption that there will be n of them.
func (p *pager) layout(n int) []string {
	var out []string
	body, lines := p.body, p.lines
	for {
		pg := p.open(len(out), n)
		if n > 1 && p.repeats(pg) && pg.reserve(p.lines) {
			lines = nil
		} else if body != "" && len(lines) > 0 {
			pg.reserve(lines[:1])
		}
		body = pg.takeBody(body)
		if body == "" && len(lines) > 0 {
			lines = pg.takeLines(lines[min(len(pg.lines), len(lines)):])
		}
		out = append(out, pg.text())
		if body == "" && len(lines) == 0 {
			return out
		}
	}
}

// open begins page i of n with its tail.
func (p *pager) open(i, n int) *page {
	pg := &page{limits: p.limits, tail: p.tail(i, n)}
	for _, line := range pg.tail {
		pg.used = pg.used.plus(newline).plus(measure(line))
	}
	if !pg.leaves(leastRoom) {
		pg.tail, pg.used = nil, meter{}
	}
	return pg
}

// repeats reports whether all options are repeated on each page: few and short
// ones below a text that needs the pages.
func (p *pager) repeats(pg *page) bool {
	if p.body == "" || len(p.lines) == 0 || len(p.lines) > repeatable {
		return false
	}
	m := pg.used
	for _, line := range p.lines {
		m = m.plus(newline).plus(measure(line))
	}
	if m.wide || measure(p.body).wide {
		return m.ucs <= p.limits.UCS2/2
	}
	return m.gsm <= p.limits.GSM7/2
}

// page is one screen being filled: body, then lines, then tail.
type page struct {
	limits Limits
	body   string
	lines  []string
	tail   []string
	used   meter
}

var newline = meter{gsm: 1, ucs: 1}

// leaves reports whether n more units would fit.
func (pg *page) leaves(n int) bool {
	return pg.limits.holds(pg.used.plus(meter{gsm: n, ucs: n}))
}

// reserve sets lines as options of the page before its body is filled in,
// unless they would leave the body no room.
func (pg *page) reserve(lines []string) bool {
	before := pg.used
	for _, line := range lines {
		pg.used = pg.used.plus(newline).plus(measure(line))
	}
	if !pg.leaves(leastRoom) {
		pg.used = before
		return false
	}
	pg.lines = append(pg.lines, lines...)
	return true
}

// takeBody fills in as much of body as fits and returns the rest.
func (pg *page) takeBody(body string) string {
	if body == "" {
		return ""
	}
	head, rest := pg.cut(body)
	pg.body = head
	pg.used = pg.used.plus(measure(head))
	return rest
}

// takeLines adds the lines that fit and returns the others. A line that no
// page could hold is cut.
func (pg *page) takeLines(lines []string) []string {
	for i, line := range lines {
		m := pg.used.plus(newline).plus(measure(line))
		if !pg.limits.holds(m) {
			if pg.body != "" || len(pg.lines) > 0 {
				return lines[i:]
			}
			head, rest := pg.cut(line)
			pg.lines = append(pg.lines, head)
			if rest == "" {
				return lines[i+1:]
			}
			return append([]string{rest}, lines[i+1:]...)
		}
		pg.used = m
		pg.lines = append(pg.lines, line)
	}
	return nil
}

// cut splits s where the page is full: at a line break when that fills most
// of the page, else between words, else inside the word.
func (pg *page) cut(s string) (head, rest string) {
	m, full, word, line := pg.used, 0, 0, 0
	for full < len(s) {
		r, size := utf8.DecodeRuneInString(s[full:])
		if m = m.plus(measureRune(r)); !pg.limits.holds(m) {
			break
		}
		switch r {
		case ' ':
			word = full
		case '\n':
			word, line = full, full
		}
		full += size
	}
	if full == len(s) {
		return s, ""
	}
	at := full
	if at == 0 { // too small for one character: continue anyway
		_, at = utf8.DecodeRuneInString(s)
		return s[:at], s[at:]
	}
	switch next := s[at]; {
	case next == ' ' || next == '\n':
	case line > full*2/3:
		at = line
	case word > 0:
		at = word
	}
	return strings.TrimRight(s[:at], " \n"), strings.TrimLeft(s[at:], " \n")
}

// text joins the parts of the page, each on a line of its own.
func (pg *page) text() string {
	parts := make([]string, 0, 1+len(pg.lines)+len(pg.tail))
	if pg.body != "" {
		parts = append(parts, pg.body)
	}
	parts = append(parts, pg.lines...)
	return strings.Join(append(parts, pg.tail...), "\n")
}
