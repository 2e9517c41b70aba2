package schema

import (
	"maps"
	"reflect"
	"slices"
)

// Narrows says why a property refuses values that another one accepted; "" when
// it does not.
func Narrows(from, to *Property) string { return narrows(from.Doc, to.Doc) }

// narrows says why a schema refuses values that another one took; "" when it
// does not. It follows the keywords people change and calls every other change
// breaking: a wrong alarm costs a look, a missed one costs twins.
func narrows(from, to map[string]any) string {
	if why := narrowsType(from, to); why != "" {
		return why
	}
	for _, name := range names(from, to) {
		a, had := from[name]
		b, has := to[name]
		if reflect.DeepEqual(a, b) {
			continue
		}
		if why := narrowsKeyword(name, change{a, b, had, has}, from); why != "" {
			return why
		}
	}
	return ""
}

type change struct {
	from, to any
	had, has bool
}

func narrowsKeyword(name string, c change, from map[string]any) string {
	switch name {
	case "title", "description", "default", "examples", "indexed", "pii", "$comment", "deprecated", "readOnly", "writeOnly",
		"contentEncoding", "contentMediaType", "$defs", "type":
		return ""
	case "unit":
		return when(c.had, "Numbers would be of another unit.")
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains":
		return when(c.has && (!c.had || float(c.to) > float(c.from)), "A lower bound is higher.")
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains":
		return when(c.has && (!c.had || float(c.to) < float(c.from)), "An upper bound is lower.")
	case "enum":
		return when(c.has && (!c.had || !covers(c.to, c.from)), "Fewer values are allowed.")
	case "required":
		return when(c.has && !covers(c.from, c.to), "More members are required.")
	case "format", "pattern", "const", "multipleOf":
		return when(c.has, "Another "+name+" is asked for.")
	case "uniqueItems":
		return when(c.to == true, "Items must differ.")
	case "properties":
		return narrowsMembers(mapOf(c.from), mapOf(c.to), from["additionalProperties"] == false)
	case "additionalProperties":
		return narrowsSub(c, "Further members are no longer allowed.")
	case "items":
		return narrowsSub(c, "Items are restricted.")
	}
	if len(name) > 2 && name[:2] == "x-" {
		return ""
	}
	return "The rules of " + name + " changed."
}

// narrowsType compares the types of JSON both take. Every integer is a number.
func narrowsType(from, to map[string]any) string {
	b := jsonTypes(to)
	if b == nil {
		return ""
	}
	a := jsonTypes(from)
	if a == nil {
		return "Fewer types are allowed."
	}
	for _, t := range a {
		if !slices.Contains(b, t) && (t != "integer" || !slices.Contains(b, "number")) {
			return "Another type is asked for."
		}
	}
	return ""
}

func jsonTypes(doc map[string]any) []string {
	switch t := doc["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, e := range t {
			s, _ := e.(string)
			out = append(out, s)
		}
		return out
	}
	return nil
}

// narrowsMembers compares the members of an object. A new one takes room only
// where members were free before.
func narrowsMembers(from, to map[string]any, closed bool) string {
	for _, name := range names(from, to) {
		a, had := from[name]
		b, has := to[name]
		switch {
		case !has:
			return "A member is no longer declared."
		case !had && !closed && b != true:
			return "A member that was free is restricted."
		case had:
			if why := narrowsSub(change{a, b, true, true}, "A member is restricted."); why != "" {
				return why
			}
		}
	}
	return ""
}

// narrowsSub compares subschemas, of which one may be missing, true or false.
func narrowsSub(c change, why string) string {
	switch {
	case !c.has || c.to == true || reflect.DeepEqual(c.from, c.to):
		return ""
	case !c.had || c.from == true:
		return why
	case c.from == false:
		return ""
	case c.to == false:
		return why
	}
	return narrows(mapOf(c.from), mapOf(c.to))
}

func float(v any) float64 {
	f, _ := v.(float64)
	return f
}

// covers reports whether the list a holds all of b.
func covers(a, b any) bool {
	have, _ := a.([]any)
	need, _ := b.([]any)
	for _, n := range need {
		if !slices.ContainsFunc(have, func(h any) bool { return reflect.DeepEqual(h, n) }) {
			return false
		}
	}
	return true
}

// names lists the members of two objects, sorted.
func names(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// when is why if broken.
func when(broken bool, why string) string {
	if broken {
		return why
	}
	return ""
}
