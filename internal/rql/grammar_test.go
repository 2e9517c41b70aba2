package rql_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, dotted, pointer string }{
		{"type", "type", "/type"},
		{"properties.serial", "properties.serial", "/properties/serial"},
		{"/properties/serial", "properties.serial", "/properties/serial"},
		{"/properties/a.b", "/properties/a.b", "/properties/a.b"},
		{"/properties/a~1b~0c", "/properties/a~1b~0c", "/properties/a~1b~0c"},
		{"/properties/~01", "/properties/~01", "/properties/~01"},
		{"a./b", "/a/~1b", "/a/~1b"},
		{"/", "/", "/"},
		{"//a", "//a", "//a"},
		{"a.0.b", "a.0.b", "/a/0/b"},
		{"@context", "@context", "/@context"},
		{"größe", "größe", "/größe"},
	} {
		p, ok := rql.ParsePath(tt.text)
		if !ok || p.String() != tt.dotted || p.Pointer() != tt.pointer {
			t.Errorf("ParsePath(%s) = %s, %s, %v, want %s, %s", tt.text, p, p.Pointer(), ok, tt.dotted, tt.pointer)
		}
		again, ok := rql.ParsePath(p.String())
		if !ok || again.Pointer() != p.Pointer() {
			t.Errorf("ParsePath(%s) = %v, want %v", p, again, p)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a..b", "/a~", "/~2", "/a~b", strings.Repeat("a.", 16) + "a"} {
		if p, ok := rql.ParsePath(text); ok {
			t.Errorf("ParsePath(%q) = %v, want none", text, p)
		}
	}
}

// String writes one text for all ways to write a filter.
func TestStringIsCanonical(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		`eq(type,"a")`:                                      {"eq(type,a)", "eq( type , 'a' )", `eq("type","\u0061")`, "eq(/type,a)"},
		`eq(type,"1")`:                                      {"eq(type,1)", `eq(type,"1")`},
		`eq(metadata.a,1)`:                                  {"eq(metadata.a,1)", "eq(metadata.a,1.0)", "eq(metadata.a,10e-1)"},
		`eq(metadata.a,"1")`:                                {`eq(metadata.a,"1")`, `eq(metadata.a,'1')`},
		`in(metadata.a,1,true,null,"x")`:                    {"in(metadata.a,1,true,null,x)"},
		`eq("/metadata/a b","\\\"'\u000a")`:                 {`eq("metadata.a b","\\\"'\n")`, `eq('/metadata/a b','\\"\'\n')`},
		`and(not(exists(type)),or(eq(properties.on,true)))`: {"and(not(exists(type)),or(eq(properties.on,true)))"},
		`gt(updated,"2026-01-01T00:00:00Z")`:                {"gt(updated,2026-01-01)", "gt(updated,2026-01-01T00:00:00.000Z)", `gt(updated,"2026-01-01T02:00:00+02:00")`},
		`near(1.5,-2,300)`:                                  {"near(1.50,-2,3e2)"},
		`within(metadata.a,-1,170,1,-170)`:                  {"within(metadata.a,-1,170,1,-170)"},
		`like(type,"a*")`:                                   {"like(type,a*)", `like(type,"a*")`},
	} {
		for _, text := range texts {
			e, err := rql.Parse(text, schema())
			if err != nil {
				t.Errorf("Parse(%s): %v", text, err)
			} else if e.String() != want {
				t.Errorf("Parse(%s) writes %s, want %s", text, e, want)
			}
		}
	}
}

// Every comparison of every two values, against a table one can read.
func TestOrderOfValues(t *testing.T) {
	t.Parallel()
	// What of a document compares with what of a filter, and how.
	compared := []struct {
		doc    any
		filter string
		order  string // "<", "=", ">", or "" when they have no order
	}{
		{"a", `"b"`, "<"},
		{"b", `"b"`, "="},
		{"c", `"b"`, ">"},
		{"", `"b"`, "<"},
		{"B", `"b"`, "<"},
		{"ä", `"z"`, ">"},
		{"10", `"9"`, "<"},
		{"a", `"aa"`, "<"},
		{1.0, "2", "<"},
		{2.0, "2", "="},
		{3.0, "2", ">"},
		{-1.0, "0", "<"},
		{math.Copysign(0, -1), "0", "="},
		{10.0, "9", ">"},
		{false, "true", "<"},
		{true, "true", "="},
		{true, "false", ">"},
		{"1", "1", ""},
		{1.0, `"1"`, ""},
		{true, "1", ""},
		{1.0, "true", ""},
		{"true", "true", ""},
		{nil, "1", ""},
		{nil, `"a"`, ""},
		{map[string]any{}, `"a"`, ""},
	}
	holds := map[string]string{"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
	for _, c := range compared {
		for op, orders := range holds {
			e, err := rql.Parse(op+"(metadata.v,"+c.filter+")", schema())
			if err != nil {
				t.Fatal(err)
			}
			want := c.order != "" && strings.Contains(orders, c.order)
			for shape, doc := range map[string]any{"value": c.doc, "in an array": []any{c.doc}, "one of several": []any{nil, c.doc, map[string]any{}}} {
				if got := e.Match(map[string]any{"metadata": map[string]any{"v": doc}}); got != want {
					t.Errorf("%v %s %s (%s) = %v, want %v", c.doc, op, c.filter, shape, got, want)
				}
			}
		}
	}
}

// ne, not and null fit together: a filter and its opposite never agree.
func TestOpposites(t *testing.T) {
	t.Parallel()
	docs := []string{
		`{}`, `{"metadata":null}`, `{"metadata":{}}`, `{"metadata":{"v":null}}`, `{"metadata":{"v":1}}`, `{"metadata":{"v":"x"}}`, `{"metadata":{"v":[]}}`,
		`{"metadata":{"v":[1,2]}}`, `{"metadata":{"v":[null]}}`, `{"metadata":{"v":{}}}`, `{"metadata":[{"v":1},{"v":2}]}`, `{"metadata":[[{"v":1}]]}`, `{"metadata":"v"}`,
	}
	for _, text := range docs {
		d := doc(t, text)
		for _, pair := range [][2]string{
			{"eq(metadata.v,1)", "ne(metadata.v,1)"},
			{"eq(metadata.v,null)", "ne(metadata.v,null)"},
			{"eq(metadata.v,null)", "exists(metadata.v)"},
			{"eq(metadata.v,1)", "not(eq(metadata.v,1))"},
			{"gt(metadata.v,1)", "not(gt(metadata.v,1))"},
			{"in(metadata.v,1,x)", "not(or(eq(metadata.v,1),eq(metadata.v,x)))"},
			{"and(eq(metadata.v,1),eq(metadata.v,2))", "or(ne(metadata.v,1),ne(metadata.v,2))"},
		} {
			var got [2]bool
			for i, filter := range pair {
				e, err := rql.Parse(filter, schema())
				if err != nil {
					t.Fatal(err)
				}
				got[i] = e.Match(d)
			}
			if got[0] == got[1] {
				t.Errorf("%s: %s and %s are both %v", text, pair[0], pair[1], got[0])
			}
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		stored, filter string
		want           bool
	}{
		{"2026-03-01T12:00:00Z", "eq(updated,2026-03-01T12:00:00Z)", true},
		{"2026-03-01T12:00:00.000Z", "eq(updated,2026-03-01T12:00:00Z)", true},
		{"2026-03-01T12:00:00.5Z", "eq(updated,2026-03-01T12:00:00Z)", false},
		{"2026-03-01T14:00:00+02:00", "eq(updated,2026-03-01T12:00:00Z)", true},
		{"2026-03-01T11:00:00-01:00", "le(updated,2026-03-01T12:00:00Z)", true},
		{"2026-03-01T12:00:00.123456789Z", "gt(updated,2026-03-01T12:00:00.123456788Z)", true},
		{"2026-03-01", "eq(updated,2026-03-01T00:00:00Z)", true},
		{"yesterday", "lt(updated,2026-03-01T12:00:00Z)", false},
		{"yesterday", "ne(updated,2026-03-01T12:00:00Z)", true},
		{"", "ge(updated,0001-01-01)", false},
	} {
		e, err := rql.Parse(tt.filter, schema())
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Match(map[string]any{"updated": tt.stored}); got != tt.want {
			t.Errorf("%s of %s = %v, want %v", tt.filter, tt.stored, got, tt.want)
		}
		if _, ok := e.Values[0].V.(time.Time); !ok {
			t.Errorf("%s holds %T, want a time", tt.filter, e.Values[0].V)
		}
	}
}

// Known distances, and the edges of the map.
func TestNear(t *testing.T) {
	t.Parallel()
	point := func(lat, lon float64) map[string]any {
		return map[string]any{"metadata": map[string]any{"location": map[string]any{"type": "Point", "coordinates": []any{lon, lat}}}}
	}
	for _, tt := range []struct {
		name             string
		lat, lon         float64
		toLat, toLon, km float64
	}{
		{"Nairobi to Mombasa", -1.2864, 36.8172, -4.0435, 39.6682, 440},
		{"a degree of latitude", 0, 0, 1, 0, 111.2},
		{"a degree of longitude at 60 degrees", 60, 0, 60, 1, 55.6},
		{"over the date line", 0, 179.5, 0, -179.5, 111.2},
		{"pole to pole", 90, 0, -90, 0, 20015},
		{"around the pole", 90, 0, 90, 120, 0},
		{"the same place", 12.5, -33.3, 12.5, -33.3, 0},
	} {
		for radius, want := range map[float64]bool{tt.km*1000*1.005 + 1: true, tt.km*1000*0.995 - 1: false} {
			if radius < 0 {
				continue
			}
			e, err := rql.Parse(fmt.Sprintf("near(%v,%v,%f)", tt.toLat, tt.toLon, min(radius, 20_100_000)), schema())
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Match(point(tt.lat, tt.lon)); got != want {
				t.Errorf("%s within %.0f m = %v, want %v", tt.name, radius, got, want)
			}
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	e, err := rql.Parse("within(metadata.v,9,19,11,21)", schema())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"lat":10,"lon":20}`:                          true,
		`{"lat":10,"lng":20}`:                          true,
		`{"latitude":10,"longitude":20}`:               true,
		`{"lat":"10","lon":"20"}`:                      false,
		`{"lat":10}`:                                   false,
		`{"lat":20,"lon":10}`:                          false,
		`{"type":"Point","coordinates":[20,10]}`:       true,
		`{"type":"Point","coordinates":[20,10,1500]}`:  true,
		`{"type":"Point","coordinates":[10,20]}`:       false,
		`{"type":"Point","coordinates":[20]}`:          false,
		`{"type":"Point","coordinates":["20","10"]}`:   false,
		`{"type":"Polygon","coordinates":[[[20,10]]]}`: false,
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[20,10]},"properties":{"lat":0}}`: true,
		`[{"lat":0,"lon":0},{"lat":10,"lon":20}]`:                                                     true,
		`"10,20"`: false, `null`: false, `[20,10]`: false, `{}`: false,
	} {
		if got := e.Match(doc(t, `{"metadata":{"v":`+text+`}}`)); got != want {
			t.Errorf("%s of %s = %v, want %v", e, text, got, want)
		}
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "abc", true},
		{"?", "", false},
		{"?", "ä", true},
		{"?", "ab", false},
		{"**", "", true},
		{"a*", "a", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"ab*ba", "aba", false},
		{"*b*", "abc", true},
		{"*b*b*", "abc", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*?c*", "c", false},
		{"*?c*", "xc", true},
		{"a*?", "a", false},
		{"a*?", "ab", true},
		{`a\\*`, "a*", true},
		{`a\\*`, "ab", false},
		{`\\?`, "?", true},
		{`\\\\`, `\`, true},
		{"*語?", "x語言", true},
		{"*.csv", "a.csv", true},
		{"*.csv", "acsv", false},
		{"(a)", "(a)", true},
		{"[ab]", "a", false},
		{"*a*b*c*", "cba", false},
		{"*a*b*c*", "xaxbxcx", true},
		{"*ab?d*", "ababcdabxd", true},
	} {
		e, err := rql.Parse(`like(type,"`+tt.pattern+`")`, schema())
		if err != nil {
			t.Fatalf("%s: %v", tt.pattern, err)
		}
		if got := e.Match(map[string]any{"type": tt.text}); got != tt.want {
			t.Errorf("like(%s) of %q = %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

// A filter of the largest size over a large record is answered soon.
func TestLargestFilter(t *testing.T) {
	t.Parallel()
	var list []any
	for i := range 20_000 {
		list = append(list, map[string]any{"k": fmt.Sprint("value ", i)})
	}
	d := map[string]any{"metadata": map[string]any{"list": list}}
	var terms []string
	for i := range rql.MaxTerms {
		terms = append(terms, fmt.Sprintf("like(metadata.list.k,*x%d?*)", i))
	}
	e, err := rql.Parse("or("+strings.Join(terms, ",")+")", schema())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if e.Match(d) {
		t.Error("the filter matches")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("50 comparisons with 20,000 values took %v", took)
	}
}
