package interview

import (
	"strconv"
	"strings"
)

// Answers are decoded JSON: objects by section and question, arrays of
// elements. A pointer begins with the section.

// trim takes off what the pointers of problems begin with.
func trim(pointer string) string { return strings.TrimPrefix(pointer, "/responses") }

// under reports whether a pointer equals another, or leads into it.
func under(pointer, at string) bool { return pointer == at || strings.HasPrefix(pointer, at+"/") }

func tokens(pointer string) []string {
	all := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range all {
		all[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(all[i])
	}
	return all
}

// get is what stands at a pointer; nil for nothing.
func get(from map[string]any, pointer string) any {
	var at any = from
	for _, name := range tokens(pointer) {
		switch in := at.(type) {
		case map[string]any:
			at = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			at = in[i]
		default:
			return nil
		}
	}
	return at
}

// set puts a value at a pointer. Elements of repeats exist already; objects on the
// way are made, and replace other values.
func set(to map[string]any, pointer string, value any) {
	names := tokens(pointer)
	var at any = to
	for _, name := range names[:len(names)-1] {
		switch in := at.(type) {
		case map[string]any:
			switch in[name].(type) {
			case map[string]any, []any:
			default:
				in[name] = map[string]any{}
			}
			at = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return
			}
			at = in[i]
		}
	}
	if in, ok := at.(map[string]any); ok {
		in[names[len(names)-1]] = value
	}
}

// remove takes out what stands at a pointer, or the nearest thing around it in the
// same answer, and reports whether there was something.
func remove(from map[string]any, pointer string) bool {
	names := tokens(pointer)
	for n := len(names); n >= min(2, len(names)); n-- {
		var in any = from
		if n > 1 {
			in = get(from, "/"+strings.Join(escape(names[:n-1]), "/"))
		}
		if m, ok := in.(map[string]any); ok {
			if _, there := m[names[n-1]]; there {
				delete(m, names[n-1])
				return true
			}
		}
	}
	return false
}

func escape(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	return out
}
