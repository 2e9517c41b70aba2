package menu

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const (
	maxNesting = 16  // a pack needs seven
	maxMargin  = 120 // columns before the first letter of a line
)

// spot is a place in the file; both count from 1.
type spot struct{ line, column int }

// value is a YAML value with its place. Scalars keep their text, so that the
// key 00 and the text 1.10 are what their author meant.
type value struct {
	spot
	kind    ast.NodeType // StringType means every scalar
	text    string
	list    []*value
	members []member
}

type member struct {
	spot
	name  string
	value *value
}

// readTree parses YAML. It is not for strangers' files, but a mistake in one
// must never stop the server: what the parser cannot take is refused before,
// or becomes a problem.
func readTree(data []byte) (root *value, problems Problems) {
	switch {
	case len(data) > MaxFile:
		return nil, spot{1, 1}.problem("the file is larger than " + strconv.Itoa(MaxFile>>10) + " KiB")
	case !utf8.Valid(data):
		return nil, spot{1, 1}.problem("the file is not UTF-8")
	}
	if line := tooDeep(data); line > 0 {
		return nil, spot{line, 1}.problem("nests too deep")
	}
	defer func() {
		if r := recover(); r != nil {
			root, problems = nil, spot{1, 1}.problem("the file is not YAML that can be read")
		}
	}()
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at := spot{1, 1}
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			return nil, at.of(ye.GetToken().Position.Line, ye.GetToken().Position.Column).problem(ye.GetMessage() + theRest)
		}
		return nil, at.problem("not YAML: " + firstLine(err.Error()) + theRest)
	}
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		return nil, spot{1, 1}.problem("the file is empty")
	case 1:
		t := tree{}
		root = t.read(bodies[0], 0)
		return root, t.problems
	}
	return nil, place(bodies[1]).problem("a second document begins; a pack is one")
}

// theRest is said of a mistake that hides others.
const theRest = "; the rest could not be looked at until this is mended"

func (s spot) of(line, column int) spot { return spot{max(line, s.line), max(column, s.column)} }

func (s spot) problem(text string) Problems {
	return Problems{{Line: s.line, Column: s.column, Text: text}}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// tooDeep gives the line where brackets, lists in lists or indentation nest
// deeper than any pack does, 0 when none do: the parser takes time out of all
// proportion.
func tooDeep(data []byte) int {
	depth, line := 0, 0
	for text := range bytes.Lines(data) {
		line++
		for _, c := range text {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			}
			if depth > 2*maxNesting {
				return line
			}
		}
		if margin := text[:len(text)-len(bytes.TrimLeft(text, " \t-?"))]; len(margin) > maxMargin || bytes.Count(margin, []byte("- ")) > maxNesting {
			return line
		}
	}
	return 0
}

func place(n ast.Node) spot {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return spot{1, 1}.of(t.Position.Line, t.Position.Column)
	}
	return spot{1, 1}
}

// refused is the kind of a value that a pack may not have. It is reported once,
// where it stands.
const refused ast.NodeType = -1

// tree reads nodes of the parser and keeps what a pack may not have.
type tree struct{ problems Problems }

func (t *tree) read(n ast.Node, depth int) *value {
	v := &value{spot: place(n), kind: ast.StringType}
	if depth > maxNesting {
		v.kind = t.refuse(v.spot, "nests too deep")
		return v
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		v.kind = ast.MappingType
		for _, m := range n.Values {
			t.member(v, m, depth)
		}
		if len(v.members) > 0 && !n.IsFlowStyle {
			v.spot = v.members[0].spot
		}
	case *ast.MappingValueNode:
		v.kind = ast.MappingType
		if t.member(v, n, depth); len(v.members) > 0 {
			v.spot = v.members[0].spot
		}
	case *ast.SequenceNode:
		v.kind = ast.SequenceType
		for _, item := range n.Values {
			v.list = append(v.list, t.read(item, depth+1))
		}
	case *ast.NullNode:
		v.kind = ast.NullType
	case *ast.StringNode:
		v.text = n.Value
	case *ast.LiteralNode:
		v.text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		v.text = n.GetToken().Value
	default:
		v.kind = t.refuse(v.spot, "a pack has no "+strings.ToLower(n.Type().String()))
	}
	return v
}

func (t *tree) member(v *value, n *ast.MappingValueNode, depth int) {
	key, ok := n.Key.(ast.Node)
	m := member{spot: place(key)}
	if !ok {
		t.refuse(m.spot, "a name must be plain text")
	}
	name := t.read(key, maxNesting)
	switch name.kind {
	case ast.StringType:
	case refused:
		return
	default:
		t.refuse(m.spot, "a name must be plain text")
		return
	}
	m.name = name.text
	if i := slices.IndexFunc(v.members, func(o member) bool { return o.name == m.name }); i >= 0 {
		t.refuse(m.spot, "there is one "+strconv.Quote(m.name)+" already, on line "+strconv.Itoa(v.members[i].line))
		return
	}
	m.value = t.read(n.Value, depth+1)
	v.members = append(v.members, m)
}

func (t *tree) refuse(s spot, text string) ast.NodeType {
	t.problems = append(t.problems, s.problem(text)...)
	return refused
}
