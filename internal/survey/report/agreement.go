package report

import (
	"math"
)

// Point is a household: what it said, and what was measured.
type Point struct{ Said, Measured float64 }

// Agreement is what households say against what sensors or tests measured.
type Agreement struct {
	Frame
	Unit           Unit
	Said, Measured string // names of the two, for the axes
	Points         []Point
	// Of the answers minus the measurements; nil where there are too few.
	Bias, Low, High *float64
}

// maxPoints is how many households are drawn; of more, every so many.
const maxPoints = 2000

// shown are the points that are drawn, and those that can be.
func (a Agreement) shown(f *Frame) []Point {
	var out []Point
	for _, p := range a.Points {
		if !math.IsNaN(p.Said-p.Measured) && !math.IsInf(p.Said-p.Measured, 0) {
			out = append(out, p)
		}
	}
	if len(out) <= maxPoints {
		return out
	}
	all := len(out)
	for i := range maxPoints {
		out[i] = out[i*all/maxPoints]
	}
	f.Notes = append(f.Notes[:len(f.Notes):len(f.Notes)], f.Say("%s of %s households are drawn.", Number(maxPoints, 0), Number(float64(all), 0)))
	return out[:maxPoints]
}

// Scatter draws a dot for each household, and the line on which both say the
// same.
func (a Agreement) Scatter() []byte {
	f := a.Frame
	points := a.shown(&f)
	f.Notes = append(f.Notes[:len(f.Notes):len(f.Notes)], f.Say("Dashed line: both agree. Above it, households say more than was measured."))
	xy := make([][2]float64, len(points))
	low, high := math.Inf(1), math.Inf(-1)
	above, same := 0, 0
	for i, p := range points {
		xy[i] = [2]float64{p.Measured, p.Said}
		low, high = min(low, p.Said, p.Measured), max(high, p.Said, p.Measured)
		if p.Said > p.Measured {
			above++
		} else if p.Said == p.Measured {
			same++
		}
	}
	c := newCanvas(f)
	x, y := c.square(low, high, low, high)
	c.axes(&x, &y, a.Unit, a.Measured, a.Said)
	c.line(x.from, y.at(x.low), x.to, y.at(x.high), "z")
	c.points(&x, &y, xy)
	return c.finish(sentences(append([]string{
		f.About, f.Say("%d households: %d say more than was measured, %d less, %d the same", len(points), above, len(points)-above-same, same),
		a.bounds(),
	}, f.Notes...)))
}

// BlandAltman draws the differences against the means, with the bias and the
// limits of agreement.
func (a Agreement) BlandAltman() []byte {
	f := a.Frame
	points := a.shown(&f)
	xy := make([][2]float64, len(points))
	left, right, low, high := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for i, p := range points {
		mean, diff := (p.Said+p.Measured)/2, p.Said-p.Measured
		xy[i] = [2]float64{mean, diff}
		left, right, low, high = min(left, mean), max(right, mean), min(low, diff), max(high, diff)
	}
	for _, v := range []*float64{a.Bias, a.Low, a.High} {
		if v != nil {
			low, high = min(low, *v), max(high, *v)
		}
	}
	c := newCanvas(f)
	digits := a.Unit.formatOf(max(math.Abs(low), math.Abs(high)))
	lines, room := a.lines(digits)
	c.width -= room
	x, y := c.square(left, right, low, high)
	c.width += room
	c.axes(&x, &y, a.Unit, f.Say("Mean of the two"), f.Say("%s less %s", a.Said, a.Measured))
	c.points(&x, &y, xy)
	for _, l := range lines {
		c.line(x.from, y.at(l.v), x.to, y.at(l.v), l.class)
		c.text(c.width-pad, y.at(l.v)-4, "end", "s", l.name)
		c.text(c.width-pad, y.at(l.v)+12, "end", "v", l.value)
	}
	return c.finish(sentences(append([]string{f.About, f.Say("%d households", len(points)), a.bounds()}, f.Notes...)))
}

// limit is a line across a picture, with its name at the side: nobody could read
// it over the points.
type limit struct {
	name, value, class string
	v                  float64
}

// lines are the bias and the limits of agreement, and the room that their names
// need.
func (a Agreement) lines(digits format) (out []limit, room float64) {
	for _, l := range []struct {
		name, class string
		v           *float64
	}{{"upper limit", "z", a.High}, {"bias", "w", a.Bias}, {"lower limit", "z", a.Low}} {
		if l.v == nil {
			continue
		}
		one := limit{a.Say(l.name), digits.signed(*l.v), l.class, *l.v}
		out, room = append(out, one), max(room, widthOf(one.name, 12)+4, widthOf(one.value, textSize)*1.06+4)
	}
	return out, room
}

// bounds says the bias and the limits of agreement.
func (a Agreement) bounds() string {
	if a.Bias == nil {
		return a.Say("There are too few households for a bias")
	}
	f := a.Unit.formatOf(math.Abs(*a.Bias))
	if a.Low == nil || a.High == nil {
		return a.Say("Bias %s", f.signed(*a.Bias)+f.suffix())
	}
	return a.Say("Bias %s%s, limits of agreement %s to %s%s", f.signed(*a.Bias), f.suffix(), f.signed(*a.Low), f.signed(*a.High), f.suffix())
}

// square makes room for two axes.
func (c *canvas) square(left, right, low, high float64) (x, y axis) {
	height := min(c.inner()*.72, 420)
	c.y += 24 // the name of the vertical axis
	x, y = newAxis(left, right, int(c.inner()/100)+1), newAxis(low, high, int(height/60)+1)
	room := 0.0
	for _, l := range y.labels(Unit{}) {
		room = max(room, widthOf(l, 12))
	}
	x.from, x.to = pad+room+14, c.width-pad-8
	y.from, y.to = c.y+height, c.y+6
	c.y += height
	return x, y
}

// axes draws both with their names.
func (c *canvas) axes(x, y *axis, u Unit, across, up string) {
	for i, l := range x.labels(u) {
		c.line(x.at(x.ticks[i]), y.to, x.at(x.ticks[i]), y.from, "g")
		anchor, to := "middle", x.at(x.ticks[i])
		if i == len(x.ticks)-1 {
			anchor, to = "end", to+8
		}
		c.text(to, y.from+16, anchor, "s", l)
	}
	labels := y.labels(Unit{Percent: u.Percent})
	for i, v := range y.ticks {
		c.line(x.from, y.at(v), x.to, y.at(v), "g")
		c.text(x.from-7, y.at(v)+4, "end", "s", labels[i])
	}
	first := func(text string) string {
		if l := Wrap(text, c.inner(), textSize, 1); len(l) > 0 {
			return l[0]
		}
		return ""
	}
	c.text(pad, y.to-10, "start", "", "↑ "+first(up))
	c.text(c.width-pad, y.from+34, "end", "", first(across)+" →")
	c.y = y.from + 38
}

func (c *canvas) points(x, y *axis, xy [][2]float64) {
	for _, p := range xy {
		c.dot(x.at(p[0]), y.at(p[1]), 3.2, "p")
	}
}
