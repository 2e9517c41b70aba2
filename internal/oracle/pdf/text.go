// Package pdf reads the text of PDF files that people attach to messages: what simple
// and composite fonts show, page after page, in the order of the file.
//
// It promises to finish soon, with bounded memory, whatever the file is: sizes, pages,
// unpacked data and every step have limits. It does not read pictures, so a scan has no
// text, nor files that need a password.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits.
const (
	MaxPages  = 500
	maxSteps  = 4_000_000 // values read, a second of work or so
	maxUnpack = 32 << 20  // bytes
	maxForms  = 8         // pictures with text in each other
)

// Why there is no text.
var (
	ErrForm   = errors.New("pdf: not a PDF file")
	ErrSealed = errors.New("pdf: encrypted")
	ErrNoText = errors.New("pdf: no text")
)

// Text returns the text of a file, at least most bytes of it if there is more, and
// whether that is all. It ends early when ctx does.
func Text(ctx context.Context, raw []byte, most int) (text string, whole bool, err error) {
	defer func() {
		if recover() != nil { // a mistake of ours costs this file, and not the server
			text, whole, err = "", false, ErrForm
		}
	}()
	return read(&work{over: ctx.Err, steps: maxSteps, unpack: maxUnpack}, raw, most)
}

func read(w *work, raw []byte, most int) (text string, whole bool, err error) {
	if !bytes.Contains(raw[:min(len(raw), 1024)], []byte("%PDF-")) {
		return "", false, ErrForm
	}
	f := open(raw, w)
	if f.sealed {
		return "", false, ErrSealed
	}
	r := &reader{file: f, most: most, seen: map[ref]bool{}, fonts: map[ref]*font{}}
	r.walk(f.dict(f.root)["Pages"], nil, 0)
	if err := w.over(); err != nil {
		return "", false, err
	}
	text = ligatures.Replace(strings.TrimSpace(strings.Map(shown, strings.ToValidUTF8(r.out.String(), unknown))))
	if !legible(text) {
		return "", false, ErrNoText
	}
	return text, !r.full() && !w.short && r.pages <= MaxPages, nil
}

// ligatures are letters that are two.
var ligatures = strings.NewReplacer("\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\u00a0", " ", "\u00ad", "")

// shown drops control characters for printers.
func shown(c rune) rune {
	if c != '\n' && unicode.IsControl(c) {
		return -1
	}
	return c
}

// legible reports whether there is a text of which most can be read.
func legible(text string) bool {
	good, bad := 0, 0
	for _, c := range text {
		switch {
		case c == utf8.RuneError:
			bad++
		case !unicode.IsSpace(c):
			good++
		}
	}
	return good > bad
}

// reader reads pages.
type reader struct {
	*file
	most  int
	pages int
	seen  map[ref]bool // pages, so that none is in itself
	fonts map[ref]*font
	out   strings.Builder

	last    point // where the last text has ended
	size    float64
	written bool // on this page
}

func (r *reader) full() bool { return r.out.Len() > r.most }

// walk reads the pages below a node, which have its resources where they have none.
func (r *reader) walk(node any, resources any, depth int) {
	if id, ok := node.(ref); ok {
		if r.seen[id] {
			return
		}
		r.seen[id] = true
	}
	d := r.dict(node)
	if d == nil || depth > maxDepth || r.pages > MaxPages || r.full() || r.work.short {
		return
	}
	if d["Resources"] != nil {
		resources = d["Resources"]
	}
	if d["Kids"] != nil {
		for _, kid := range r.list(d["Kids"]) {
			r.walk(kid, resources, depth+1)
		}
		return
	}
	if r.pages++; r.pages > MaxPages {
		return
	}
	if r.written {
		r.out.WriteString("\n\n")
	}
	r.written = false
	var content []byte
	for _, part := range r.list(d["Contents"]) {
		if s, ok := r.get(part).(*stream); ok {
			content = append(append(content, r.unpack(s)...), '\n')
		}
	}
	p := page{reader: r, resources: r.dict(resources), state: state{at: unit, scale: 1}}
	p.run(content, 0)
}

// point is a place on a page.
type point struct{ x, y float64 }

// matrix turns places of one space into those of another.
type matrix [6]float64

var unit = matrix{1, 0, 0, 1, 0, 0}

// after is m, and then n.
func (m matrix) after(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func (m matrix) apply(p point) point {
	return point{p.x*m[0] + p.y*m[2] + m[4], p.x*m[1] + p.y*m[3] + m[5]}
}

// state is what q keeps and Q gives back.
type state struct {
	at                    matrix // of the page
	font                  *font
	size, leading         float64
	between, words, scale float64
}

// page runs the operators of a page, or of a form on it.
type page struct {
	*reader
	resources dict
	state     state
	kept      []state
	text      matrix // where the next text goes
	line      matrix // where this line has begun
}

// run obeys the operators of a content.
func (p *page) run(content []byte, depth int) {
	in := scanner{in: content, work: p.work}
	var args []any
	for !p.full() {
		v, ok := in.value(0)
		if !ok {
			return
		}
		op, isWord := v.(word)
		switch {
		case !isWord:
			if args = append(args, v); len(args) > 64 {
				args = args[1:]
			}
			continue
		case op == "ID":
			in.picture()
		case op == "Do":
			p.form(args, depth)
		default:
			p.do(op, args)
		}
		args = args[:0]
	}
}

// picture passes a picture that stands among the operators.
func (s *scanner) picture() {
	for {
		i := bytes.Index(s.in[s.at:], []byte("EI"))
		if i < 0 {
			s.at = len(s.in)
			return
		}
		s.at += i + 2
		if isSpace(s.in[s.at-3]) && (s.at == len(s.in) || isSpace(s.in[s.at])) {
			return
		}
	}
}

// do obeys one operator. Those that only draw are passed.
func (p *page) do(op word, args []any) {
	n := make([]float64, 6)
	for i := range min(len(args), 6) {
		n[i], _ = args[i].(float64)
	}
	switch op {
	case "q":
		if len(p.kept) < maxDepth {
			p.kept = append(p.kept, p.state)
		}
	case "Q":
		if last := len(p.kept) - 1; last >= 0 {
			p.state, p.kept = p.kept[last], p.kept[:last]
		}
	case "cm":
		p.state.at = matrix(n).after(p.state.at)
	case "BT":
		p.text, p.line = unit, unit
	case "Tm":
		p.text, p.line = matrix(n), matrix(n)
	case "Td":
		p.move(n[0], n[1])
	case "TD":
		p.state.leading = -n[1]
		p.move(n[0], n[1])
	case "T*":
		p.move(0, -p.state.leading)
	case "Tf":
		p.setFont(args, n[1])
	case "Tc":
		p.state.between = n[0]
	case "Tw":
		p.state.words = n[0]
	case "Tz":
		p.state.scale = n[0] / 100
	case "TL":
		p.state.leading = n[0]
	case "Tj", "TJ", "'", "\"":
		p.lines(op, args, n)
	}
}

// lines obeys the operators that show text.
func (p *page) lines(op word, args []any, n []float64) {
	if op == "\"" {
		p.state.words, p.state.between = n[0], n[1]
	}
	if op == "'" || op == "\"" {
		p.move(0, -p.state.leading)
	}
	if len(args) == 0 {
		return
	}
	shown, isArray := args[len(args)-1].(array)
	if !isArray {
		shown = args[len(args)-1:]
	}
	for _, v := range shown {
		switch v := v.(type) {
		case string:
			p.show(v)
		case float64:
			p.advance(-v / 1000 * p.state.size)
		}
	}
}

// move begins a line, so far from where this one has begun.
func (p *page) move(x, y float64) {
	p.line = matrix{1, 0, 0, 1, x, y}.after(p.line)
	p.text = p.line
}

// advance moves along the line.
func (p *page) advance(x float64) { p.text = matrix{1, 0, 0, 1, x * p.state.scale, 0}.after(p.text) }

func (p *page) setFont(args []any, size float64) {
	p.state.size, p.state.font = size, nil
	if len(args) < 2 {
		return
	}
	key, _ := args[0].(name)
	v := p.dict(p.resources["Font"])[key]
	id, shared := v.(ref)
	if known := p.fonts[id]; shared && known != nil {
		p.state.font = known
		return
	}
	if d := p.dict(v); d != nil {
		p.state.font = p.file.font(d)
		if shared {
			p.fonts[id] = p.state.font
		}
	}
}

// form shows a form, which is a content of its own.
func (p *page) form(args []any, depth int) {
	if len(args) == 0 || depth >= maxForms {
		return
	}
	key, _ := args[0].(name)
	s, ok := p.get(p.dict(p.resources["XObject"])[key]).(*stream)
	if !ok || p.get(s.head["Subtype"]) != name("Form") {
		return
	}
	inner := page{reader: p.reader, resources: p.resources, state: p.state}
	if m := p.list(s.head["Matrix"]); len(m) == 6 {
		var by matrix
		for i := range by {
			by[i] = p.number(m[i])
		}
		inner.state.at = by.after(inner.state.at)
	}
	if d := p.dict(s.head["Resources"]); d != nil {
		inner.resources = d
	}
	inner.run(p.unpack(s), depth+1)
}

// show writes a string, after the space or the end of a line that its place asks for.
func (p *page) show(s string) {
	f := p.state.font
	if f == nil || s == "" {
		return
	}
	all := p.text.after(p.state.at)
	begins := all.apply(point{})
	up := all.apply(point{0, p.state.size})
	size := math.Hypot(up.x-begins.x, up.y-begins.y)
	p.part(begins, max(size, p.size))
	width := 1
	if f.wide {
		width = 2
	}
	for i := 0; i+width <= len(s) && p.work.step(); i += width {
		code := number(s[i : i+width])
		text, ok := f.text[code]
		if !ok {
			text = unknown
		}
		p.out.WriteString(text)
		w, ok := f.widths[code]
		if !ok {
			w = f.other
		}
		w = w*p.state.size + p.state.between
		if !f.wide && s[i] == ' ' {
			w += p.state.words
		}
		p.advance(w)
	}
	p.last, p.size, p.written = p.text.after(p.state.at).apply(point{}), size, true
}

// part writes what stands between the last text and one that begins here.
func (p *page) part(at point, size float64) {
	if !p.written {
		return
	}
	text := p.out.String()
	spaced := strings.HasSuffix(text, " ") || strings.HasSuffix(text, "\n")
	switch {
	case math.Abs(at.y-p.last.y) > size/2 || at.x < p.last.x-2*size:
		if !strings.HasSuffix(text, "\n") {
			p.out.WriteByte('\n')
		}
	case at.x > p.last.x+0.15*size && !spaced:
		p.out.WriteByte(' ')
	}
}
