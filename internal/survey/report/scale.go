package report

import (
	"math"
	"strconv"
	"strings"
)

// Unit says how to write the values of a picture.
type Unit struct {
	Percent bool   // shares: 0.62 is 62.0 %
	Name    string // such as kg; "" for none, and the sign of percent for shares
}

// format writes values with the same digits after the point.
type format struct {
	unit   Unit
	digits int
}

// formatOf fits values whose largest is about this large.
func (u Unit) formatOf(largest float64) format {
	switch largest = math.Abs(largest); {
	case u.Percent:
		return format{u, 1}
	case largest >= 1000:
		return format{u, 0}
	case largest >= 100:
		return format{u, 1}
	case largest >= 1, largest == 0:
		return format{u, 2}
	case largest >= 0.01:
		return format{u, 4}
	}
	return format{u, 6}
}

// bare is a value without its unit.
func (f format) bare(v float64) string {
	if f.unit.Percent {
		v *= 100
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	if math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return Number(v, f.digits)
}

// suffix is the unit behind a value.
func (f format) suffix() string {
	switch {
	case f.unit.Name != "":
		return " " + clean(f.unit.Name)
	case f.unit.Percent:
		return " %"
	}
	return ""
}

// signed is a difference: it has its sign, also a plus.
func (f format) signed(v float64) string {
	if text := f.bare(v); v > 0 && strings.Trim(text, "0.,") != "" {
		return "+" + text
	}
	return f.bare(v)
}

// Number formats a number with so many digits after the point and commas
// between thousands. A number that is rounded to zero has no sign.
func Number(v float64, digits int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', digits, 64)
	whole, rest, _ := strings.Cut(text, ".")
	var b strings.Builder
	if v < 0 && strings.Trim(text, "0.") != "" {
		b.WriteString("−")
	}
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if rest != "" {
		b.WriteString("." + rest)
	}
	return b.String()
}

// axis maps values to places.
type axis struct {
	low, high float64 // values at its ends
	from, to  float64 // places of its ends
	ticks     []float64
}

// newAxis is an axis with round numbers that has all the values.
func newAxis(low, high float64, most int) axis {
	if !(low < high) { // one value, or none that is a number
		if math.IsNaN(low) || math.IsInf(low, 0) || math.IsNaN(high) || math.IsInf(high, 0) {
			low, high = 0, 1
		} else {
			room := max(math.Abs(low)*.1, 1e-6)
			low, high = low-room, low+room
		}
	}
	step := niceStep((high - low) / float64(max(most-1, 1)))
	a := axis{low: math.Floor(low/step+1e-9) * step, high: math.Ceil(high/step-1e-9) * step}
	count := int(math.Round((a.high - a.low) / step))
	for i := range min(count, 50) + 1 {
		v := a.low + float64(i)*step
		if math.Abs(v) < step/1e6 {
			v = 0
		}
		a.ticks = append(a.ticks, v)
	}
	return a
}

// niceStep is the least of 1, 2, 2.5 and 5 times a power of ten that is not below
// a step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if f*power >= step*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// at is the position of a value, at an end when it lies outside.
func (a *axis) at(v float64) float64 {
	share := (v - a.low) / (a.high - a.low)
	return a.from + min(max(share, 0), 1)*(a.to-a.from)
}

// labels formats the ticks, with enough digits to distinguish them.
func (a *axis) labels(u Unit) []string {
	f := format{unit: u}
	if len(a.ticks) > 1 {
		step := a.ticks[1] - a.ticks[0]
		if u.Percent {
			step *= 100
		}
		for f.digits < 6 && math.Abs(step-math.Round(step*math.Pow10(f.digits))/math.Pow10(f.digits)) > step/1e6 {
			f.digits++
		}
	}
	out := make([]string, len(a.ticks))
	for i, v := range a.ticks {
		out[i] = f.bare(v)
	}
	if len(out) > 0 {
		out[len(out)-1] += f.suffix()
	}
	return out
}
