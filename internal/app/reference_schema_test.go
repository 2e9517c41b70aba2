package app_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestBodiesFitTheirSchemas holds every documented JSON body to its schema. And
// what a schema wants the server must want: a request without such a member is
// refused.
func TestBodiesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	doc, c := document(t, h.Handler)
	tree := &schemaTree{doc}
	for _, r := range h.Routes {
		if r.Doc.Channel || strings.HasPrefix(r.Path, "/api/ussd") { // a phone is always answered with 200
			continue
		}
		at := "/paths/" + pointer(openPath(r.Path)) + "/" + strings.ToLower(r.Method) + "/requestBody/content"
		content, _ := tree.at(at).(map[string]any)
		for _, media := range slices.Sorted(maps.Keys(content)) {
			if !strings.HasSuffix(media, "json") || strings.Contains(media, "ndjson") {
				continue
			}
			schema, err := c.Compile("doc.json#" + at + "/" + pointer(media) + "/schema")
			if err != nil {
				t.Fatalf("%s %s: %v", r.Method, r.Path, err)
			}
			for _, example := range examplesOf(content[media]) {
				if err := schema.Validate(example); err != nil {
					t.Errorf("%s %s: the example does not fit its schema: %v", r.Method, r.Path, err)
				}
				if media != "application/json-patch+json" {
					h.wantsAll(t, r, tree, at+"/"+pointer(media)+"/schema", example)
				}
			}
		}
	}
}

// examplesOf are the examples of a media type.
func examplesOf(media any) []any {
	m, _ := media.(map[string]any)
	var out []any
	if one, is := m["example"]; is {
		out = append(out, one)
	}
	named, _ := m["examples"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out = append(out, named[name].(map[string]any)["value"])
	}
	return out
}

// wantsAll sends a body once for each member its schema wants, without it.
func (h *house) wantsAll(t *testing.T, r web.Route, tree *schemaTree, at string, example any) {
	t.Helper()
	tree.required(at, example, "", func(name string, object map[string]any) {
		member := name[strings.LastIndexByte(name, '/')+1:]
		value, has := object[member]
		if !has {
			return
		}
		delete(object, member)
		text, err := json.Marshal(example)
		object[member] = value
		if err != nil {
			t.Fatal(err)
		}
		req := h.request(t, r, h.path(r))
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		if ofOracle(r) {
			h.asOracleUser(t, req, owner)
		} else {
			req.Header.Set("Authorization", "Bearer "+owner)
		}
		if w := h.answer(r, req); w.Code < 400 {
			t.Errorf("%s %s: the schema wants %s, and the server takes %s with %d", r.Method, r.Path, name, text, w.Code)
		}
	})
}

// schemaTree is the document as a tree.
type schemaTree struct{ root any }

func (s *schemaTree) at(path string) any {
	n := s.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		m, _ := n.(map[string]any)
		n = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return n
}

// required walks an example along its schema and shows every member that the
// schema wants, by its path, with the object that holds it.
func (s *schemaTree) required(at string, value any, path string, each func(name string, object map[string]any)) {
	schema, _ := s.at(at).(map[string]any)
	if to, is := schema["$ref"].(string); is {
		s.required(strings.TrimPrefix(to, "#"), value, path, each)
		return
	}
	switch v := value.(type) {
	case map[string]any:
		wanted, _ := schema["required"].([]any)
		for _, name := range wanted {
			each(path+"/"+name.(string), v)
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, one := range v {
			if properties[name] != nil {
				s.required(at+"/properties/"+pointer(name), one, path+"/"+name, each)
			}
		}
	case []any:
		for i, one := range v {
			s.required(at+"/items", one, path+"/"+strconv.Itoa(i), each)
		}
	}
}
