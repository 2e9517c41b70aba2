package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxDepth is how deep a configuration file may nest; plugins need three.
const maxDepth = 4

var errDeep = errors.New("is nested too deep")

// decodeYAML lists the values of a YAML file with their lines. Anchors, tags
// and several documents are refused: a settings file needs none of them.
func decodeYAML(raw []byte) ([]entry, error) {
	if line := tooNested(raw); line > 0 {
		return nil, fileError{line, "nests too deep"}
	}
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			return nil, fileError{ye.GetToken().Position.Line, ye.GetMessage()}
		}
		return nil, err
	}
	var docs []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil {
			docs = append(docs, d.Body)
		}
	}
	switch len(docs) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, fileError{docs[1].GetToken().Position.Line, "a second document begins; want one"}
	}
	if _, ok := docs[0].(*ast.NullNode); ok {
		return nil, nil
	}
	var out []entry
	err = walkYAML(docs[0], nil, &out)
	return out, err
}

func walkYAML(n ast.Node, path []string, out *[]entry) error {
	line := n.GetToken().Position.Line
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if err := walkYAMLPair(v, path, out); err != nil {
				return err
			}
		}
		return nil
	case *ast.MappingValueNode:
		return walkYAMLPair(n, path, out)
	}
	if len(path) == 0 {
		return fileError{line, "want groups such as server: with their settings below"}
	}
	e := entry{path: path, line: line}
	if seq, ok := n.(*ast.SequenceNode); ok {
		e.list = true
		var items []string
		for _, v := range seq.Values {
			text, ok := yamlText(v)
			if !ok {
				return fileError{v.GetToken().Position.Line, "a list holds plain values only"}
			}
			items = append(items, text)
		}
		e.text = strings.Join(items, ",")
		*out = append(*out, e)
		return nil
	}
	if _, ok := n.(*ast.NullNode); ok {
		e.null = true
	} else if e.text, ok = yamlText(n); !ok {
		return fileError{line, fmt.Sprintf("a %s is not understood here", strings.ToLower(n.Type().String()))}
	}
	*out = append(*out, e)
	return nil
}

func walkYAMLPair(v *ast.MappingValueNode, path []string, out *[]entry) error {
	line := v.Key.GetToken().Position.Line
	name, ok := yamlText(v.Key)
	if !ok {
		return fileError{line, "a key is not plain text"}
	}
	if len(path) >= maxDepth {
		return fileError{line, errDeep.Error()}
	}
	path = append(slices.Clone(path), name)
	before := len(*out)
	if err := walkYAML(v.Value, path, out); err != nil {
		return err
	}
	// A value may begin on the next line; people look for the key.
	if len(*out) == before+1 && len((*out)[before].path) == len(path) {
		(*out)[before].line = line
	}
	return nil
}

// yamlText is the text of a scalar, so that 0123 and 1.10 do not change.
func yamlText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimRight(n.Value.Value, "\n"), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// decodeJSON lists the values of a JSON file with their lines. Duplicate
// names, broken UTF-8 and trailing data are errors.
func decodeJSON(raw []byte) ([]entry, error) {
	j := &jsonFile{raw: raw, dec: jsontext.NewDecoder(bytes.NewReader(raw))}
	if j.dec.PeekKind() != '{' {
		return nil, fileError{j.line(), "want an object of groups"}
	}
	if err := j.walk(nil); err != nil {
		return j.out, j.wrap(err)
	}
	if _, err := j.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return j.out, fileError{j.line(), "something follows the object"}
	}
	return j.out, nil
}

type jsonFile struct {
	raw []byte
	dec *jsontext.Decoder
	out []entry
}

// line is the line of the next token.
func (j *jsonFile) line() int {
	at := int(j.dec.InputOffset())
	for at < len(j.raw) && strings.IndexByte(" \t\r\n,:", j.raw[at]) >= 0 {
		at++
	}
	return 1 + bytes.Count(j.raw[:min(at, len(j.raw))], []byte("\n"))
}

func (j *jsonFile) wrap(err error) error {
	if _, ok := errors.AsType[fileError](err); ok {
		return err
	}
	line := j.line()
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at := min(int(se.ByteOffset), len(j.raw))
		line = 1 + bytes.Count(j.raw[:at], []byte("\n"))
		if se.Err != nil {
			err = se.Err
		}
	}
	return fileError{line, "is not valid JSON: " + err.Error()}
}

func (j *jsonFile) walk(path []string) error {
	line := j.line()
	tok, err := j.dec.ReadToken()
	if err != nil {
		return err
	}
	e := entry{path: path, line: line}
	switch tok.Kind() {
	case '{':
		return j.object(path)
	case '[':
		e.list = true
		if e.text, err = j.items(); err != nil {
			return err
		}
	case 'n':
		e.null = true
	default:
		e.text = tok.String()
	}
	j.out = append(j.out, e)
	return nil
}

func (j *jsonFile) object(path []string) error {
	if len(path) >= maxDepth {
		return fileError{j.line(), errDeep.Error()}
	}
	for j.dec.PeekKind() != '}' {
		name, err := j.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := j.walk(append(slices.Clone(path), name.String())); err != nil {
			return err
		}
	}
	_, err := j.dec.ReadToken()
	return err
}

func (j *jsonFile) items() (string, error) {
	var items []string
	for {
		line := j.line()
		tok, err := j.dec.ReadToken()
		if err != nil {
			return "", err
		}
		switch tok.Kind() {
		case ']':
			return strings.Join(items, ","), nil
		case '{', '[', 'n':
			return "", fileError{line, "a list holds plain values only"}
		}
		items = append(items, tok.String())
	}
}

// tooNested gives the line where brackets nest deeper than any setting needs,
// 0 when none do: the parser takes time and memory out of all proportion.
func tooNested(raw []byte) int {
	depth, line := 0, 1
	for _, c := range raw {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > 32 {
			return line
		}
	}
	return 0
}
