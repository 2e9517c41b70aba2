package wire_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(wire.Schema()))
	if err != nil {
		t.Fatalf("the schema is not JSON: %v", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("gateway.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("gateway.json")
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

func TestSchemaTakesGoodGateways(t *testing.T) {
	t.Parallel()
	s := compileSchema(t)
	files, err := filepath.Glob("gateways/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("the shipped gateways are %q, %v", files, err)
	}
	texts := map[string]string{"minimal": minimal}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(data)
	}
	for name, text := range texts {
		if err := s.Validate(document(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefusesBadGateways: what the schema refuses, Parse refuses too.
func TestSchemaRefusesBadGateways(t *testing.T) {
	t.Parallel()
	s := compileSchema(t)
	reply := func(text string) string { return strings.Replace(minimal, "format: text", text, 1) }
	request := func(line string) string { return strings.Replace(minimal, "reply:", "  "+line+"\nreply:", 1) }
	for name, tt := range map[string]struct{ in, want string }{
		"unknown member":    {minimal + "colour: red\n", "colour"},
		"unknown field":     {request("colour: red"), "/request"},
		"name":              {strings.Replace(minimal, "mine", "My Gateway", 1), "/gateway"},
		"reserved":          {strings.Replace(minimal, "mine", "debug", 1), "/gateway"},
		"mode":              {minimal + "mode: both\n", "/mode"},
		"format":            {strings.Replace(minimal, "json", "xml", 1), "/request/format"},
		"no phone":          {strings.Replace(minimal, "  phone: p\n", "", 1), "/request"},
		"no session":        {strings.Replace(minimal, "  session: s\n", "", 1), "/request"},
		"no code":           {strings.Replace(minimal, "  code: c\n", "", 1), "/request"},
		"max text":          {minimal + "maxText: 5\n", "/maxText"},
		"limits":            {minimal + "limits: {gsm7: 500}\n", "/limits/gsm7"},
		"reply format":      {reply("format: html"), "/reply"},
		"text with a body":  {minimal + "  body: {a: b}\n", "/reply"},
		"JSON without":      {reply("format: json"), "/reply"},
		"start text":        {request("startText: d"), "/request"},
		"no start":          {request("kind: {field: k, input: B}"), "/request/kind"},
		"country":           {request(`numbers: {country: "+254"}`), "/request/numbers/country"},
		"default code":      {request("default: {code: 384}"), "/request/default/code"},
		"default id":        {request("default: {session: date}"), "/request/default/session"},
		"events":            {minimal + "events: {format: form, session: s}\n", "/events"},
		"names of a map":    {strings.Replace(minimal, "text: t", "text: {a: b}", 1), "/request/text"},
		"an empty field":    {strings.Replace(minimal, "text: t", `text: ""`, 1), "/request/text"},
		"a value of a list": {reply("format: json\n  continue: 1\n  end: 0\n  body: {a: \"{text}{next}\", b: [1]}"), "/reply/body/b"},
	} {
		if err := s.Validate(document(t, tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Validate = %v, want %q", name, err, tt.want)
		}
		if list, err := wire.Parse("f", []byte(tt.in)); err == nil {
			t.Errorf("%s: Parse = %v, want what the schema refuses refused", name, list)
		}
	}
}
