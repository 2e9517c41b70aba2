package schema

import (
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// Type is a type that a property can be declared with, with all its
// characteristics. Each family of types has a file with its values.
type Type struct {
	Name     string
	Doc      map[string]any // its JSON Schema
	Compares rql.Kind       // how filters compare its values; what compares is sorted and can be indexed
	Cell     string         // what a cell of a table holds: text, number, boolean, date, date-time, object or array
	// Valid checks the format of its schema; nil when it has none, or JSON Schema
	// checks it. Searches and computations rely on values that pass here.
	Valid func(any) bool
	Hint  string // how a value of that format looks, after "The value must be"
	// Is recognises a schema of the type that was written out; by default the
	// type and format of JSON Schema do.
	Is func(doc map[string]any) bool
}

// types is the table of all types, by name.
var types = slices.Concat(textTypes(), numberTypes(), timeTypes(), placeTypes(), structureTypes())

// typeOf finds a type; the zero one when unknown.
func typeOf(name string) Type {
	for _, t := range types {
		if t.Name == name {
			return t
		}
	}
	return Type{}
}

// Compares says how filters compare values of a type.
func Compares(name string) rql.Kind { return typeOf(name).Compares }

// Cell is what a cell of a table holds for a type; "" when unknown.
func Cell(name string) string { return typeOf(name).Cell }

// Scalar reports whether a type can be in the property index.
func Scalar(name string) bool {
	k := Compares(name)
	return k != rql.Any && k != rql.Object
}

// format is the word of JSON Schema for the form of a type; "" without one.
func (t Type) format() string {
	f, _ := t.Doc["format"].(string)
	return f
}

// kindOf is the type of a schema that was read.
func kindOf(doc map[string]any) string {
	name, _ := doc["type"].(string)
	if list, ok := doc["type"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == "null" })
		if len(list) == 1 {
			name, _ = list[0].(string)
		}
	}
	if name == "" {
		return "any"
	}
	for _, t := range types {
		switch {
		case t.Doc["type"] != name:
		case t.Is != nil && t.Is(doc), t.Is == nil && t.format() != "" && doc["format"] == t.format():
			return t.Name
		}
	}
	return name
}

// formatHints say how a value of a format looks. Formats that are not here are
// not known.
func formatHints() map[string]string {
	out := map[string]string{
		"time": "a time of day such as 09:30:00Z", "uri-reference": "a URI or a part of one", "email": "an email address",
		"hostname": "a host name", "ipv4": "an IPv4 address", "ipv6": "an IPv6 address", "uuid": "a UUID", "json-pointer": "a JSON pointer",
	}
	for _, t := range types {
		if t.Hint != "" {
			out[t.format()] = t.Hint
		}
	}
	return out
}

// ownFormats are the formats that types check themselves.
func ownFormats() map[string]func(any) bool {
	out := map[string]func(any) bool{}
	for _, t := range types {
		if t.Valid != nil {
			out[t.format()] = t.Valid
		}
	}
	return out
}

// unknownType says which types there are.
func unknownType() string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	slices.Sort(names)
	return "The type must be one of " + strings.Join(names, ", ") + "."
}
