package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Columns are the columns of a table: paths into a record. They grow with the
// records they collect, in the order in which paths first appear.
type Columns struct {
	root  *node
	paths []string
}

// node is a member of a record. It may have a column as well as members: an
// object in one record can be a text in another.
type node struct {
	path     string
	column   int // -1: none
	names    []string
	children map[string]*node
}

func newNode(path string) *node { return &node{path: path, column: -1} }

// UnknownColumnError means that a record has a value without a column.
type UnknownColumnError struct{ Path string }

// Error names the path.
func (e *UnknownColumnError) Error() string { return "no column for " + e.Path }

// NewColumns makes columns of paths. A path that repeats is an *Error whose
// Column is the path.
func NewColumns(paths ...string) (*Columns, error) {
	c := &Columns{root: newNode("")}
	for _, p := range paths {
		if err := c.add(p, len(c.paths)); err != nil {
			return nil, err
		}
		c.paths = append(c.paths, p)
	}
	if len(c.paths) > MaxColumns {
		return nil, tooManyColumns(0)
	}
	return c, nil
}

// Paths lists the columns.
func (c *Columns) Paths() []string { return c.paths }

// add enters one path.
func (c *Columns) add(path string, column int) error {
	parts := SplitPath(path)
	if path == "" || len(parts) > MaxDepth {
		return &Error{Column: path, Code: "invalid_column", Detail: "The column is not a path into a record."}
	}
	at := c.root
	for _, name := range parts {
		next := at.children[name]
		if next == nil {
			next = at.grow(name)
		}
		at = next
	}
	if at.column >= 0 {
		return &Error{Column: path, Code: "duplicate_column", Detail: "The column appears twice: " + shorten(path) + "."}
	}
	at.column = column
	return nil
}

// grow adds a member.
func (n *node) grow(name string) *node {
	child := newNode(joinPath(n.path, name))
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[name] = child
	n.names = append(n.names, name)
	return child
}

// Collect adds the columns for a record.
func (c *Columns) Collect(record jsontext.Value) error {
	return c.walk(record, addUnknown, func(int, jsontext.Value) {})
}

// What becomes of a value no column is for.
type unknown int

const (
	refuseUnknown unknown = iota // an *UnknownColumnError
	skipUnknown
	addUnknown // it gets a column
)

// walk gives each value of a record to emit with its column.
func (c *Columns) walk(record jsontext.Value, u unknown, emit func(column int, v jsontext.Value)) error {
	dec := jsontext.NewDecoder(bytes.NewReader(record))
	w := walker{dec: dec, columns: c, unknown: u, emit: emit}
	if err := w.object(c.root); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("read record: there is data after the object")
	}
	return nil
}

type walker struct {
	dec     *jsontext.Decoder
	columns *Columns
	unknown unknown
	emit    func(int, jsontext.Value)
}

func (w *walker) object(at *node) error {
	if t, err := w.dec.ReadToken(); err != nil {
		return fmt.Errorf("read record: %w", err)
	} else if t.Kind() != '{' {
		return errors.New("read record: not an object")
	}
	for w.dec.PeekKind() != '}' {
		name, err := w.dec.ReadToken()
		if err != nil {
			return fmt.Errorf("read record: %w", err)
		}
		if err := w.member(at, name.String()); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// member reads the value of a member: a cell, or an object with members.
func (w *walker) member(at *node, name string) error {
	n := at.children[name]
	kind := w.dec.PeekKind()
	if kind == '{' && (n == nil || n.column < 0 || n.names != nil) && w.dec.StackDepth() < MaxDepth {
		return w.inside(at, n, name)
	}
	v, err := w.dec.ReadValue()
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	if kind == 'n' {
		return nil // no value
	}
	return w.leaf(at, n, name, v)
}

// inside reads an object that is not a cell. Only an empty one is a cell.
func (w *walker) inside(at, n *node, name string) error {
	if n == nil {
		n = newNode(joinPath(at.path, name))
	}
	if err := w.object(n); err != nil {
		return err
	}
	if at.children[name] != nil {
		return nil
	}
	if len(n.names) == 0 {
		return w.leaf(at, nil, name, jsontext.Value(`{}`))
	}
	if at.children == nil {
		at.children = map[string]*node{}
	}
	at.children[name], at.names = n, append(at.names, name)
	return nil
}

func (w *walker) leaf(at, n *node, name string, v jsontext.Value) error {
	if n != nil && n.column >= 0 {
		w.emit(n.column, v)
		return nil
	}
	path := joinPath(at.path, name)
	switch {
	case w.unknown == skipUnknown:
		return nil
	case w.unknown == refuseUnknown:
		return &UnknownColumnError{path}
	case len(w.columns.paths) == MaxColumns:
		return tooManyColumns(0)
	}
	if n == nil {
		n = at.grow(name)
	}
	n.column = len(w.columns.paths)
	w.columns.paths = append(w.columns.paths, path)
	w.emit(n.column, v)
	return nil
}

// joinPath adds a name to a path. A dot in a name is written "\.".
func joinPath(path, name string) string {
	if strings.ContainsAny(name, `.\`) {
		name = strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// SplitPath splits a path into names. A dot in a name is written "\.".
func SplitPath(path string) []string {
	if !strings.Contains(path, `\`) {
		return strings.Split(path, ".")
	}
	var parts []string
	var part strings.Builder
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path):
			i++
			part.WriteByte(path[i])
		case path[i] == '.':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(path[i])
		}
	}
	return append(parts, part.String())
}
