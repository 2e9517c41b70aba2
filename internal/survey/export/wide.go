package export

import (
	"fmt"
	"slices"
	"strings"
)

// fill makes the row of a response. It is valid until the next.
func (l *Layout) fill(r *Response) error {
	if err := l.fillHead(r); err != nil {
		return err
	}
	p := scanner{s: r.Answers}
	l.members(&p, l.root)
	if p.bad {
		return fmt.Errorf("response %d: the answers cannot be read", r.NID)
	}
	return nil
}

// fillHead begins the row of a response with all but its answers.
func (l *Layout) fillHead(r *Response) error {
	clear(l.row)
	p := scanner{s: r.Head}
	if l.head.read(&p); p.bad {
		return fmt.Errorf("response %d: the record cannot be read", r.NID)
	}
	for i := range l.heads {
		l.row[i] = l.heads[i].get(l, r)
	}
	return nil
}

// find is the node of a member. Members are ordered as the kids are, so the
// next one is where the last was left.
func (n *node) find(name string, at *int) *node {
	for i := *at; i < len(n.kids); i++ {
		if n.kids[i].id == name {
			*at = i + 1
			return n.kids[i]
		}
		if n.kids[i].id > name {
			break
		}
	}
	if i, ok := slices.BinarySearchFunc(n.kids, name, func(k *node, s string) int { return strings.Compare(k.id, s) }); ok {
		*at = i + 1
		return n.kids[i]
	}
	return nil
}

// members puts the answers of a section or group into their cells.
func (l *Layout) members(p *scanner, n *node) {
	if !p.open('{') {
		return
	}
	at := 0
	for p.more('}') {
		if kid := n.find(p.name(), &at); kid == nil {
			p.value()
		} else if kid.kind == object && p.peek() == '{' {
			l.members(p, kid)
		} else {
			l.answer(kid, p)
		}
	}
}

// answer puts an answer into its cells.
func (l *Layout) answer(n *node, p *scanner) {
	if n.kind == repeat && l.cfg.Repeats == Tables {
		in := scanner{s: p.value()}
		l.row[n.first] = cell{kind: integer, n: in.elements()}
		p.bad = p.bad || in.bad
		return
	}
	if n.kind == repeat {
		if l.cfg.Level == Full {
			l.row[n.first] = cellOf(p.value())
			return
		}
		l.row[n.first] = cell{kind: document, s: string(l.appendValue(nil, p, n))}
		return
	}
	raw := p.value()
	if p.bad || raw[0] == 'n' {
		return
	}
	if code := noAnswer(raw); code != "" {
		for i := n.first; i == n.first || i < n.first+len(n.columns) && n.of.Rows; i++ {
			l.row[i] = cell{kind: words, s: code}
		}
		return
	}
	in := scanner{s: raw}
	switch n.kind {
	case single:
		l.choose(n, raw)
	case several:
		l.list(n, &in)
	case parts:
		l.parts(n, &in)
	case named:
		l.row[n.first] = word(n.name(l, textOf(raw)))
	default:
		l.row[n.first] = cellOf(raw)
	}
	p.bad = p.bad || in.bad
}

// choose fills the cells of one choice.
func (l *Layout) choose(n *node, raw string) {
	text := otherText(raw)
	if text == "" {
		l.row[n.first] = cellOf(raw)
		return
	}
	l.row[n.first] = cell{kind: words, s: other}
	if n.other > 0 {
		l.row[n.other] = cellOf(text)
	}
}

// other is the value for an answer in other words. No option of such a question
// has this value: see package form.
const other = "other"

// list fills the cells of several choices: all together, and one for each
// option.
func (l *Layout) list(n *node, p *scanner) {
	for i := range len(n.columns) {
		l.row[n.first+1+i] = cell{kind: integer}
	}
	all, count := "", int64(0)
	if !p.open('[') {
		return
	}
	for p.more(']') {
		raw := p.value()
		if p.bad {
			return
		}
		value := plain(raw)
		count++
		if text := otherText(raw); text != "" {
			value = other
			if n.other > 0 {
				l.row[n.other] = cellOf(text)
			}
		} else if column, ok := n.columns[value]; ok {
			l.row[column].n = 1
			if n.of.Ordered {
				l.row[column].n = count
			}
		}
		if count == 1 {
			all = value
		} else {
			all += Separator + value
		}
	}
	l.row[n.first] = word(all)
}

// parts fills the cells of an answer that has one for each member.
func (l *Layout) parts(n *node, p *scanner) {
	if !p.open('{') {
		return
	}
	for p.more('}') {
		name, v := p.member(), p.value()
		if column, ok := n.columns[name]; ok && !p.bad {
			l.row[column] = cellOf(l.coarse(n, v))
		}
	}
}

// coarse is a part of an answer as the level has it.
func (l *Layout) coarse(n *node, v string) string {
	if n.of.Place && l.cfg.Level != Full {
		return rounded(v)
	}
	return v
}
