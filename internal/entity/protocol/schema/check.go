package schema

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// Check checks the properties of a twin against the declarations. properties is
// what JSON decodes to: map[string]any with float64 numbers. It returns every
// fault, sorted, at most 100, none that repeats a value; nil when all is well.
func (s *Set) Check(properties any) []fault.Field {
	props, ok := properties.(map[string]any)
	if !ok {
		return []fault.Field{{Pointer: "/properties", Code: "wrong_type", Detail: "The value must be an object."}}
	}
	var m mapper
	steps, matches := 0, 0
	for name, v := range props {
		d, known := s.Properties[name]
		switch {
		case !known && s.Open:
		case !known:
			m.note("/properties/"+check.Escape(name), "unknown_property", "The protocol does not declare this property.")
		case d.quick != nil && d.quick.ok(v):
		default:
			nodes, bytes := weigh(v)
			steps += nodes * d.cost
			matches += bytes * d.patterns
			if steps > maxCheckSteps || matches > maxPatternSteps {
				return []fault.Field{{Pointer: "/properties/" + check.Escape(name), Code: "too_complex", Detail: "The value is too large for the rules of its protocol."}}
			}
			d.check(&m, name, v)
		}
	}
	for _, name := range s.Required {
		if _, ok := props[name]; !ok {
			m.note("/properties/"+check.Escape(name), "required", "This property is required.")
		}
	}
	return m.sorted()
}

func (p *Property) check(m *mapper, name string, v any) {
	err := p.compiled.Validate(v)
	if err == nil {
		return
	}
	if cause, ok := err.(*jsonschema.ValidationError); ok { //nolint:errorlint // the library returns nothing else
		m.add("/properties/"+check.Escape(name), cause)
	}
}

// weigh counts the values in v and the bytes of its texts.
func weigh(v any) (nodes, bytes int) {
	nodes = 1
	switch v := v.(type) {
	case string:
		bytes = len(v)
	case map[string]any:
		for name, e := range v {
			n, b := weigh(e)
			nodes, bytes = nodes+n, bytes+b+len(name)
		}
	case []any:
		for _, e := range v {
			n, b := weigh(e)
			nodes, bytes = nodes+n, bytes+b
		}
	}
	return nodes, bytes
}

// quick checks common schemas fast: it only ever confirms that a value is
// valid. Everything else is left to the schema.
type quick struct {
	kind     string // type of JSON
	format   func(any) bool
	enum     []string
	least    float64
	most     float64
	shortest int
	longest  int
}

// quickOf is nil for a schema that says more than quick knows.
func quickOf(doc map[string]any) *quick {
	q := &quick{least: math.Inf(-1), most: math.Inf(1), longest: math.MaxInt}
	for name, v := range doc {
		if !q.take(name, v) {
			return nil
		}
	}
	if q.kind == "" || q.kind == "null" {
		return nil
	}
	return q
}

func (q *quick) take(name string, v any) bool {
	ok := true
	switch name {
	case "title", "description", "default", "examples", "indexed", "pii", "unit", "$comment", "deprecated", "readOnly", "writeOnly":
	case "type":
		q.kind, ok = v.(string)
	case "format":
		f, _ := v.(string)
		q.format, ok = ownFormats()[f]
	case "enum":
		list, _ := v.([]any)
		for _, e := range list {
			s, isText := e.(string)
			ok = ok && isText
			q.enum = append(q.enum, s)
		}
		ok = ok && len(list) > 0
	case "minimum":
		q.least, ok = v.(float64)
	case "maximum":
		q.most, ok = v.(float64)
	case "minLength":
		var n float64
		n, ok = v.(float64)
		q.shortest = int(n)
	case "maxLength":
		var n float64
		n, ok = v.(float64)
		q.longest = int(n)
	default:
		return false
	}
	return ok
}

func (q *quick) ok(v any) bool {
	switch v := v.(type) {
	case string:
		if q.kind != "string" || q.enum != nil && !slices.Contains(q.enum, v) {
			return false
		}
		if len(v) > q.longest || q.shortest > 0 { // there are never more characters than bytes
			if n := utf8.RuneCountInString(v); n > q.longest || n < q.shortest {
				return false
			}
		}
		return q.format == nil || q.format(v)
	case float64:
		number := q.kind == "number" || q.kind == "integer" && v == math.Trunc(v)
		return number && v >= q.least && v <= q.most && q.enum == nil && q.format == nil
	case bool:
		return q.kind == "boolean" && q.enum == nil
	case map[string]any:
		return q.kind == "object" && q.enum == nil && q.format == nil
	case []any:
		return q.kind == "array" && q.enum == nil
	}
	return false
}

// mapper turns the faults of a schema into ours.
type mapper struct{ fields []fault.Field }

func (m *mapper) note(pointer, code, detail string) {
	f := fault.Field{Pointer: pointer, Code: code, Detail: detail}
	n := len(m.fields)
	if n < MaxErrors && (n == 0 || m.fields[n-1] != f) {
		m.fields = append(m.fields, f)
	}
}

func (m *mapper) sorted() []fault.Field {
	order.Sort(m.fields, func(a, b fault.Field) int {
		if n := strings.Compare(a.Pointer, b.Pointer); n != 0 {
			return n
		}
		return strings.Compare(a.Code, b.Code)
	})
	return slices.Compact(m.fields)
}

// add walks the tree of a fault down to what people can mend. Of alternatives
// only that none fits is said: the faults of each would contradict.
func (m *mapper) add(base string, e *jsonschema.ValidationError) {
	if len(m.fields) == MaxErrors {
		return
	}
	at := base
	for _, part := range e.InstanceLocation {
		at += "/" + check.Escape(part)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			m.add(base, cause)
		}
	case *kind.Required:
		for _, name := range k.Missing {
			m.note(at+"/"+check.Escape(name), "required", "This property is required.")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			m.note(at+"/"+check.Escape(name), "required", "This property is required because another one is there.")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			m.note(at+"/"+check.Escape(name), "unknown_property", "The protocol does not declare this property.")
		}
	case *kind.PropertyNames:
		// The library reuses the path under this fault; the property is sure.
		m.note(base, "invalid_name", "A member has a name that the protocol does not allow.")
	default:
		code, detail := sentence(k)
		m.note(at, code, detail)
	}
}

// sentence says what is wrong in plain words, naming what the protocol requires
// and never what was sent.
func sentence(k jsonschema.ErrorKind) (code, detail string) {
	switch k := k.(type) {
	case *kind.Type:
		return "wrong_type", "The value must be " + typesInWords(k.Want) + "."
	case *kind.Enum:
		return "not_allowed", "The value must be one of " + valuesInWords(k.Want) + "."
	case *kind.Const:
		return "not_allowed", "The value must be " + valuesInWords([]any{k.Want}) + "."
	case *kind.Format:
		hint := formatHints()[k.Want]
		if why, ok := k.Err.(wrongGeo); ok { //nolint:errorlint // it is never wrapped
			hint += ": " + string(why)
		}
		return "invalid_format", "The value must be " + hint + "."
	case *kind.Pattern:
		return "pattern_mismatch", "The value must match the pattern " + k.Want + "."
	case *kind.Minimum:
		return "out_of_range", "The value must be at least " + number(k.Want) + "."
	case *kind.Maximum:
		return "out_of_range", "The value must be at most " + number(k.Want) + "."
	case *kind.ExclusiveMinimum:
		return "out_of_range", "The value must be more than " + number(k.Want) + "."
	case *kind.ExclusiveMaximum:
		return "out_of_range", "The value must be less than " + number(k.Want) + "."
	case *kind.MultipleOf:
		return "not_multiple", "The value must be a multiple of " + number(k.Want) + "."
	}
	return sizeSentence(k)
}

func sizeSentence(k jsonschema.ErrorKind) (code, detail string) {
	switch k := k.(type) {
	case *kind.MinLength:
		return "too_short", fmt.Sprintf("The value must have at least %d characters.", k.Want)
	case *kind.MaxLength:
		return "too_long", fmt.Sprintf("The value must have at most %d characters.", k.Want)
	case *kind.MinItems:
		return "too_few", fmt.Sprintf("There must be at least %d items.", k.Want)
	case *kind.MaxItems:
		return "too_many", fmt.Sprintf("There must be at most %d items.", k.Want)
	case *kind.MinProperties:
		return "too_few", fmt.Sprintf("There must be at least %d members.", k.Want)
	case *kind.MaxProperties:
		return "too_many", fmt.Sprintf("There must be at most %d members.", k.Want)
	case *kind.UniqueItems:
		return "not_unique", fmt.Sprintf("Items %d and %d are the same.", k.Duplicates[0], k.Duplicates[1])
	case *kind.FalseSchema:
		return "not_allowed", "No value is allowed here."
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		return "wrong_items", "The items are not the ones the protocol asks for."
	case *kind.AnyOf, *kind.OneOf, *kind.Not:
		return "no_match", "The value is none of the forms the protocol allows."
	}
	return "invalid", "The value is not what the protocol allows."
}

func typesInWords(want []string) string {
	words := make([]string, len(want))
	for i, t := range want {
		switch t {
		case "integer":
			words[i] = "a whole number"
		case "array", "object":
			words[i] = "an " + t
		case "boolean":
			words[i] = "true or false"
		case "null":
			words[i] = "null"
		default:
			words[i] = "a " + t
		}
	}
	return strings.Join(words, " or ")
}

// valuesInWords lists the allowed values, if the list is short.
func valuesInWords(want []any) string {
	var words []string
	for i, v := range want {
		if i == 20 {
			words = append(words, "…")
			break
		}
		switch v := v.(type) {
		case string:
			words = append(words, clip(v, 64))
		case float64:
			words = append(words, strconv.FormatFloat(v, 'g', -1, 64))
		case bool:
			words = append(words, strconv.FormatBool(v))
		case nil:
			words = append(words, "null")
		default:
			words = append(words, "a value given in the protocol")
		}
	}
	return strings.Join(words, ", ")
}

// clip keeps the first n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n]) + "…"
}

func number(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
