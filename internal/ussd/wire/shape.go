package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// shape checks the YAML against the structure of a spec, as the YAML library
// would, but finds all mistakes: the library stops at the first. Parts that do
// not fit are removed, so that the rest can be checked, and the place of
// everything is recorded. It reports whether n may stay.
func (c *checker) shape(n ast.Node, t reflect.Type, path string) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n.(type) {
	case *ast.NullNode, *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return true // the library knows their meaning
	}
	want := ""
	switch {
	case t == reflect.TypeFor[words]():
		if !isWords(n) {
			want = "want a word or a list of words"
		}
	case t == reflect.TypeFor[yaml.MapSlice](), t.Kind() == reflect.Struct:
		if values, ok := pairs(n); ok {
			c.members(n, values, t, path)
		} else {
			want = "want members, each with its name"
		}
	case t.Kind() == reflect.String && !isScalar(n):
		want = "want a word"
	case t.Kind() == reflect.Int && n.Type() != ast.IntegerType:
		want = "want a whole number"
	case t.Kind() == reflect.Bool && n.Type() != ast.BoolType:
		want = "want true or false"
	}
	if want != "" {
		c.add(path, "%s", want)
	}
	return want == ""
}

// members judges the members of a mapping. Those of a MapSlice may have any
// name.
func (c *checker) members(n ast.Node, values []*ast.MappingValueNode, t reflect.Type, path string) {
	fields := fieldsOf(t)
	seen := map[string]bool{}
	keep := slices.DeleteFunc(slices.Clone(values), func(m *ast.MappingValueNode) bool {
		name := m.Key.GetToken().Value
		at := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			c.addAt(position(m.Key), at, "is given twice")
			return true
		}
		seen[name], c.at[at] = true, position(m.Key)
		if isScalar(m.Value) || m.Value.Type() == ast.SequenceType {
			c.at[at] = position(m.Value)
		}
		if t.Kind() != reflect.Struct {
			return false
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 && m.Key.Type() != ast.MergeKeyType {
			c.addAt(position(m.Key), at, "is not known here; want one of %s", nameList(fields))
			return true
		}
		if i < 0 || c.shape(m.Value, fields[i].typ, at) {
			return false
		}
		c.bad = append(c.bad, at)
		return true
	})
	if m, ok := n.(*ast.MappingNode); ok {
		m.Values = keep
	}
}

// field is a member that a mapping may have.
type field struct {
	name string
	typ  reflect.Type
}

func fieldsOf(t reflect.Type) []field {
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []field
	for f := range t.Fields() {
		name := f.Tag.Get("yaml")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		out = append(out, field{name, f.Type})
	}
	return out
}

func nameList(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// pairs are the members of a mapping.
func pairs(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

func isScalar(n ast.Node) bool {
	_, ok := n.(ast.ScalarNode)
	return ok
}

func isWords(n ast.Node) bool {
	if list, ok := n.(*ast.SequenceNode); ok {
		return !slices.ContainsFunc(list.Values, func(item ast.Node) bool { return !isScalar(item) || item.Type() == ast.NullType })
	}
	return isScalar(n)
}

// spot is a place in the file; both count from 1.
type spot struct{ line, column int }

func position(n ast.Node) spot {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return spot{t.Position.Line, t.Position.Column}
	}
	return spot{1, 1}
}

// begin is where a document begins.
func begin(n ast.Node) spot {
	if values, ok := pairs(n); ok && len(values) > 0 {
		return position(values[0].Key)
	}
	return position(n)
}

// checker gathers the problems of one gateway.
type checker struct {
	file  string
	at    map[string]spot // where each path stands, "" the document
	bad   []string        // paths that did not fit
	found Problems
}

// add notes a problem at a path, or at its nearest parent in the file. It adds
// nothing about parts that did not fit, or their contents.
func (c *checker) add(path, format string, args ...any) {
	if slices.ContainsFunc(c.bad, func(b string) bool { return path == b || strings.HasPrefix(path, b+".") }) {
		return
	}
	c.addAt(c.place(path), path, format, args...)
}

func (c *checker) addAt(s spot, path, format string, args ...any) {
	c.found = append(c.found, Problem{File: c.file, Line: s.line, Column: s.column, Path: path, Text: fmt.Sprintf(format, args...)})
}

// place is where a path stands, or its nearest parent.
func (c *checker) place(path string) spot {
	for {
		if s, ok := c.at[path]; ok || path == "" {
			return s
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// written reports whether the file has the path, whether or not it fits.
func (c *checker) written(path string) bool {
	_, ok := c.at[path]
	return ok
}
