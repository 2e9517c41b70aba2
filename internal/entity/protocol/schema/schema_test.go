package schema

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// build compiles one set of properties.
func build(t testing.TB, properties string) (*Set, []fault.Field) {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal([]byte(properties), &members); err != nil {
		t.Fatalf("%.300s: %v", properties, err)
	}
	var c fault.Checks
	s := &Set{ID: "did:ixo:protocol/t%2Fest?versionId=1.0.0", Properties: map[string]*Property{}}
	for name, v := range members {
		if p := Parse(v, "/properties/"+check.Escape(name), &c); p != nil {
			s.Properties[name] = p
		}
	}
	if c.Err("X", "") == nil {
		if err := s.Compile(&c); err != nil {
			t.Fatalf("compile %.300s: %v", properties, err)
		}
	}
	if f := fault.As(c.Err("X", "")); f != nil {
		return nil, f.Fields
	}
	return s, nil
}

// The schema others get says the same as our checks do: it compiles by itself
// and gives the same verdict on everything.
func agree(t testing.TB, p *Set, props map[string]any) {
	t.Helper()
	var doc any
	if err := json.Unmarshal(p.Text(), &doc); err != nil {
		t.Fatal(err)
	}
	c := newCompiler()
	if err := c.AddResource("did:x:schema", doc); err != nil {
		t.Fatal(err)
	}
	whole, err := c.Compile("did:x:schema")
	if err != nil {
		t.Fatalf("the schema given out does not compile: %v\n%.1000s", err, p.Text())
	}
	ours, theirs := p.Check(props), whole.Validate(props)
	if len(ours) == 1 && ours[0].Code == "too_complex" {
		return
	}
	if (ours == nil) != (theirs == nil) {
		t.Errorf("Check = %v, the schema says %v\nof %v\nunder %.1000s", ours, theirs, props, p.Text())
	}
}

// Names, schemas and values of all kinds: the quick way and the schema agree.
func TestQuickAgreesWithSchema(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, typ := range types {
		kinds = append(kinds, typ.Name)
	}
	scalars := []string{"string", "number", "integer", "boolean"}
	value := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.StringMatching(`[a-zé]{0,6}`), func(s string) any { return s }),
		rapid.SampledFrom([]any{
			"2026-08-01", "2026-08-01T00:00:00Z", "P1D", "https://a.b/c", "did:a:b", "on", 0.0, 1.0, 2.5, -3.0, 1e30,
			[]any{},
			[]any{1.0},
			map[string]any{},
			map[string]any{"value": 1.0, "unit": "t"},
			map[string]any{"type": "Point", "coordinates": []any{1.0, 2.0}},
		}),
		rapid.Map(rapid.Float64Range(-10, 10), func(f float64) any { return f }),
		rapid.Map(rapid.IntRange(-10, 10), func(n int) any { return float64(n) }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		props := map[string]any{}
		for i := range rapid.IntRange(1, 4).Draw(rt, "n") {
			name := fmt.Sprint("p", i)
			if rapid.Bool().Draw(rt, "short") {
				props[name] = rapid.SampledFrom(kinds).Draw(rt, "kind")
				continue
			}
			doc := map[string]any{"type": rapid.SampledFrom(scalars).Draw(rt, "scalar")}
			for key, most := range map[string]int{"minimum": 5, "maximum": 5, "minLength": 4, "maxLength": 4} {
				if rapid.IntRange(0, 3).Draw(rt, key+"?") == 0 {
					doc[key] = rapid.IntRange(0, most).Draw(rt, key)
				}
			}
			if rapid.IntRange(0, 4).Draw(rt, "enum?") == 0 {
				doc["enum"] = []any{"on", "off"}
			}
			props[name] = doc
		}
		text, err := json.Marshal(props, json.Deterministic(true))
		if err != nil {
			rt.Fatal(err)
		}
		p, wrong := build(t, string(text))
		if wrong != nil {
			rt.Fatalf("%s: %v", text, wrong)
		}
		twin := map[string]any{}
		for name := range props {
			if rapid.IntRange(0, 5).Draw(rt, "there?") > 0 {
				twin[name] = value.Draw(rt, name)
			}
		}
		agree(t, p, twin)
	})
}

// Whatever is given as a property is refused by name or makes a protocol that
// can check anything, and the schema that is given out is one.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{
		`"string"`, `{"type":"quantity"}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"date"}}}`, `{"items":{"$ref":"#/items"}}`, `{"pattern":"(a|b){3}"}`,
		`{"allOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}],"$defs":{"b":{"enum":[1,"x",null]}}}`, `{"type":["string","null"],"format":"did"}`, `{"patternProperties":{"^x":false}}`,
		`{"not":{}}`, `{"if":true,"then":false}`, `{"x-a":{"$ref":"http://x"}}`, `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"const":{"$ref":"#"}}`, `{"minimum":1e308,"multipleOf":1e-300}`,
		`{"$defs":{"a":{"$defs":{"b":{"$ref":"#/$defs/a"}}}}}`, `{"unevaluatedItems":{"type":"geo"}}`, `{"propertyNames":{"maxLength":1}}`, `[]`, `{"enum":[]}`, `{"type":"geo","indexed":true}`,
	} {
		f.Add(s, `{"a":1}`)
		f.Add(s, `"2026-08-01"`)
	}
	f.Fuzz(func(t *testing.T, schema, text string) {
		if !jsontext.Value(schema).IsValid() {
			return
		}
		p, wrong := build(t, `{"p":`+schema+`}`)
		if p == nil {
			if len(wrong) == 0 {
				t.Fatal("refused without a reason")
			}
			return
		}
		var v any
		if json.Unmarshal([]byte(text), &v) != nil || Depth(v) > 64 {
			v = text
		}
		agree(t, p, map[string]any{"p": v})
		for _, v := range []any{nil, true, "x", 1.5, []any{"a", 1.0}, map[string]any{"type": "Point"}} {
			agree(t, p, map[string]any{"p": v})
		}
	})
}
