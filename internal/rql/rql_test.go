package rql_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// kinds is the schema of the tests.
func kinds(p rql.Path) (rql.Kind, error) {
	switch p.String() {
	case "type", "properties.serial", "/properties/a.b", "properties.my-name", "properties.ünï":
		return rql.Text, nil
	case "properties.power":
		return rql.Number, nil
	case "properties.on":
		return rql.Bool, nil
	case "updated":
		return rql.Time, nil
	case "properties.location":
		return rql.Object, nil
	}
	if p[0] == "metadata" || p[0] == "services" {
		return rql.Any, nil
	}
	return 0, rql.ErrUnknown
}

func schema() rql.Schema {
	return rql.Schema{Field: kinds, Places: []rql.Path{{"properties", "location"}, {"metadata", "location"}}}
}

func doc(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const record = `{"type":"Device","updated":"2026-03-01T12:00:00.000Z","properties":{"serial":"0042","power":41.5,"on":true,"a.b":"dot","my-name":"x",
		"location":{"type":"Point","coordinates":[36.8,-1.28]},"ünï":"Ünï"},
		"metadata":{"name":"Smith, J. (senior)","tags":["red","blue"],"n":7,"none":null,"deep":{"list":[{"k":1},{"k":2}]},"location":{"lat":10,"lng":20}},
		"services":[{"id":"#data","type":"Ingest"},{"id":"#log","type":"Log"}]}`
	d := doc(t, record)
	for filter, want := range map[string]bool{
		`eq(type,Device)`:                                    true,
		`eq(type,device)`:                                    false,
		`eq("type",'Device')`:                                true,
		`ne(type,Device)`:                                    false,
		`eq(properties.serial,0042)`:                         true,
		`eq(properties.serial,42)`:                           false,
		`eq(/properties/serial,"0042")`:                      true,
		`eq(/properties/a.b,dot)`:                            true,
		`eq(properties.my-name,x)`:                           true,
		`eq(properties.ünï,Ünï)`:                             true,
		`eq(properties.power,41.5)`:                          true,
		`eq(properties.power,415e-1)`:                        true,
		`lt(properties.power,41.5)`:                          false,
		`le(properties.power,41.5)`:                          true,
		`gt(properties.power,-1)`:                            true,
		`ge(properties.power,42)`:                            false,
		`eq(properties.on,true)`:                             true,
		`ne(properties.on,true)`:                             false,
		`in(type,Stove,Device)`:                              true,
		`in(type,Stove)`:                                     false,
		`in(metadata.missing,1,null)`:                        true,
		`eq(metadata.missing,null)`:                          true,
		`eq(metadata.none,null)`:                             true,
		`ne(metadata.none,null)`:                             false,
		`ne(metadata.missing,1)`:                             true,
		`exists(metadata.none)`:                              false,
		`exists(metadata.name)`:                              true,
		`exists(metadata)`:                                   true,
		`exists(metadata.name.first)`:                        false,
		`eq(metadata.name,"Smith, J. (senior)")`:             true,
		`like(metadata.name,"Smith*")`:                       true,
		`like(metadata.name,*senior*)`:                       true,
		`like(metadata.name,Sm?th*)`:                         true,
		`like(metadata.name,smith*)`:                         false,
		`like(metadata.n,7)`:                                 false,
		`eq(metadata.n,7)`:                                   true,
		`eq(metadata.n,"7")`:                                 false,
		`lt(metadata.n,abc)`:                                 false,
		`eq(metadata.tags,blue)`:                             true,
		`ne(metadata.tags,blue)`:                             false,
		`eq(metadata.tags.0,red)`:                            true,
		`eq(metadata.tags.1,red)`:                            false,
		`eq(metadata.tags.7,red)`:                            false,
		`exists(metadata.tags)`:                              true,
		`gt(metadata.deep.list.k,1)`:                         true,
		`gt(metadata.deep.list.k,2)`:                         false,
		`eq(services.type,Log)`:                              true,
		`and(eq(services.type,Log),eq(services.id,"#log"))`:  true,
		`eq(updated,2026-03-01T12:00:00Z)`:                   true,
		`eq(updated,"2026-03-01T14:00:00+02:00")`:            true,
		`gt(updated,2026-03-01)`:                             true,
		`lt(updated,2026-03-01T12:00:00.001Z)`:               true,
		`or(eq(type,X),eq(properties.on,true))`:              true,
		`or(eq(type,X),eq(properties.on,false))`:             false,
		`and(eq(type,Device),not(eq(properties.on,false)))`:  true,
		`not(not(eq(type,Device)))`:                          true,
		"  and ( eq ( type , Device ) ,\n not(eq(type,X)) )": true,
		`near(properties.location,-1.28,36.8,10)`:            true,
		`near(properties.location,-1.29,36.8,1000)`:          false,
		`near(properties.location,-1.29,36.8,1200)`:          true,
		`near(10,20,1)`:                                      true, // metadata.location is looked at as well
		`near(50,20,1000)`:                                   false,
		`within(-2,36,-1,37)`:                                true,
		`within(properties.location,-1,36,0,37)`:             false,
		`within(metadata.location,9,170,11,30)`:              true, // over the date line
		`within(metadata.location,9,21,11,30)`:               false,
		`near(metadata.name,1,1,1)`:                          false,
	} {
		e, err := rql.Parse(filter, schema())
		if err != nil {
			t.Errorf("Parse(%s): %v", filter, err)
			continue
		}
		if got := e.Match(d); got != want {
			t.Errorf("%s = %v, want %v", filter, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("not(", 16) + "eq(type,x)" + strings.Repeat(")", 16)
	many := "or(" + strings.Repeat("eq(type,x),", 50) + "eq(type,x))"
	for _, tt := range []struct {
		filter, code string
		pos          int
	}{
		{"", "syntax", 1},
		{"   ", "syntax", 4},
		{"eq", "syntax", 3},
		{"eq(", "syntax", 4},
		{"eq()", "syntax", 4},
		{"eq(type)", "syntax", 1},
		{"eq(type,a,b)", "syntax", 1},
		{"eq(type,a", "syntax", 10},
		{"eq(type,a))", "syntax", 11},
		{"eq(type,a) x", "syntax", 12},
		{"eq(type,a b)", "syntax", 11},
		{"eq(type,)", "syntax", 9},
		{"eq(type,\"a)", "syntax", 9},
		{`eq(type,"\x")`, "syntax", 10},
		{`eq(type,"\ud800")`, "syntax", 10},
		{`eq(type,"\u12")`, "syntax", 10},
		{`eq(type,"\u0000")`, "syntax", 9},
		{"eq(type,[1])", "", 0}, // a bare word like any other
		{"and()", "syntax", 5},
		{"and(eq(type,x) eq(type,y))", "syntax", 16},
		{"not(eq(type,x),eq(type,y))", "syntax", 15},
		{"xor(eq(type,x))", "unknown_operator", 1},
		{"and(eq(type,x),EQ(type,x))", "syntax", 16},
		{"eq(typ,x)", "unknown_field", 4},
		{"and(eq(type,ü),eq(typ,x))", "unknown_field", 19},
		{"eq(properties..serial,x)", "syntax", 4},
		{"eq(/properties/~2,x)", "syntax", 4},
		{"eq(a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q,x)", "syntax", 4},
		{"eq(properties.power,high)", "wrong_type", 21},
		{`eq(properties.power,"1")`, "wrong_type", 21},
		{"eq(properties.power,1e999)", "wrong_type", 21},
		{"eq(properties.on,1)", "wrong_type", 18},
		{"lt(properties.power,null)", "wrong_type", 21},
		{"like(type,null)", "wrong_type", 11},
		{"eq(updated,yesterday)", "wrong_type", 12},
		{"eq(properties.location,x)", "wrong_type", 4},
		{"like(properties.power,4*)", "wrong_type", 23},
		{"near(type,1,2,3)", "wrong_type", 6},
		{"near(1,2)", "syntax", 1},
		{"near(91,2,3)", "out_of_range", 6},
		{"near(1,181,3)", "out_of_range", 8},
		{"near(1,2,-3)", "out_of_range", 10},
		{"near(1,x,3)", "wrong_type", 8},
		{"within(2,1,1,2)", "out_of_range", 12},
		{"within(1,2,3)", "syntax", 1},
		{"in(type)", "syntax", 1},
		{"exists(type,x)", "syntax", 1},
		{"eq(type,\xff)", "syntax", 1},
		{`like(type,"a\\")`, "syntax", 11},
		{"like(type," + strings.Repeat("a", 257) + ")", "syntax", 11},
		{"like(type," + strings.Repeat("a", 64) + "?)", "syntax", 11},
		{deep, "too_deep", 65},
		{strings.TrimSuffix(strings.TrimPrefix(deep, "not("), ")"), "", 0},
		{many, "too_many", 554},
		{strings.Replace(many, "eq(type,x),", "", 1), "", 0},
		{"eq(type,\"" + strings.Repeat("ä", 1989) + "\")", "", 0},
		{"eq(type,\"" + strings.Repeat("ä", 1990) + "\")", "too_long", 2001},
	} {
		_, err := rql.Parse(tt.filter, schema())
		var e *rql.Error
		if errors.As(err, &e); tt.code == "" && err == nil {
			continue
		}
		if e == nil || e.Code != tt.code || e.Pos != tt.pos {
			t.Errorf("Parse(%.60q) = %+v, want %s at %d", tt.filter, err, tt.code, tt.pos)
		}
	}
}

func TestUnknownFieldIsNamed(t *testing.T) {
	t.Parallel()
	_, err := rql.Parse("eq(properties.seriall,x)", schema())
	var e *rql.Error
	if !errors.As(err, &e) || e.Field.Pointer() != "/properties/seriall" || !strings.Contains(err.Error(), `"properties.seriall". (at character 4)`) {
		t.Errorf("Parse() = %v, want the field named", err)
	}
}

func TestSchemaErrorsComeOut(t *testing.T) {
	t.Parallel()
	broken := errors.New("store is gone")
	_, err := rql.Parse("eq(type,x)", rql.Schema{Field: func(rql.Path) (rql.Kind, error) { return 0, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("Parse() = %v, want the schema's own error", err)
	}
}

func TestPlacesAreNeeded(t *testing.T) {
	t.Parallel()
	if _, err := rql.Parse("near(1,2,3)", rql.Schema{}); err == nil {
		t.Error("near without a field or places was accepted")
	}
	if _, err := rql.Parse("near(here,1,2,3)", rql.Schema{}); err != nil {
		t.Errorf("near with a field: %v", err)
	}
}

func TestConjunctsAndPaths(t *testing.T) {
	t.Parallel()
	e, err := rql.Parse("and(eq(type,a),and(eq(type,b),or(eq(metadata.x,1),near(1,2,3))))", schema())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(e.Conjuncts()); got != 3 {
		t.Errorf("Conjuncts() gave %d, want 3", got)
	}
	var got []string
	for _, p := range e.Paths() {
		got = append(got, p.String())
	}
	if text := strings.Join(got, " "); text != "type metadata.x properties.location metadata.location" {
		t.Errorf("Paths() = %s", text)
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{"Smi*": "Smi…", "Smi": "Smi", "*x": "…", "a?c": "a…", `a\*b*`: "a*b…", "?": "…"} {
		e, err := rql.Parse(`like(type,"`+strings.ReplaceAll(pattern, `\`, `\\`)+`")`, schema())
		if err != nil {
			t.Fatal(err)
		}
		got, open := e.Prefix()
		if open {
			got += "…"
		}
		if got != want {
			t.Errorf("Prefix of %s = %s, want %s", pattern, got, want)
		}
	}
}

// A text and patterns made to make matchers go back and forth.
func TestLikeIsNeverSlow(t *testing.T) {
	t.Parallel()
	d := map[string]any{"type": strings.Repeat("a", 1<<20)}
	start := time.Now()
	for _, pattern := range []string{
		strings.Repeat("*a", 120) + "b",
		"*" + strings.Repeat("a", 200) + "b*",
		"*" + strings.Repeat("?", 60) + "b*",
		strings.Repeat("*a?a", 60) + "b",
		"*" + strings.Repeat("a?", 30) + "b*" + strings.Repeat("?a", 30) + "b",
	} {
		e, err := rql.Parse("like(type,"+pattern+")", schema())
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		if e.Match(d) {
			t.Errorf("%s matches", pattern)
		}
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("five patterns over a MiB took %v", took)
	}
}
