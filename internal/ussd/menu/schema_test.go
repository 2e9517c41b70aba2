package menu_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(menu.Schema()))
	if err != nil {
		t.Fatalf("the schema is not JSON: %v", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("pack.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("pack.json")
	if err != nil {
		t.Fatalf("the schema does not compile: %v", err)
	}
	return s
}

func document(t *testing.T, text string) any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("not YAML: %v", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemaTakesGoodPacks(t *testing.T) {
	t.Parallel()
	s := compileSchema(t)
	texts := map[string]string{"small": small, "login": changed(t, "start: home", "start: home\nlogin: ask.pin", "draft: true", "draft: login")}
	for _, name := range menu.Shipped() {
		data, err := menu.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	for name, text := range texts {
		if err := s.Validate(document(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesBadPacks(t *testing.T) {
	t.Parallel()
	s := compileSchema(t)
	for _, tt := range []struct{ name, from, to, want string }{
		{"pack name", "pack: small", "pack: Small", "/pack"},
		{"unknown member", "start: home", "start: home\nbegin: x", "begin"},
		{"limit", "gsm7: 182", "gsm7: 183", "/limits/gsm7"},
		{"no nodes", "nodes:\n", "nodes: {}\nx:\n", "/nodes"},
		{"unknown member of a node", "    clear: [pin]", "    clears: [pin]", "clears"},
		{"input without a way on", "    to: save\n", "", "/nodes/ask.pin"},
		{"option without a key", `{key: "1", `, "{", "options/0"},
		{"draft", "draft: true", "draft: always", "/nodes/ask/draft"},
		{"empty text", "text: PIN?", `text: ""`, "/nodes/ask.pin/text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := s.Validate(document(t, changed(t, tt.from, tt.to))); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate = %v, want %q", err, tt.want)
			}
		})
	}
}
