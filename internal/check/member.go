package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Edited is a record and a client's changed copy.
type Edited struct {
	Stored, Changed []byte
	Free            func(name string) bool // members a client decides
	Known           func(name string) bool // members a record has at times; nil for none
	Partly          bool                   // members may be left out
}

// Unchanged refuses members that a client does not decide and has changed or
// removed, with READ_ONLY_MEMBER, or invented, with UNKNOWN_MEMBER. The fault
// names them all. An error that is not a fault means that a document is not an
// object.
func Unchanged(e Edited) error {
	var c fault.Checks
	var unknown bool
	was, err := Members(e.Stored)
	if err != nil {
		return err
	}
	is, err := Members(e.Changed)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		old, there := was[name]
		switch {
		case e.Free(name):
		case !there && (e.Known == nil || !e.Known(name)):
			unknown = true
			c.Add("/"+Escape(name), "unknown", "This member is not known here.")
		case !SameJSON(old, is[name]):
			c.Add("/"+Escape(name), "read_only", "This member is decided by the server and cannot be changed here.")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, kept := is[name]; !kept && !e.Partly && !e.Free(name) {
			c.Add("/"+Escape(name), "read_only", "This member is decided by the server and cannot be removed.")
		}
	}
	if unknown {
		return c.Err("UNKNOWN_MEMBER", "The body has a member that is not known here; names are case-sensitive.")
	}
	return c.Err("READ_ONLY_MEMBER", "A member of the record cannot be changed here.")
}

// Together is a fault with the fields of a further one, so that everything
// wrong is named at once, with the code and message of the first. An error that
// is not a fault takes precedence.
func Together(first, further error) error {
	a, b := fault.As(first), fault.As(further)
	switch {
	case first == nil, b == nil && further != nil:
		return further
	case a == nil || b == nil:
		return first
	}
	c := *a
	c.Fields = web.JoinFields(a.Fields, b.Fields)
	return &c
}

// Members splits an object into its members.
func Members(doc []byte) (map[string]jsontext.Value, error) {
	var m map[string]jsontext.Value
	if err := json.Unmarshal(doc, &m); err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	return m, nil
}

// SameJSON compares two values, ignoring the order of members and the spelling
// of numbers and texts.
func SameJSON(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := a.Clone(), b.Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

// Hash returns the SHA-256 of a value in the canonical form of RFC 8785: the same content
// has the same hash everywhere.
func Hash(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	value := jsontext.Value(text)
	if err := value.Canonicalize(); err != nil {
		return "", fmt.Errorf("canonical form: %w", err)
	}
	sum := sha256.Sum256(value)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Moved changes the pointers of a fault: the prefix from becomes to, and all
// others are prefixed by to.
func Moved(err error, from, to string) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	moved := *f
	moved.Fields = nil
	for _, field := range f.Fields {
		field.Pointer = to + strings.TrimPrefix(field.Pointer, from)
		moved.Fields = append(moved.Fields, field)
	}
	return &moved
}
