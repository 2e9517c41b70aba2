package schema

import (
	"fmt"
	"maps"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// place says what a keyword of JSON Schema holds.
type place int

const (
	plain place = iota // a value of its own
	one                // a subschema
	many               // an array of subschemas
	named              // name → subschema
)

// keywords are all that may be in a schema. Others are typing mistakes or need
// more than one document; both are refused rather than ignored. Ours are
// indexed, pii and unit; names that begin with x- are free.
func keywords() map[string]place {
	return map[string]place{
		"type": plain, "enum": plain, "const": plain, "format": plain, "title": plain, "description": plain, "default": plain,
		"examples": plain, "deprecated": plain, "readOnly": plain, "writeOnly": plain, "$comment": plain, "$ref": plain, "$schema": plain,
		"minimum": plain, "maximum": plain, "exclusiveMinimum": plain, "exclusiveMaximum": plain, "multipleOf": plain,
		"minLength": plain, "maxLength": plain, "pattern": plain, "contentEncoding": plain, "contentMediaType": plain,
		"minItems": plain, "maxItems": plain, "uniqueItems": plain, "minContains": plain, "maxContains": plain,
		"minProperties": plain, "maxProperties": plain, "required": plain, "dependentRequired": plain,
		"indexed": plain, "pii": plain, "unit": plain,
		"items": one, "contains": one, "additionalProperties": one, "propertyNames": one, "unevaluatedItems": one,
		"unevaluatedProperties": one, "not": one, "if": one, "then": one, "else": one,
		"allOf": many, "anyOf": many, "oneOf": many, "prefixItems": many,
		"properties": named, "patternProperties": named, "dependentSchemas": named, "$defs": named,
	}
}

// reader turns a foreign schema into one we can trust: it knows every keyword
// in it, the schema refers to nothing outside itself, and it cannot be slow.
type reader struct {
	c        *fault.Checks
	at       string // where the schema is, as a JSON pointer
	known    map[string]place
	formats  map[string]string
	nodes    map[string]any // subschemas by JSON pointer inside the schema
	patterns int            // instructions of all programs
	bad      bool
}

// read reads the schema v of a property at a JSON pointer. It notes all that
// is wrong and returns nil then.
func read(v map[string]any, at string, c *fault.Checks) *Property {
	r := &reader{c: c, at: at, known: keywords(), formats: formatHints(), nodes: map[string]any{}}
	doc, _ := r.walk(v, "").(map[string]any)
	if r.bad {
		return nil
	}
	cost := r.expanded("", map[string]int{})
	if r.bad {
		return nil
	}
	p := &Property{Kind: kindOf(doc), Doc: doc, Nodes: len(r.nodes), quick: quickOf(doc), cost: cost, patterns: r.patterns}
	p.Indexed, _ = v["indexed"].(bool)
	p.PII, _ = v["pii"].(bool)
	return p
}

func (r *reader) note(ptr, code, detail string) {
	r.bad = true
	r.c.Add(r.at+ptr, code, detail)
}

// walk checks a subschema and returns it with our type names converted to JSON
// Schema.
func (r *reader) walk(v any, ptr string) any {
	if b, ok := v.(bool); ok && ptr != "" {
		r.nodes[ptr] = b
		return b
	}
	m, ok := v.(map[string]any)
	if !ok {
		r.note(ptr, "wrong_type", "A schema must be an object, true or false.")
		return v
	}
	if len(r.nodes) == maxNodes {
		r.note("", "too_large", fmt.Sprintf("A property may have at most %d subschemas.", maxNodes))
	}
	if r.bad && len(r.nodes) >= maxNodes {
		return v
	}
	r.nodes[ptr] = m // for the count; replaced below
	out := make(map[string]any, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		r.keyword(out, name, m[name], ptr)
	}
	r.named(out, ptr)
	r.nodes[ptr] = out
	return out
}

// keyword copies one keyword into out.
func (r *reader) keyword(out map[string]any, name string, v any, ptr string) {
	at := ptr + "/" + check.Escape(name)
	where, ok := r.known[name]
	switch {
	case strings.HasPrefix(name, "x-"):
		out[name] = v
		return
	case !ok:
		r.note(at, "unknown_keyword", "This keyword is not known here. Names that begin with x- are free.")
		return
	}
	switch where {
	case one:
		out[name] = r.walk(v, at)
	case many:
		out[name] = r.list(v, at)
	case named:
		out[name] = r.members(name, v, at)
	case plain:
		if r.plain(name, v, ptr, at) {
			out[name] = v
		}
	}
}

func (r *reader) list(v any, at string) any {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		r.note(at, "wrong_type", "The value must be an array of schemas.")
		return v
	}
	out := make([]any, len(list))
	for i, sub := range list {
		out[i] = r.walk(sub, at+"/"+strconv.Itoa(i))
	}
	return out
}

func (r *reader) members(name string, v any, at string) any {
	m, ok := v.(map[string]any)
	if !ok {
		r.note(at, "wrong_type", "The value must be an object of schemas.")
		return v
	}
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if name == "patternProperties" {
			r.pattern(key, at+"/"+check.Escape(key))
		}
		out[key] = r.walk(m[key], at+"/"+check.Escape(key))
	}
	return out
}

// plain checks a keyword whose value is not a schema. It returns false for one
// that is dropped.
func (r *reader) plain(name string, v any, ptr, at string) bool {
	switch name {
	case "$schema":
		if ptr != "" || strings.TrimSuffix(fmt.Sprint(v), "#") != dialect {
			r.note(at, "unsupported", "The only dialect is "+dialect+".")
		}
		return false
	case "$ref":
		if s, ok := v.(string); !ok || !strings.HasPrefix(s, "#/") {
			r.note(at, "remote_reference", "A reference must stay in the schema of its property: #/$defs/name.")
		}
	case "pattern":
		if s, ok := v.(string); ok {
			r.pattern(s, at)
		} // the compiler refuses anything but a text
	case "format":
		if s, ok := v.(string); !ok || r.formats[s] == "" {
			r.note(at, "unknown_format", "The value must be one of "+strings.Join(slices.Sorted(maps.Keys(r.formats)), ", ")+".")
		}
	case "indexed", "pii":
		if _, ok := v.(bool); !ok || ptr != "" {
			r.note(at, "wrong_type", "The value must be true or false, in the schema of the property itself.")
		}
	case "unit":
		if _, ok := v.(string); !ok {
			r.note(at, "wrong_type", "The value must be a string.")
		}
	}
	return true
}

// named puts a type name of ours into the words of JSON Schema.
func (r *reader) named(out map[string]any, ptr string) {
	name, ok := out["type"].(string)
	if !ok {
		return
	}
	base := typeOf(name).Doc
	if base == nil {
		if name != "null" {
			r.note(ptr+"/type", "unknown_type", unknownType())
		}
		return
	}
	if base["format"] != nil && out["format"] != nil {
		r.note(ptr+"/format", "conflict", "The type "+name+" has a format of its own.")
		return
	}
	for key, v := range base {
		if _, given := out[key]; !given || key == "type" {
			out[key] = v
		}
	}
}

// pattern checks a regular expression. Go's are linear in the text, and the
// program is kept small, so that no text is slow to match.
func (r *reader) pattern(s, at string) {
	if len(s) > maxPattern {
		r.note(at, "too_long", fmt.Sprintf("A pattern may have at most %d characters.", maxPattern))
		return
	}
	re, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		r.note(at, "invalid_pattern", "The pattern is not a regular expression of RE2: look-around and back references do not exist there.")
		return
	}
	size := programSize(re)
	r.patterns += size
	if size > maxPatternSize {
		r.note(at, "too_complex", fmt.Sprintf("The pattern is too complex: repeats multiply to more than %d steps.", maxPatternSize))
	}
}

// programSize is about how many instructions a pattern compiles to. It is
// counted on the tree because compiling is what must not happen.
func programSize(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n = min(n+programSize(sub), 1<<20)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return n + len(re.Rune)
	case syntax.OpCharClass:
		return n + len(re.Rune)/2
	case syntax.OpRepeat:
		return min(n*max(re.Max, re.Min, 1), 1<<20)
	}
	return n
}

// expanded counts the subschemas under ptr with references put in. A schema
// that refers to itself has no such number, and doubles its work with every
// level of a value when it does so twice: it is refused.
func (r *reader) expanded(ptr string, sizes map[string]int) int {
	if n, ok := sizes[ptr]; ok {
		if n < 0 {
			r.note(ptr, "recursive", "A schema may not refer to itself.")
		}
		return max(n, 0)
	}
	sizes[ptr] = -1
	m, _ := r.nodes[ptr].(map[string]any)
	n := 1
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n += r.cost(name, m[name], ptr, sizes)
		if r.bad || n > maxExpanded {
			break
		}
	}
	if n > maxExpanded && !r.bad {
		r.note("", "too_complex", fmt.Sprintf("With its references put in, a property may have at most %d subschemas.", maxExpanded))
	}
	sizes[ptr] = n
	return n
}

// cost is what one keyword adds.
func (r *reader) cost(name string, v any, ptr string, sizes map[string]int) int {
	at := ptr + "/" + check.Escape(name)
	switch name {
	case "$defs": // counted where they are used, but each must end
		for key := range mapOf(v) {
			r.expanded(at+"/"+check.Escape(key), sizes)
		}
		return 0
	case "$ref":
		s, _ := v.(string)
		target, err := url.PathUnescape(strings.TrimPrefix(s, "#"))
		if _, ok := r.nodes[target]; err != nil || !ok {
			r.note(at, "dangling_reference", "There is no schema at this reference.")
			return 0
		}
		return r.expanded(target, sizes)
	case "enum", "examples":
		list, _ := v.([]any)
		return len(list) / 4
	}
	n := 0
	switch r.known[name] {
	case one:
		n = r.expanded(at, sizes)
	case many:
		list, _ := v.([]any)
		for i := range list {
			n += r.expanded(at+"/"+strconv.Itoa(i), sizes)
		}
	case named:
		for key := range mapOf(v) {
			n += r.expanded(at+"/"+check.Escape(key), sizes)
		}
	}
	return n
}

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
