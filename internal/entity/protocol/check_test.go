package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
)

func TestPropertyTypes(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	point := `{"type":"Point","coordinates":[36.8,-1.3]}`
	for name, c := range map[string]struct{ good, bad []string }{
		"string":    {[]string{`""`, `"x"`, `"été"`}, []string{`1`, `true`, `null`, `{}`, `[]`}},
		"number":    {[]string{`0`, `-1.5`, `1e300`}, []string{`"1"`, `true`, `null`}},
		"integer":   {[]string{`0`, `7`, `7.0`, `-3`, `1e3`}, []string{`7.5`, `"7"`, `null`}},
		"boolean":   {[]string{`true`, `false`}, []string{`0`, `"true"`, `null`}},
		"object":    {[]string{`{}`, `{"a":[1,{"b":null}]}`}, []string{`[]`, `"{}"`, `null`}},
		"array":     {[]string{`[]`, `[1,"a",null]`}, []string{`{}`, `"[]"`, `null`}},
		"date":      {[]string{`"2026-08-01"`, `"2024-02-29"`}, []string{`"2026-8-1"`, `"2023-02-29"`, `"01.08.2026"`, `"2026-08-01T00:00:00Z"`, `""`, `20260801`}},
		"date-time": {[]string{`"2026-08-01T09:30:00Z"`, `"2026-08-01T09:30:00.123+02:00"`}, []string{`"2026-08-01"`, `"2026-08-01 09:30:00Z"`, `"2026-08-01T09:30:00"`, `"2026-08-01T09:30:00,5Z"`, `"2026-08-01T25:00:00Z"`, `0`}},
		"uri":       {[]string{`"https://example.org/a?b=c#d"`, `"urn:isbn:123"`, `"mailto:a@example.org"`}, []string{`"example.org"`, `"/a"`, `"https://"`, `"ht tp://x"`, `"https://a b"`, `""`, `1`}},
		"did":       {[]string{`"did:ixo:entity:123"`, `"did:ixo:household/123"`, `"did:web:example.org"`}, []string{`"did:ixo"`, `"ixo:1"`, `"did:IXO:1"`, `"did:ixo:a b"`, `5`}},
		"geo": {
			[]string{
				point, `{"type":"LineString","coordinates":[[0,0],[1,1]]}`, `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`,
				`{"type":"MultiPoint","coordinates":[]}`, `{"type":"GeometryCollection","geometries":[` + point + `]}`,
				`{"type":"Feature","geometry":` + point + `,"properties":null}`, `{"type":"FeatureCollection","features":[]}`,
				`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}`, `{"type":"Feature","geometry":null,"properties":{}}`,
			},
			[]string{
				`{}`, `{"type":"Point"}`, `{"type":"Point","coordinates":[1]}`, `{"type":"Point","coordinates":["1","2"]}`, `{"type":"Point","coordinates":[200,0]}`,
				`{"type":"Point","coordinates":[0,91]}`, `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`, `{"type":"LineString","coordinates":[[0,0]]}`,
				`{"type":"Feature","geometry":{}}`, `{"type":"FeatureCollection","features":[` + point + `]}`, `{"type":"Blob","coordinates":[0,0]}`, `"POINT(0 0)"`, `[0,0]`,
			},
		},
		"duration": {[]string{`"P1D"`, `"PT30M"`, `"P1Y2M3DT4H5M6.5S"`, `"P2W"`}, []string{`"P"`, `"PT"`, `"P1DT"`, `"1D"`, `"P1H"`, `"P1W2D"`, `"P-1D"`, `3600`}},
		"quantity": {[]string{`{"value":1.8,"unit":"kW"}`, `{"value":0,"unit":"t"}`}, []string{`{"value":1.8}`, `{"unit":"kW"}`, `{"value":"1.8","unit":"kW"}`, `{"value":1,"unit":""}`, `{"value":1,"unit":"kW","x":1}`, `1.8`, `null`}},
	} {
		// The name alone, and as the type in a schema, mean the same.
		for form, decl := range map[string]string{"name": quoted(name), "schema": `{"type":` + quoted(name) + `,"title":"P"}`} {
			p := e.publish(t, "ws", `{"properties":{"p":`+decl+`}}`)
			if got := p.Kind("p"); got != name {
				t.Errorf("%s as %s: Kind = %q", name, form, got)
			}
			for _, v := range c.good {
				if got := p.Check(decode(t, `{"p":`+v+`}`)); got != nil {
					t.Errorf("%s as %s: %s refused: %v", name, form, v, got)
				}
			}
			for _, v := range c.bad {
				got := p.Check(decode(t, `{"p":`+v+`}`))
				if len(got) == 0 || !strings.HasPrefix(got[0].Pointer, "/properties/p") {
					t.Errorf("%s as %s: %s gives %v, want a fault at /properties/p", name, form, v, got)
				}
			}
		}
	}
}

// Every fault of a twin is named at once, with no value in it.
func TestCheckNamesAll(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	p := e.publish(t, "ws", `{"required":["serial","gone"],"properties":{
		"serial":{"type":"string","pattern":"^[A-Z]{2}-[0-9]+$"}, "gone":"string", "size":{"type":"integer","minimum":1,"maximum":9},
		"mode":{"enum":["on","off"]}, "when":"date", "many":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true},
		"deep":{"type":"object","properties":{"a~/b":{"type":"number"},"k":{"type":"string"}},"required":["k"],"additionalProperties":false},
		"either":{"oneOf":[{"type":"string"},{"type":"number"}]}, "short":{"type":"string","minLength":2,"maxLength":3}, "third":{"type":"number","multipleOf":3},
		"names":{"type":"object","propertyNames":{"pattern":"^[a-z]+$"}}, "tall":{"exclusiveMinimum":3}, "dep":{"dependentRequired":{"a":["b"]}},
		"const":{"const":"SECRET-WANT"}, "never":{"not":{"type":"string"}}}}`)
	got := p.Check(decode(t, `{"serial":"hunter2","size":70,"mode":"HUNTER","when":"hunter2","many":["hunter2","hunter2",3],
		"deep":{"a~/b":"hunter2","z":1},"either":true,"short":"hunter2","third":4,"names":{"HUNTER":1},"extra":"hunter2","tall":3,"dep":{"a":1},"const":"hunter2","never":"hunter2"}`))
	want := "/properties/const not_allowed, /properties/deep/a~0~1b wrong_type, /properties/deep/k required, /properties/deep/z unknown_property, /properties/dep/b required, " +
		"/properties/either no_match, /properties/extra unknown_property, /properties/gone required, /properties/many not_unique, /properties/many too_many, /properties/many/2 wrong_type, " +
		"/properties/mode not_allowed, /properties/names invalid_name, /properties/never no_match, /properties/serial pattern_mismatch, /properties/short too_long, /properties/size out_of_range, " +
		"/properties/tall out_of_range, /properties/third not_multiple, /properties/when invalid_format"
	if codes(got) != want {
		t.Errorf("Check =\n%s\nwant\n%s", codes(got), want)
	}
	for _, f := range got {
		if strings.Contains(strings.ToLower(f.Detail), "hunter") || !strings.HasSuffix(f.Detail, ".") {
			t.Errorf("%s: %q repeats a value or is no sentence", f.Pointer, f.Detail)
		}
	}
	for _, v := range []any{nil, "x", []any{}, 1.0} {
		if got := codes(p.Check(v)); got != "/properties wrong_type" {
			t.Errorf("Check(%v) = %s", v, got)
		}
	}
}

func TestCheckIsBounded(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	p := e.publish(t, "ws", `{"properties":{"list":{"type":"array","items":{"allOf":[`+strings.Repeat(`{"minimum":0},`, 300)+`{}]}},"text":{"type":"string","pattern":"^(a{1,20}){1,20}$"}}}`)
	many := make([]any, 100_000)
	for i := range many {
		many[i] = -1.0
	}
	if got := codes(p.Check(map[string]any{"list": many})); got != "/properties/list too_complex" {
		t.Errorf("a list too large for its rules = %.200s", got)
	}
	if got := codes(p.Check(map[string]any{"text": strings.Repeat("a", 1<<20)})); got != "/properties/text too_complex" {
		t.Errorf("a text too long for its pattern = %.200s", got)
	}
	if got := p.Check(map[string]any{"list": many[:500]}); len(got) != 100 {
		t.Errorf("%d faults, want 100", len(got))
	}
	extra := map[string]any{}
	for i := range 5000 {
		extra[fmt.Sprint("x", i)] = 1.0
	}
	if got := p.Check(extra); len(got) != 100 {
		t.Errorf("%d faults, want 100", len(got))
	}
}

func TestClassNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, domain, class string
		want                bool
	}{
		{"OracleEntity", "oracle", "oracle", true},
		{"OracleEntity", "thing", "oracle", true},
		{"OracleEntity", "device", "physical", false},
		{"OrganisationEntity", "organisation", "cognitive", true},
		{"OrganizationEntity", "organisation", "cognitive", true},
		{"OrganizationEntity", "group", "cognitive", false},
		{"ProjectEntity", "project", "cognitive", true},
		{"AssetEntity", "asset", "physical", true},
		{"AssetEntity", "device", "physical", true},
		{"DeviceEntity", "asset", "physical", false},
		{"DeviceEntity", "device", "physical", true},
		{"HouseholdEntity", "household", "physical", true},
		{"PersonEntity", "person", "physical", true},
		{"GroupEntity", "group", "cognitive", true},
		{"SystemEntity", "system", "system", true},
		{"SystemEntity", "thing", "system", true},
		{"ClaimEntity", "claim", "cognitive", true},
		{"CredentialEntity", "credential", "cognitive", true},
		{"CredentialEntity", "claim", "cognitive", false},
		{"Entity", "thing", "cognitive", true},
		{"did:ixo:protocol/template", "device", "physical", false},
		{"organisationentity", "organisation", "cognitive", false},
		{"", "thing", "cognitive", false},
	} {
		if got := protocol.FitsClass(c.name, c.domain, c.class); got != c.want {
			t.Errorf("FitsClass(%q, %q, %q) = %v, want %v", c.name, c.domain, c.class, got, c.want)
		}
	}
	e := newEnv(t, dbtest.SQLite(t))
	p := e.publish(t, "ws", `{"relationships":{"b":"OrganizationEntity","a":{"class":"OrganisationEntity","min":0,"max":3,"requiredFor":"claims"},"c":"did:ixo:protocol/template"}}`)
	want := []protocol.Role{
		{Name: "a", Class: "OrganisationEntity", Max: 3, RequiredFor: "claims"},
		{Name: "b", Class: "OrganizationEntity", Min: 1, RequiredFor: "active"},
		{Name: "c", Class: "did:ixo:protocol/template", Min: 1, RequiredFor: "active"},
	}
	if got := p.Roles(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Roles = %+v, want %+v: stored as given, sorted", got, want)
	}
	if r, ok := p.Role("b"); !ok || r != want[1] {
		t.Errorf("Role(b) = %+v, %v", r, ok)
	}
	if _, ok := p.Role("x"); ok {
		t.Error("Role(x) found")
	}
}

// The class of twins comes from what the protocol says, as far as it does.
func TestClassAndDomainType(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	for _, c := range []struct{ draft, class, domain string }{
		{`{}`, "physical", "device"},
		{`{"class":"cognitive"}`, "cognitive", "thing"},
		{`{"class":"system"}`, "system", "system"},
		{`{"class":"oracle"}`, "oracle", "oracle"},
		{`{"domainType":"household"}`, "physical", "household"},
		{`{"domainType":"project"}`, "cognitive", "project"},
		{`{"domainType":"organization"}`, "cognitive", "organisation"},
		{`{"domainType":"oracle"}`, "oracle", "oracle"},
		{`{"class":"physical","domainType":"asset"}`, "physical", "asset"},
		{`{"extends":"did:ixo:protocol/organisation"}`, "cognitive", "organisation"},
		{`{"extends":"did:ixo:protocol/organisation","domainType":"asset"}`, "physical", "asset"},
	} {
		p := e.publish(t, "ws", c.draft)
		if p.Class() != c.class || p.DomainType() != c.domain {
			t.Errorf("%s: %s, %s; want %s, %s", c.draft, p.Class(), p.DomainType(), c.class, c.domain)
		}
		if p.Record.Class != c.class || p.Record.DomainType != c.domain {
			t.Errorf("%s: the published record says %s, %s", c.draft, p.Record.Class, p.Record.DomainType)
		}
	}
}

func TestFitsAndPersonalData(t *testing.T) {
	t.Parallel()
	e := newEnv(t, dbtest.SQLite(t))
	p := e.publish(t, "ws", `{"appliesTo":["Stove","Oven"],"pii":["phone"],"indexed":["serial"],"additionalProperties":true,
		"properties":{"name":{"type":"string","pii":true},"phone":"string","serial":"string","at":{"type":"date-time","indexed":true}}}`)
	if !p.Fits("Stove") || p.Fits("Fridge") || !p.Open() {
		t.Errorf("Fits(Stove) = %v, Fits(Fridge) = %v, Open = %v", p.Fits("Stove"), p.Fits("Fridge"), p.Open())
	}
	if got := fmt.Sprint(p.PII(), p.Indexed(), p.Names()); got != "[name phone] [{at time} {serial text}] [at name phone serial]" {
		t.Errorf("PII, Indexed, Names = %s", got)
	}
	if got := p.Check(map[string]any{"anything": nil}); got != nil {
		t.Errorf("an open protocol refuses %v", got)
	}
}

func BenchmarkCheck(b *testing.B) {
	e := newEnv(b, dbtest.SQLite(b))
	p, err := e.s.Find(b.Context(), "ws", "did:ixo:protocol/clean-cooking", "")
	if err != nil {
		b.Fatal(err)
	}
	plain := map[string]any{"serial": "SN-1", "model": "X", "efficiency": 20.0, "fuel_type": "ethanol", "installedAt": "2026-08-01"}
	full := map[string]any{"serial": "SN-1", "power": map[string]any{"value": 1.8, "unit": "kW"}, "location": map[string]any{"type": "Point", "coordinates": []any{36.8, -1.3}}}
	for name, doc := range map[string]map[string]any{"scalars": plain, "objects": full} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := p.Check(doc); got != nil {
					b.Fatal(got)
				}
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	e := newEnv(b, dbtest.SQLite(b))
	p := e.publish(b, "ws", `{"properties":{"a":"string"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.s.Find(b.Context(), "ws", p.DID, ""); err != nil {
			b.Fatal(err)
		}
	}
}
