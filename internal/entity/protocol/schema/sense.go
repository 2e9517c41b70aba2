package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Sense notes a declaration that no value can meet, and a default that the
// property itself refuses. It is for new declarations: a stored one is used
// unchanged.
func Sense(p *Property, at string, c *fault.Checks) {
	sense(p.Doc, at, c)
	value, given := p.Doc["default"]
	if !given {
		return
	}
	compiled := *p
	comp := newCompiler()
	if comp.AddResource(alone, any(p.Doc)) != nil {
		return
	}
	var err error
	if compiled.compiled, err = comp.Compile(alone); err != nil {
		return // compiling the set reports why
	}
	var m mapper
	compiled.check(&m, "default", value)
	for _, f := range m.sorted() {
		c.Add(at+f.Pointer[len("/properties"):], "invalid_default", "The default does not fit its own schema. "+f.Detail)
	}
}

// alone names a schema that is compiled separately.
const alone = "urn:schema:alone"

// Compiles reads a JSON Schema that is not a property, at a JSON pointer, and
// notes everything that is wrong with it.
func Compiles(raw jsontext.Value, at string, c *fault.Checks) {
	if raw.Kind() != '{' {
		c.Add(at, "wrong_type", "The value must be a JSON Schema.")
		return
	}
	p := Parse(raw, at, c)
	if p == nil {
		return
	}
	comp := newCompiler()
	if err := comp.AddResource(alone, any(p.Doc)); err != nil {
		noteSchemaFault(at, err, c)
		return
	}
	if _, err := comp.Compile(alone); err != nil {
		noteSchemaFault(at, err, c)
		return
	}
	Sense(p, at, c)
}

// sense looks at a schema and all schemas in it.
func sense(v any, at string, c *fault.Checks) {
	doc, ok := v.(map[string]any)
	if !ok {
		return
	}
	if list, ok := doc["enum"].([]any); ok && len(list) == 0 {
		c.Add(at+"/enum", "empty", "No value is one of none. List at least one.")
	}
	bounds(doc, at, c)
	known := keywords()
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		below := at + "/" + check.Escape(name)
		switch known[name] {
		case plain:
		case one:
			sense(doc[name], below, c)
		case many:
			list, _ := doc[name].([]any)
			for i, sub := range list {
				sense(sub, below+"/"+strconv.Itoa(i), c)
			}
		case named:
			members := mapOf(doc[name])
			for _, key := range slices.Sorted(maps.Keys(members)) {
				sense(members[key], below+"/"+check.Escape(key), c)
			}
		}
	}
}

// bounds notes a lower bound above its upper one.
func bounds(doc map[string]any, at string, c *fault.Checks) {
	for _, b := range []struct {
		least, most string
		open        bool // equal bounds leave nothing
	}{
		{"minimum", "maximum", false},
		{"exclusiveMinimum", "maximum", true},
		{"minimum", "exclusiveMaximum", true},
		{"exclusiveMinimum", "exclusiveMaximum", true},
		{"minLength", "maxLength", false},
		{"minItems", "maxItems", false},
		{"minProperties", "maxProperties", false},
		{"minContains", "maxContains", false},
	} {
		least, ok1 := doc[b.least].(float64)
		most, ok2 := doc[b.most].(float64)
		if ok1 && ok2 && (least > most || b.open && least == most) {
			c.Add(at+"/"+b.least, "out_of_range", fmt.Sprintf("No value can meet both %s and %s.", b.least, b.most))
		}
	}
}
