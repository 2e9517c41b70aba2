package form

import (
	"math"
	"slices"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/check"
)

// place reads {"lat", "lon", "accuracy"?, "altitude"?}.
func (a *answering) place(list []member) {
	var values [len(geoMembers)]*float64
	for _, m := range list {
		i := slices.Index(geoMembers[:], m.name)
		switch {
		case i < 0:
			a.wrong("/"+check.Escape(m.name), "unknown", "A place does not have this member.")
			continue
		case m.value.Kind() == 'n' && i < 2:
			continue // accuracy or altitude that the device does not know
		case m.value.Kind() != '0':
			a.wrong("/"+m.name, "wrong_type", "The value must be a JSON number.")
			continue
		}
		f, err := strconv.ParseFloat(string(m.value), 64)
		if err != nil || !within(m.name, f) {
			a.wrong("/"+m.name, "out_of_range", "The value is out of range: lat -90 to 90, lon -180 to 180, accuracy not negative, all in degrees and metres.")
			continue
		}
		values[i] = &f
	}
	for i, name := range geoMembers {
		if i >= 2 && values[i] == nil && !slices.ContainsFunc(list, func(m member) bool { return m.name == name }) {
			a.wrong("/"+name, "required", "A place needs this member.")
		}
	}
	if a.failed {
		return
	}
	sep := byte('{')
	for i, v := range values {
		if v != nil {
			a.ev.arena = append(quote(append(a.ev.arena, sep), geoMembers[i]), ':')
			a.ev.arena = number(a.ev.arena, *v)
			sep = ','
		}
	}
	a.ev.arena = append(a.ev.arena, '}')
}

// within tells that a coordinate exists.
func within(name string, f float64) bool {
	switch name {
	case "lat":
		return math.Abs(f) <= 90
	case "lon":
		return math.Abs(f) <= 180
	case "accuracy":
		return f >= 0 && f <= 1e8
	}
	return math.Abs(f) <= 1e6
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
			a.wrong("/"+check.Escape(m.name), "unknown", "A quantity does not have this member.")
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

// matrix reads {row: option}. An empty object is no answer; rows that are null
// are not answered.
func (a *answering) matrix(list []member) {
	chosen := make([]*choice, len(a.n.rowOrder))
	count := 0
	for _, m := range list {
		below := "/" + check.Escape(m.name)
		row, ok := a.n.rows[m.name]
		switch kind := m.value.Kind(); {
		case !ok:
			a.wrong(below, "unknown", "The matrix has no row of this value.")
		case kind == 'n':
		case kind != '"':
			a.wrong(below, "wrong_type", "The value must be one option, as a string.")
		default:
			if chosen[row] = a.option(m.value, below); chosen[row] != nil {
				count++
			}
		}
	}
	if a.failed || count == 0 {
		return
	}
	sep := byte('{')
	for i, o := range chosen {
		if o == nil {
			continue
		}
		a.ev.arena = append(quote(append(a.ev.arena, sep), a.n.rowOrder[i]), ':')
		a.ev.arena = append(a.ev.arena, o.canonical...)
		sep = ','
	}
	a.ev.arena = append(a.ev.arena, '}')
	a.c.num = float64(count)
}
