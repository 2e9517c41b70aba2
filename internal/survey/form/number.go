package form

import (
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/check"
)

// numbers are the kinds whose answer is a number, with or without its unit.
var numbers = []*Kind{
	{
		Type: Number, Members: Members{Bounds: true, NoAnswer: true, Unit: true}, Takes: Integer,
		CEL: cel.Number, read: (*answering).number, value: numeric, Parse: parseNumber,
		Quality: Quality{Amount: true},
		XLSForm: XLSForm{Word: "decimal", Reads: []string{"decimal"}, Marks: []string{"decimal", "range"}, Range: true},
		XForm:   XForm{Type: "decimal", Control: "input"},
	},
	{
		Type: Integer, Members: Members{Bounds: true, NoAnswer: true, Unit: true}, whole: true,
		CEL: cel.Number, read: (*answering).number, value: numeric, Parse: parseNumber,
		Quality: Quality{Amount: true, Identity: true, Code: true},
		XLSForm: XLSForm{Word: "integer", Reads: []string{"integer", "range"}, Range: true},
		XForm:   XForm{Type: "int", Control: "input"},
	},
	{
		Type: Rating, Members: Members{Bounds: true, NoAnswer: true}, whole: true, low: 1, high: 5,
		CEL: cel.Number, read: (*answering).number, value: numeric, Parse: parseNumber,
		Quality: Quality{Scale: true},
		XLSForm: XLSForm{Word: "range", Appearance: "rating", Amid: true},
		XForm:   XForm{Type: "int", Control: "range"},
	},
	{
		Type: Quantity, Members: Members{Bounds: true, Units: true, NoAnswer: true, Unit: true},
		Parts: []Part{{Name: "value", Type: Number}, {Name: "unit", Suffix: "/unit", Type: FreeText, Detail: true}},
		read:  (*answering).notObject, object: (*answering).quantity, value: compound,
		Quality: Quality{Amount: true},
		XLSForm: XLSForm{Word: "begin_group", Marks: []string{"begin_group"}},
		XForm:   XForm{Control: "group"},
	},
}

func (a *answering) number() error {
	if a.kind != '0' {
		return a.mistyped("a JSON number")
	}
	raw, err := a.ev.dec.ReadValue()
	if err != nil {
		return err
	}
	if f, ok := a.inRange(raw, ""); ok {
		a.c.num = f
		a.ev.arena = number(a.ev.arena, f)
	}
	return nil
}

// maxSafe is the largest integer that every JSON reader keeps exact.
const maxSafe = 1<<53 - 1

// maxNumber leaves room for what figures make of answers: their squares, times weights.
const maxNumber = 1e100

// inRange reads a number and checks it against the bounds of the question.
func (a *answering) inRange(raw jsontext.Value, below string) (float64, bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(math.Abs(f) <= maxNumber) {
		a.wrong(below, "out_of_range", "The number is too large.")
		return 0, false
	}
	if a.n.kind.whole {
		if f != math.Trunc(f) {
			a.wrong(below, "wrong_type", "The answer must be an integer.")
			return 0, false
		}
		if math.Abs(f) > maxSafe {
			a.wrong(below, "out_of_range", "The number is too large.")
			return 0, false
		}
	}
	if f < a.n.min || f > a.n.max {
		a.wrong(below, "out_of_range", a.bounds())
		return 0, false
	}
	if s := a.n.q.Validation.Step; s != nil && !onStep(f, a.n.min, *s) {
		a.wrong(below, "step", "The answer must be a multiple of "+short(*s)+" away from "+short(base(a.n.min))+".")
		return 0, false
	}
	return f, true
}

func (a *answering) bounds() string {
	switch low, high := a.n.min, a.n.max; {
	case math.IsInf(low, 0):
		return "The answer must be at most " + short(high) + "."
	case math.IsInf(high, 0):
		return "The answer must be at least " + short(low) + "."
	default:
		return "The answer must be from " + short(low) + " to " + short(high) + "."
	}
}

func short(f float64) string { return string(number(nil, f)) }

// base is where steps are counted from.
func base(low float64) float64 {
	if math.IsInf(low, 0) {
		return 0
	}
	return low
}

// onStep reports whether f is a whole number of steps above base. In binary,
// decimals such as 0.3 are not a whole number of 0.1, so a rounding error is
// tolerated: a few units in the last place of what was subtracted.
func onStep(f, low, step float64) bool {
	n := (f - base(low)) / step
	tolerance := 1e-9 + 4*(math.Abs(f)+math.Abs(base(low)))/step*0x1p-52
	return tolerance < 0.5 && math.Abs(n-math.Round(n)) <= tolerance
}

// numeric is an answer that is a number.
func numeric(_ *block, _ *node, c *cell) cel.Value { return cel.NumberValue(c.num) }

func parseNumber(text string, _ func(string) string) (any, bool) {
	v := jsontext.Value(text)
	return v, v.IsValid() && v.Kind() == '0'
}

// quantity reads {"value", "unit"}.
func (a *answering) quantity(list []member) {
	var unit []byte
	value, named, counted := 0.0, false, false
	for _, m := range list {
		switch {
		case m.name == "value" && m.value.Kind() == '0':
			value, _ = a.inRange(m.value, "/value")
			counted = true
		case m.name == "unit" && m.value.Kind() == '"':
			named = true
			if a.unquote(m.value) && !a.unit(string(a.ev.text)) {
				a.wrong("/unit", "not_an_option", "The value is not one of the units.")
			}
			unit = quote(nil, a.ev.text)
		case m.name == "value":
			counted = true
			a.wrong("/value", "wrong_type", "The value must be a JSON number.")
		case m.name == "unit":
			named = true
			a.wrong("/unit", "wrong_type", "The value must be a string.")
		default:
			a.wrong("/"+check.Escape(m.name), "unknown", "A quantity has no such member.")
		}
	}
	if !counted {
		a.wrong("/value", "required", "A quantity needs this member.")
	}
	if !named {
		a.wrong("/unit", "required", "A quantity needs this member.")
	}
	if a.failed {
		return
	}
	a.c.num = value
	a.ev.arena = append(append(a.ev.arena, `{"unit":`...), unit...)
	a.ev.arena = append(number(append(a.ev.arena, `,"value":`...), value), '}')
}

func (a *answering) unit(s string) bool {
	if q := a.n.q; len(q.Units) > 0 {
		return slices.Contains(q.Units, s)
	}
	return s == a.n.q.Unit
}
