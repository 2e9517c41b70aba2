package rql

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Match reports whether a decoded JSON object matches the filter. Its values
// are those of encoding/json: map[string]any, []any, string, float64, bool,
// nil.
func (e *Expr) Match(doc map[string]any) bool {
	switch e.Op {
	case And:
		for _, a := range e.Args {
			if !a.Match(doc) {
				return false
			}
		}
		return true
	case Or:
		for _, a := range e.Args {
			if a.Match(doc) {
				return true
			}
		}
		return false
	case Not:
		return !e.Args[0].Match(doc)
	case Ne:
		return !e.equalsOne(doc)
	case Eq, In:
		return e.equalsOne(doc)
	case Exists:
		return e.some(doc, present)
	case Near, Within:
		return e.lies(doc)
	case Like:
		return e.some(doc, func(v any) bool { s, ok := v.(string); return ok && e.glob.match(s) })
	}
	return e.some(doc, e.ordered)
}

func present(v any) bool { return v != nil }

// some reports whether a value of the field fits.
func (e *Expr) some(doc map[string]any, fits func(any) bool) bool {
	return walk(doc, e.Field, fits)
}

// walk looks for a value at path below v that fits.
func walk(v any, path Path, fits func(any) bool) bool {
	list, isList := v.([]any)
	if len(path) == 0 {
		if !isList {
			return fits(v)
		}
		for _, one := range list {
			if fits(one) {
				return true
			}
		}
		return false
	}
	if isList {
		if i, ok := index(path[0]); ok {
			return i < len(list) && walk(list[i], path[1:], fits)
		}
		for _, one := range list {
			if m, ok := one.(map[string]any); ok && walk(m, path, fits) {
				return true
			}
		}
		return false
	}
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	next, ok := m[path[0]]
	return ok && walk(next, path[1:], fits)
}

// index reads a step of a path as a place in an array.
func index(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == name
}

// equalsOne reports whether the field has one of the values.
func (e *Expr) equalsOne(doc map[string]any) bool {
	for _, want := range e.Values {
		if want.V == nil {
			if !e.some(doc, present) {
				return true
			}
			continue
		}
		if e.some(doc, func(v any) bool { c, ok := compare(v, want.V); return ok && c == 0 }) {
			return true
		}
	}
	return false
}

// ordered serves lt, le, gt and ge.
func (e *Expr) ordered(v any) bool {
	c, ok := compare(v, e.Values[0].V)
	if !ok {
		return false
	}
	switch e.Op {
	case Lt:
		return c < 0
	case Le:
		return c <= 0
	case Gt:
		return c > 0
	}
	return c >= 0
}

// compare orders a value of a document and one of a filter. Values of
// different kinds have no order.
func compare(v, want any) (int, bool) {
	switch w := want.(type) {
	case string:
		s, ok := v.(string)
		return strings.Compare(s, w), ok
	case float64:
		f, ok := v.(float64)
		return cmp.Compare(f, w), ok
	case bool:
		b, ok := v.(bool)
		return bit(b) - bit(w), ok
	case time.Time:
		s, ok := v.(string)
		if !ok {
			return 0, false
		}
		t, ok := parseTime(s)
		return t.Compare(w), ok
	}
	return 0, false
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lies implements near and within.
func (e *Expr) lies(doc map[string]any) bool {
	args := make([]float64, len(e.Values))
	for i, v := range e.Values {
		args[i], _ = v.V.(float64)
	}
	fits := func(v any) bool {
		lat, lon, ok := PlaceOf(v)
		if !ok {
			return false
		}
		if e.Op == Near {
			return distance(lat, lon, args[0], args[1]) <= args[2]
		}
		return inBox(lat, lon, args)
	}
	for _, p := range e.places {
		if walk(doc, p, fits) {
			return true
		}
	}
	return false
}

// Prefix is the text every match of a like begins with, and whether anything
// may follow it: for "Smi*" it is "Smi" and true.
func (e *Expr) Prefix() (text string, open bool) {
	if e.glob == nil {
		return "", true
	}
	return e.glob.prefix()
}

// Conjuncts are the parts all of which must be true: those of an and, and of
// every and inside it.
func (e *Expr) Conjuncts() []*Expr {
	if e.Op != And {
		return []*Expr{e}
	}
	var out []*Expr
	for _, a := range e.Args {
		out = append(out, a.Conjuncts()...)
	}
	return out
}

// Paths returns the fields in the filter, without duplicates.
func (e *Expr) Paths() []Path {
	seen := map[string]bool{}
	var out []Path
	var visit func(*Expr)
	visit = func(e *Expr) {
		for _, a := range e.Args {
			visit(a)
		}
		paths := e.places
		if len(paths) == 0 && len(e.Field) > 0 {
			paths = []Path{e.Field}
		}
		for _, p := range paths {
			if key := p.Pointer(); !seen[key] {
				seen[key] = true
				out = append(out, p)
			}
		}
	}
	visit(e)
	return out
}
