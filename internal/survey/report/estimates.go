package report

import (
	"math"
	"slices"
	"strings"
)

// Row is one figure with its uncertainty. Unknown members are nil.
type Row struct {
	Label     string
	Value     *float64
	Low, High *float64
	N         *int
	Hidden    bool // it comes from too few households to be shown
}

// clear reports whether the interval lies on one side of 0.
func (r Row) clear() bool {
	return !r.Hidden && r.Low != nil && r.High != nil && (*r.Low > 0 || *r.High < 0)
}

// Estimates are figures with their intervals: bars where the values are shares,
// dots otherwise.
type Estimates struct {
	Frame
	Unit       Unit
	Confidence float64
	Rows       []Row
}

// SVG draws the figures.
func (e Estimates) SVG() []byte {
	p := e.rows(e.Unit.Percent)
	p.mark = func(c *canvas, a *axis, r Row, y float64) {
		x := a.at(*r.Value)
		if e.Unit.Percent {
			c.rect(a.from, y-7, x-a.from, 14, "b")
		}
		interval(c, a, r, y)
		if r.Low == nil || r.High == nil {
			c.dot(x, y, 4.5, "o")
			return
		}
		c.dot(x, y, 4, "f")
	}
	return p.draw(e.Frame)
}

// Change is figures less those of an earlier round, or of another group.
type Change Estimates

// SVG draws the differences on both sides of 0. A filled dot is one whose interval
// does not reach it.
func (d Change) SVG() []byte {
	p := Estimates(d).rows(false)
	p.low, p.high, p.zero, p.signed = min(p.low, 0), max(p.high, 0), true, true
	p.mark = func(c *canvas, a *axis, r Row, y float64) {
		interval(c, a, r, y)
		class := "o"
		if r.clear() {
			class = "f"
		}
		c.dot(a.at(*r.Value), y, 4.5, class)
	}
	if slices.ContainsFunc(p.rows, Row.clear) {
		d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], d.Say("Filled dots: the interval does not reach 0, so that the change is more than chance."))
	}
	return p.draw(d.Frame)
}

func interval(c *canvas, a *axis, r Row, y float64) {
	if r.Low != nil && r.High != nil {
		c.whisker(a.at(*r.Low), a.at(*r.High), y, 5)
	}
}

// plot is rows of figures over one axis.
type plot struct {
	rows       []Row
	unit       Unit
	confidence float64
	low, high  float64 // what the axis has at least
	format     format
	zero       bool // a line stands at 0
	signed     bool
	language   string
	mark       func(c *canvas, a *axis, r Row, y float64)
}

// rows are the figures with the ends of their axis.
func (e Estimates) rows(fromZero bool) *plot {
	p := &plot{rows: slices.Clone(e.Rows), unit: e.Unit, confidence: e.Confidence, low: math.Inf(1), high: math.Inf(-1)}
	for i := range p.rows {
		r := &p.rows[i]
		for _, v := range []**float64{&r.Value, &r.Low, &r.High} {
			if *v == nil || math.IsNaN(**v) || math.IsInf(**v, 0) {
				*v = nil
			} else if !r.Hidden {
				p.low, p.high = min(p.low, **v), max(p.high, **v)
			}
		}
	}
	p.format = e.Unit.formatOf(max(math.Abs(p.low), math.Abs(p.high)))
	if math.IsInf(p.low, 0) {
		p.format = e.Unit.formatOf(0)
	}
	if fromZero {
		p.low, p.high = 0, 1
	}
	return p
}

// draw makes the picture.
func (p *plot) draw(f Frame) []byte {
	p.language = f.Language
	more := len(p.rows) - maxRows
	if more > 0 {
		p.rows = p.rows[:maxRows]
		f.Notes = append(f.Notes[:len(f.Notes):len(f.Notes)], f.Say("%d more are not shown.", more))
	}
	c := newCanvas(f)
	c.y += 8
	a := newAxis(p.low, p.high, int(c.inner()/90)+1)
	a.from, a.to = pad+5, c.width-pad-5
	top := c.y
	body := &canvas{frame: c.frame, width: c.width, y: c.y}
	for _, r := range p.rows {
		p.row(body, &a, r)
	}
	c.y = body.y
	if !math.IsInf(p.low, 0) && len(p.rows) > 0 { // lines lie below what they measure
		c.grid(&a, p.unit, top)
		if p.zero {
			c.line(a.at(0), top, a.at(0), body.y, "z")
		}
	}
	c.b.WriteString(body.b.String())
	return c.finish(p.words(f, more))
}

// row writes a label and its figure, and marks it below.
func (p *plot) row(c *canvas, a *axis, r Row) {
	c.labelled(r.Label, p.value(r))
	if r.Value == nil || r.Hidden {
		c.y += 8
		return
	}
	p.mark(c, a, r, c.y+9)
	c.y += 26
}

// value is what a figure is, in digits.
func (p *plot) value(r Row) string {
	bare, of := p.writes()
	switch {
	case r.Hidden:
		return say(p.language, "not shown: too few")
	case r.Value == nil:
		return "–"
	case r.Low == nil || r.High == nil:
		return of(*r.Value) + count(r.N)
	}
	return say(p.language, "%s (%s to %s)%s", of(*r.Value), bare(*r.Low), bare(*r.High), count(r.N))
}

// writes are how values are written, without and with their unit.
func (p *plot) writes() (bare, of func(float64) string) {
	bare = p.format.bare
	if p.signed {
		bare = p.format.signed
	}
	return bare, func(v float64) string { return bare(v) + p.format.suffix() }
}

func count(n *int) string {
	if n == nil {
		return ""
	}
	return " · n " + Number(float64(*n), 0)
}

// grid draws the lines of an axis from top to here and its numbers below.
func (c *canvas) grid(a *axis, u Unit, top float64) {
	labels := a.labels(u)
	for i, v := range a.ticks {
		c.line(a.at(v), top, a.at(v), c.y, "g")
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case len(a.ticks) - 1:
			anchor = "end"
		}
		x := a.at(v)
		if anchor == "start" {
			x -= 4
		} else if anchor == "end" {
			x += 4
		}
		c.text(x, c.y+14, anchor, "s", labels[i])
	}
	c.y += 18
}

// words say all figures.
func (p *plot) words(f Frame, more int) string {
	all := []string{f.About}
	_, of := p.writes()
	for _, r := range p.rows {
		text := r.Label + ": "
		switch {
		case r.Hidden:
			text += f.Say("not shown, because it comes from too few households")
		case r.Value == nil:
			text += f.Say("not known")
		default:
			text += of(*r.Value)
			if r.Low != nil && r.High != nil {
				text += f.Say(", %s %% interval %s to %s", trimmed(100*p.confidence), of(*r.Low), of(*r.High))
			} else {
				text += f.Say(", no interval")
			}
			if r.N != nil {
				text += f.Say(", from %s households", Number(float64(*r.N), 0))
			}
		}
		all = append(all, text)
	}
	if more > 0 {
		all = append(all, f.Say("%d more are not shown.", more))
	}
	return sentences(append(all, f.Notes...))
}

// sentences ends each text with a full stop.
func sentences(all []string) string {
	var out []string
	for _, s := range all {
		if s = clip(clean(s)); s != "" {
			out = append(out, strings.TrimRight(s, ".")+".")
		}
	}
	return strings.Join(out, " ")
}

// clip bounds a sentence: labels are as long as their makers like.
func clip(s string) string {
	if r := []rune(s); len(r) > 600 {
		return string(r[:600]) + "…"
	}
	return s
}

// trimmed is a number without zeros at its end.
func trimmed(v float64) string {
	text := Number(v, 2)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
