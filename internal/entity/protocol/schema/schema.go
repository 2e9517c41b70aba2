// Package schema is the language in which protocols declare properties: type
// names and JSON Schema 2020-12 with a few words of our own, the rules that
// make a foreign schema trustworthy, and the check of properties against it.
//
// It promises that a schema which was read is safe to use: it refers to nothing
// outside itself, does not recurse, and its patterns are linear. A check names
// every fault at once and never a value, and its work and memory are bounded,
// whatever the schema and the properties are.
package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Limits of one property, part of the API.
const (
	maxSchema      = 16 << 10 // bytes of its schema
	maxDepth       = 16       // levels of its JSON
	maxNodes       = 500      // subschemas
	maxExpanded    = 2000     // the same, when references are put in
	maxPattern     = 512      // characters of a pattern
	maxPatternSize = 2000     // instructions of its program
)

// Limits of one check.
const (
	// MaxErrors limits the faults that are named.
	MaxErrors       = 100
	maxCheckSteps   = 200_000  // subschemas times values: each may cost a fault of its own
	maxPatternSteps = 50 << 20 // instructions times bytes
)

// dialect is the JSON Schema we speak.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Property is a declared property. It never changes once it is compiled.
type Property struct {
	Kind    string         // its type name; "any" when it takes several
	Doc     map[string]any // JSON Schema
	Indexed bool           // declared as indexed in its schema
	PII     bool           // declared as personal data in its schema
	Nodes   int            // subschemas

	quick    *quick             // nil: only the schema can decide
	compiled *jsonschema.Schema // nil until the set is compiled
	cost     int                // subschemas one value may meet
	patterns int                // instructions of its patterns
}

// Parse reads the declaration of a property at a JSON pointer: a type name or a
// JSON Schema. It notes everything that is wrong, and then returns nil.
func Parse(raw jsontext.Value, at string, c *fault.Checks) *Property {
	if len(raw) > maxSchema {
		c.Add(at, "too_large", fmt.Sprintf("The schema of a property may have at most %d bytes.", maxSchema))
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		c.Add(at, "invalid", "The value is not valid: a number in it is too large.")
		return nil
	}
	if Depth(v) > maxDepth {
		c.Add(at, "too_deep", fmt.Sprintf("The schema of a property may nest at most %d levels.", maxDepth))
		return nil
	}
	switch v := v.(type) {
	case string:
		doc := typeOf(v).Doc
		if doc == nil {
			c.Add(at, "unknown_type", unknownType())
			return nil
		}
		return &Property{Kind: v, Doc: doc, Nodes: 1, quick: quickOf(doc), cost: 1 + len(mapOf(doc["properties"]))}
	case map[string]any:
		return read(v, at, c)
	}
	c.Add(at, "wrong_type", "The value must be a type name or a JSON Schema.")
	return nil
}

// Depth is the nesting depth of arrays and objects in v.
func Depth(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n = max(n, Depth(e))
		}
	case []any:
		for _, e := range v {
			n = max(n, Depth(e))
		}
	default:
		return 0
	}
	return n + 1
}

// Set is the properties of a protocol. Compile it before use; it never changes
// afterwards.
type Set struct {
	ID          string // URI of the schema, with a query
	Title       string
	Description string
	Properties  map[string]*Property
	Required    []string
	Open        bool // undeclared properties are allowed

	text []byte
}

// Text is the JSON Schema of the set. Do not change it.
func (s *Set) Text() []byte { return s.text }

// Nodes counts the subschemas of all properties.
func (s *Set) Nodes() int {
	n := 0
	for _, p := range s.Properties {
		n += p.Nodes
	}
	return n
}

// Compile makes the set ready. It notes what JSON Schema itself refuses. The
// properties are copied first, because they may be part of other sets.
func (s *Set) Compile(c *fault.Checks) error {
	var err error
	if s.text, err = json.Marshal(s.document(), json.Deterministic(true)); err != nil {
		return fmt.Errorf("encode schema: %w", err)
	}
	s.Properties = maps.Clone(s.Properties)
	// Each property separately, because the work of the compiler grows with the
	// square of the subschemas of one document.
	comp := newCompiler()
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := *s.Properties[name]
		at := s.propertyID(name)
		if err := comp.AddResource(at, any(p.Doc)); err != nil {
			return fmt.Errorf("add schema: %w", err)
		}
		if p.compiled, err = comp.Compile(at); err != nil {
			noteSchemaFault("/properties/"+check.Escape(name), err, c)
		}
		s.Properties[name] = &p
	}
	return nil
}

// document builds the JSON Schema of the set.
func (s *Set) document() map[string]any {
	props := make(map[string]any, len(s.Properties))
	for name, p := range s.Properties {
		doc := p.Doc
		if holdsRef(doc) { // its references start at itself: it needs a base of its own
			doc = maps.Clone(doc)
			doc["$id"] = s.propertyID(name)
		}
		props[name] = doc
	}
	out := map[string]any{"$schema": dialect, "$id": s.ID, "type": "object", "properties": props, "additionalProperties": s.Open}
	if s.Title != "" {
		out["title"] = s.Title
	}
	if s.Description != "" {
		out["description"] = s.Description
	}
	if len(s.Required) > 0 {
		out["required"] = s.Required
	}
	return out
}

func (s *Set) propertyID(name string) string { return s.ID + "&property=" + url.QueryEscape(name) }

func holdsRef(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["$ref"]; ok {
			return true
		}
		for _, e := range v {
			if holdsRef(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsRef)
	}
	return false
}

// loader refuses every document but the given one: a schema never makes us read
// a file or call a server.
type loader struct{}

func (loader) Load(string) (any, error) { return nil, errRemote }

var errRemote = errors.New("a schema reaches no other document")

// newCompiler makes a compiler that loads nothing.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.UseLoader(loader{})
	c.DefaultDraft(jsonschema.Draft2020)
	registerFormats(c)
	return c
}

// noteSchemaFault names what the compiler does not like in a schema.
func noteSchemaFault(at string, err error, c *fault.Checks) {
	var invalid *jsonschema.SchemaValidationError
	var cause *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &cause) {
		m := mapper{}
		m.add(at, cause)
		for _, f := range m.fields {
			c.Add(f.Pointer, "invalid_schema", "This is not JSON Schema 2020-12. "+f.Detail)
		}
		if len(m.fields) > 0 {
			return
		}
	}
	c.Add(at, "invalid_schema", "This is not JSON Schema 2020-12.")
}
