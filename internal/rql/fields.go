package rql

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a list of fields.
const (
	maxFields     = 50
	maxFieldsText = 2000 // bytes
)

// Tree is a set of paths: the requested members, and below each those requested
// of it. A nil tree requests everything.
type Tree map[string]Tree

// Add adds a path.
func (t Tree) Add(path []string) {
	below, known := t[path[0]]
	switch {
	case known && below == nil: // all of it is wanted already
	case len(path) == 1:
		t[path[0]] = nil
	default:
		if below == nil {
			below = Tree{}
			t[path[0]] = below
		}
		below.Add(path[1:])
	}
}

// ParseFields reads which members of a record are requested: fields as in a
// filter, separated by commas; known is as in Schema. The members in always are
// always included. An empty text is nil. Errors are *Error, or what known
// returned.
func ParseFields(text string, known func(Path) (Kind, error), always ...string) (Tree, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	if len(names) > maxFields || len(text) > maxFieldsText {
		return nil, &Error{Code: "too_many", Pos: 1, Detail: fmt.Sprintf("At most %d fields in %d bytes.", maxFields, maxFieldsText)}
	}
	t := Tree{}
	for _, name := range always {
		t[name] = nil
	}
	at := 1
	for _, name := range names {
		path, ok := ParsePath(strings.TrimSpace(name))
		err := ErrUnknown
		if ok {
			_, err = known(path)
		}
		if errors.Is(err, ErrUnknown) {
			return nil, &Error{Code: "unknown_field", Pos: at, Detail: "There is no field " + quoted(strings.TrimSpace(name)) + ".", Field: path}
		} else if err != nil {
			return nil, err
		}
		t.Add(path)
		at += utf8.RuneCountInString(name) + 1
	}
	return t, nil
}
