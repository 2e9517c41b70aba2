package foreign

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth is how deep the elements of an instance nest.
const maxDepth = 30

// node is an element of an instance.
type node struct {
	name string
	text strings.Builder
	kids []*node
}

// instance is a submission as XML has it: what its form says stands where.
type instance struct {
	id   string
	root map[string]any
}

// errEncrypted is why a submission cannot be read.
var errEncrypted = errors.New("it is encrypted: decrypt the export first")

// parse reads an instance.
func parse(text []byte) (*instance, error) {
	dec := xml.NewDecoder(bytes.NewReader(text))
	var open []*node
	var root *node
	attrs := map[string]string{}
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("it is not XML: %w", err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			n := &node{name: t.Name.Local}
			if len(open) == maxDepth {
				return nil, fmt.Errorf("elements nest more than %d deep", maxDepth)
			}
			if len(open) > 0 {
				open[len(open)-1].kids = append(open[len(open)-1].kids, n)
			} else if root == nil {
				root = n
				for _, a := range t.Attr {
					attrs[a.Name.Local] = a.Value
				}
			}
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text.Write(t)
			}
		}
	}
	if root == nil {
		return nil, errors.New("it has no element")
	}
	if attrs["encrypted"] != "" {
		return nil, errEncrypted
	}
	return finish(root, attrs)
}

// finish makes the object of a submission, with its id.
func finish(root *node, attrs map[string]string) (*instance, error) {
	i := &instance{id: attrs["instanceID"], root: map[string]any{}}
	for _, n := range root.kids {
		switch n.name {
		case "formhub", "__version__": // Kobo's own
		case "meta":
			for _, m := range n.kids {
				if m.name == "instanceID" {
					i.id = strings.TrimSpace(m.text.String())
				}
			}
		default:
			put(i.root, n)
		}
	}
	if i.id == "" {
		return nil, errors.New("it has no instanceID")
	}
	i.root["instanceID"] = i.id
	if at := attrs["submissionDate"]; at != "" {
		i.root["SubmissionDate"] = at
	}
	return i, nil
}

// put gives an object the member of an element. Elements of the same name are the
// entries of a repeat.
func put(to map[string]any, n *node) {
	var v any = strings.TrimSpace(n.text.String())
	if len(n.kids) > 0 {
		inner := map[string]any{}
		for _, k := range n.kids {
			put(inner, k)
		}
		v = inner
	} else if v == "" {
		return
	}
	switch before := to[n.name].(type) {
	case nil:
		to[n.name] = v
	case []any:
		to[n.name] = append(before, v)
	default:
		to[n.name] = []any{before, v}
	}
}
