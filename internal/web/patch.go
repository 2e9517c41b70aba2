package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MergePatch applies an RFC 7396 patch to a document and returns the new one.
// Members keep their order, new ones come last, and numbers keep their text. A
// patch that is not strict JSON, or nests past 64, is refused like such a body.
// A patch that is not an object replaces the document; callers that store
// objects check for that. Neither argument is changed.
func MergePatch(doc, patch []byte) ([]byte, error) {
	if err := surveyed(patch); err != nil {
		return nil, err
	}
	change, err := parseNode(patch)
	if err != nil {
		return nil, jsonFault(patch, err)
	}
	if nestsDeep(doc) {
		return nil, errors.New("merge patch: the document nests too deep")
	}
	stored, err := parseNode(doc)
	if err != nil {
		return nil, fmt.Errorf("merge patch: read the document: %w", err)
	}
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	if err := merge(stored, change).write(enc); err != nil {
		return nil, fmt.Errorf("merge patch: write the document: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// node is a JSON value. Objects are parsed, because a patch may reach into
// them; everything else keeps its text.
type node struct {
	raw     jsontext.Value // nil for an object
	members []member
	index   map[string]int // of members; built when first needed
}

type member struct {
	name  string
	value *node
}

// parseNode reads one JSON text and nothing after it.
func parseNode(b []byte) (*node, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(b))
	n, err := readNode(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return n, nil
}

// errTrailing is what the decoder says when it unmarshals such a text.
var errTrailing = &jsontext.SyntacticError{Err: errors.New("invalid data after top-level value")}

func readNode(dec *jsontext.Decoder) (*node, error) {
	if dec.PeekKind() != '{' {
		v, err := dec.ReadValue()
		return &node{raw: v.Clone()}, err
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	n := &node{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		value, err := readNode(dec)
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, member{text, value})
	}
	_, err := dec.ReadToken()
	return n, err
}

func (n *node) isObject() bool { return n != nil && n.raw == nil }

func (n *node) isNull() bool { return n.raw.Kind() == 'n' }

// merge is the algorithm of RFC 7396, section 2. stored is nil for a member
// that does not exist.
func merge(stored, patch *node) *node {
	if !patch.isObject() {
		return patch
	}
	if !stored.isObject() {
		stored = &node{}
	}
	for _, m := range patch.members {
		at, found := stored.find(m.name)
		switch {
		case m.value.isNull() && found:
			stored.members[at].value = nil
		case m.value.isNull():
		case found:
			stored.members[at].value = merge(stored.members[at].value, m.value)
		default:
			// A patch names a member once, so the index needs no new entry.
			stored.members = append(stored.members, member{m.name, merge(nil, m.value)})
		}
	}
	return stored
}

// find looks a member up by name. Large objects meet large patches: a scan
// for each would let one request run for minutes.
func (n *node) find(name string) (int, bool) {
	if n.index == nil {
		n.index = make(map[string]int, len(n.members))
		for i, m := range n.members {
			n.index[m.name] = i
		}
	}
	at, ok := n.index[name]
	return at, ok
}

// write encodes n; members without a value were removed.
func (n *node) write(enc *jsontext.Encoder) error {
	if !n.isObject() {
		return enc.WriteValue(n.raw)
	}
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range n.members {
		if m.value == nil {
			continue
		}
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := m.value.write(enc); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}
