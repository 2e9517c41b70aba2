// Package rql is the filter language of lists, exports and event streams:
//
//	and(eq(type,Device),or(gt(properties.efficiency,40),in(status,draft,suspended)))
//
// It knows the grammar and what a filter means over a decoded JSON object. It
// knows neither SQL nor what is filtered: the caller says which fields exist and
// of what kind they are, so a filter on an unknown field is an error and never an
// empty answer.
//
// A term looks at every value its field leads to: a path through an array goes
// into each element, and a field that holds an array is compared element by
// element. eq, lt, like, near and similar terms are true when one value matches;
// ne is the opposite of eq, so it is true where the field is missing. null and a
// missing field are the same.
package rql

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits of a filter.
const (
	MaxLength  = 2000 // characters
	MaxDepth   = 16   // of and, or, not
	MaxTerms   = 50   // comparisons
	maxPattern = 256  // characters of a pattern
	maxPath    = 16   // steps of a field
)

// Op is the operator of a term or a group.
type Op string

// The operators.
const (
	And    Op = "and"
	Or     Op = "or"
	Not    Op = "not"
	Eq     Op = "eq"
	Ne     Op = "ne"
	Lt     Op = "lt"
	Le     Op = "le"
	Gt     Op = "gt"
	Ge     Op = "ge"
	In     Op = "in"
	Like   Op = "like"   // * matches any characters, ? one, \ quotes the next
	Exists Op = "exists" // there is a value, and it is not null
	Near   Op = "near"   // [field,] latitude, longitude, metres
	Within Op = "within" // [field,] least latitude, least longitude, most latitude, most longitude
)

// Kind is the kind of value in a field, for comparisons.
type Kind int

// The kinds. A value in a filter is read as its field's kind: 0042 and 42 are
// texts where the field is one.
const (
	Any    Kind = iota // unknown: texts compare with texts, numbers with numbers
	Text               // in the order of code points
	Number             //
	Bool               //
	Time               // RFC 3339; a date is its first moment in UTC
	Object             // has fields of its own, or a place; cannot be compared
)

// String is the name of a kind.
func (k Kind) String() string {
	return [...]string{"any", "text", "number", "boolean", "time", "object"}[k]
}

// Path leads to a field: the names of the members on the way.
type Path []string

// Value is a value in a filter: string, float64, bool, time.Time or nil.
type Value struct{ V any }

// Expr is a filter or a part of one. Only Parse makes valid ones.
type Expr struct {
	Op     Op
	Args   []*Expr // of and, or, not
	Field  Path    // of terms; empty when near or within name none
	Kind   Kind    // of the field
	Values []Value // of terms; in has several, near 3 numbers, within 4
	Pos    int     // where it stands in the text, in characters from 1

	places []Path // where near and within look
	glob   *glob  // of like
}

// ErrUnknown is what Schema.Field returns for a field that does not exist.
var ErrUnknown = errors.New("unknown field")

// Schema describes what can be filtered.
type Schema struct {
	// Field returns the kind of a field, ErrUnknown when there is none. Any
	// other error ends Parse and is returned unchanged. Nil accepts every
	// field.
	Field func(Path) (Kind, error)
	// Places are where near and within look when no field is given.
	Places []Path
}

// Error says what is wrong with a filter, and where.
type Error struct {
	Code   string // "syntax", "unknown_operator", "unknown_field", "wrong_type", "out_of_range", "too_long", "too_deep" or "too_many"
	Pos    int    // in characters from 1
	Detail string // a sentence for people
	Field  Path   // of an unknown field
}

// Error gives the sentence and the place.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (at character %d)", e.Detail, e.Pos)
}

// String writes the path with dots, or as a JSON pointer when a name needs it.
func (p Path) String() string {
	for _, name := range p {
		if !plain(name) {
			return p.Pointer()
		}
	}
	return strings.Join(p, ".")
}

// Pointer writes the path as a JSON pointer.
func (p Path) Pointer() string {
	var b strings.Builder
	for _, name := range p {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// plain reports whether a name can stand in a dotted path.
func plain(name string) bool {
	return name != "" && !strings.ContainsAny(name, `./"'\(),~`) && !strings.ContainsFunc(name, isSpace)
}

// ParsePath reads a field: a JSON pointer when it begins with a slash, else
// names separated by dots. It returns false for anything else.
func ParsePath(text string) (Path, bool) {
	var names []string
	pointer := strings.HasPrefix(text, "/")
	if pointer {
		names = strings.Split(text[1:], "/")
	} else {
		names = strings.Split(text, ".")
	}
	if len(names) > maxPath {
		return nil, false
	}
	for i, name := range names {
		if pointer {
			if !unescape(&names[i]) {
				return nil, false
			}
		} else if name == "" {
			return nil, false
		}
	}
	return names, true
}

// unescape reads one step of a JSON pointer.
func unescape(name *string) bool {
	rest := strings.NewReplacer("~0", "", "~1", "").Replace(*name)
	if strings.Contains(rest, "~") {
		return false
	}
	*name = strings.NewReplacer("~1", "/", "~0", "~").Replace(*name)
	return true
}

// parseTime reads an RFC 3339 time, or a date.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
