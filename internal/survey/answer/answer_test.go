package answer_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// all has a question of every kind, and some that must not become rows.
const all = `{"templateId":"t","sections":[{"id":"s","questions":[
	{"id":"n","type":"number","dontKnow":true},{"id":"i","type":"integer"},{"id":"r","type":"rating"},{"id":"q","type":"quantity","units":["kg","lb"]},
	{"id":"one","type":"single_choice","options":["a","b"],"other":true},{"id":"some","type":"multiple_choice","options":["a","b"],"other":true},
	{"id":"order","type":"rank","options":["a","b"]},{"id":"m","type":"matrix","options":["yes","no"],"rows":["x","y"],"refuse":true},
	{"id":"b","type":"boolean"},{"id":"ok","type":"consent"},{"id":"d","type":"date"},{"id":"dt","type":"datetime"},{"id":"t","type":"time"},
	{"id":"sum","type":"calculate","calculate":"s.n * 2.0"},
	{"id":"words","type":"text"},{"id":"code","type":"barcode"},{"id":"serial_number","type":"integer"},{"id":"where","type":"geo"},
	{"id":"age","type":"integer","pii":"direct"},{"id":"sex","type":"single_choice","options":["f","m"],"pii":"indirect"},
	{"id":"older","type":"calculate","calculate":"double(s.age) + 1.0"},
	{"id":"g","type":"group","questions":[{"id":"gn","type":"number"}]},
	{"id":"homes","type":"repeat","questions":[{"id":"fuel","type":"single_choice","options":["a","b"]},
		{"id":"days","type":"repeat","questions":[{"id":"kg","type":"number"}]}]}]}]}`

func compiled(t testing.TB) *form.Form {
	t.Helper()
	var doc form.Template
	if err := json.Unmarshal([]byte(all), &doc, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	f, err := form.Compile(&doc)
	if err != nil {
		t.Fatal(err, fault.As(err).Fields)
	}
	return f
}

// written are rows as texts in one order, with the paths of their questions.
func written(rows []answer.Row, paths ...string) string {
	names := map[int64]string{}
	for _, p := range paths {
		names[answer.Question(7, strings.Split(p, ".")...)] = p
	}
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%s %q %g %d", cmp.Or(names[r.QID], "?"), r.Code, r.Num, r.Item))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func TestRows(t *testing.T) {
	t.Parallel()
	plan := answer.NewPlan(compiled(t))
	for _, tt := range []struct{ name, answers, path, want string }{
		{"number", `{"n":5.5}`, "s.n", `s.n "" 5.5 0`},
		{"nothing known", `{"n":{"noAnswer":"dont_know"}}`, "s.n.noAnswer", `s.n.noAnswer "dont_know" 0 0`},
		{"integer", `{"i":-3}`, "s.i", `s.i "" -3 0`},
		{"rating", `{"r":4}`, "s.r", `s.r "" 4 0`},
		{"quantity", `{"q":{"unit":"kg","value":2}}`, "s.q", `s.q "kg" 2 0`},
		{"option", `{"one":"a"}`, "s.one", `s.one "a" 0 0`},
		{"in other words", `{"one":{"other":"ann's own"}}`, "s.one", `s.one "other" 0 0`},
		{"several", `{"some":["a",{"other":"ann's own"}]}`, "s.some", "s.some \"a\" 0 0\ns.some \"other\" 0 0"},
		{"rank", `{"order":["b","a"]}`, "s.order", "s.order \"a\" 2 0\ns.order \"b\" 1 0"},
		{"matrix", `{"m":{"x":"yes"}}`, "s.m.x", `s.m.x "yes" 0 0`},
		{"matrix refused", `{"m":{"noAnswer":"refused"}}`, "s.m.noAnswer", `s.m.noAnswer "refused" 0 0`},
		{"boolean", `{"b":false}`, "s.b", `s.b "false" 0 0`},
		{"consent", `{"ok":true}`, "s.ok", `s.ok "true" 1 0`},
		{"day", `{"d":"1970-01-02"}`, "s.d", `s.d "" 8.64e+07 0`},
		{"moment", `{"dt":"1970-01-01T03:00:01+03:00"}`, "s.dt", `s.dt "" 1000 0`},
		{"time of day", `{"t":"01:02:03"}`, "s.t", `s.t "" 3723 0`},
		{"time without seconds", `{"t":"01:02"}`, "s.t", `s.t "" 3720 0`},
		{"calculated", `{"sum":6}`, "s.sum", `s.sum "" 6 0`},
		{"calculated words", `{"sum":"ann"}`, "s.sum", ""},
		{"words", `{"words":"ann"}`, "s.words", ""},
		{"things", `{"code":"4711","serial_number":4711,"where":{"lat":1,"lon":2}}`, "s.code", ""},
		{"what is sealed", `{"age":5,"sex":"f","older":6}`, "s.age", ""},
		{"group", `{"g":{"gn":1}}`, "s.g.gn", `s.g.gn "" 1 0`},
		{
			"repeat", `{"homes":[{"fuel":"a","days":[{"kg":1},{"kg":2}]},{},{"fuel":"a","days":[{"kg":1}]}]}`, "s.homes.fuel s.homes.days.kg",
			"s.homes.days.kg \"\" 1 0\ns.homes.days.kg \"\" 1 2\ns.homes.days.kg \"\" 2 1\ns.homes.fuel \"a\" 0 0\ns.homes.fuel \"a\" 0 2",
		},
		{"repeat with nothing", `{"homes":[]}`, "s.homes", `s.homes "none" 0 0`},
		{"repeat with nothing in an element", `{"homes":[{"fuel":"a"},{"fuel":"b","days":[]}]}`, "s.homes.fuel s.homes.days", "s.homes.days \"none\" 0 1\ns.homes.fuel \"a\" 0 0\ns.homes.fuel \"b\" 0 1"},
		{"choice of nothing", `{"some":[],"order":[]}`, "s.some", ""},
		{"escapes", `{"one":"a","words":"\\\"}{,","some":["\u0061"]}`, "s.one s.some", "s.one \"a\" 0 0\ns.some \"a\" 0 0"},
		{"no question", `{"zzz":5}`, "s.zzz", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows, err := plan.Rows(7, []byte(`{"s":`+tt.answers+`}`))
			if got := written(rows, strings.Fields(tt.path)...); err != nil || got != tt.want {
				t.Errorf("Rows() = %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	if _, err := plan.Rows(7, []byte(`[`)); err == nil {
		t.Error("broken answers became rows")
	}
}

// TestAnyHasAllRows: whatever answers have become can be taken out without their
// form.
func TestAnyHasAllRows(t *testing.T) {
	t.Parallel()
	plan := answer.NewPlan(compiled(t))
	leaf := rapid.SampledFrom([]string{
		`1`, `true`, `"a"`, `"2020-01-02"`, `"2020-01-02T03:04:05Z"`, `"03:04"`, `"\"}"`, `["a","b"]`, `["b",{"other":"x"}]`, `{"other":"x"}`, `{"noAnswer":"refused"}`,
		`{"unit":"kg","value":3}`, `{"x":"yes","y":"no"}`, `[{"fuel":"a","days":[{"kg":1},{"kg":1}]},{"fuel":"a","days":[{"kg":1}]}]`, `{"gn":4}`, `null`, `[]`,
	})
	names := []string{"n", "i", "q", "one", "some", "order", "m", "b", "d", "dt", "t", "sum", "g", "homes"}
	rapid.Check(t, func(t *rapid.T) {
		var members []string
		for _, name := range names {
			members = append(members, fmt.Sprintf("%q:%s", name, leaf.Draw(t, name)))
		}
		doc := []byte(`{"s":{` + strings.Join(members, ",") + `}}`)
		rows, err := plan.Rows(9, doc)
		if err != nil {
			t.Fatal(err)
		}
		spaced, err := plan.Rows(9, []byte(strings.ReplaceAll(string(doc), `":`, `": `))) // not canonical
		if err != nil || written(rows) != written(spaced) {
			t.Errorf("rows of %s are %s or %s, %v", doc, written(rows), written(spaced), err)
		}
		any, err := answer.Any(9, doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if !slices.Contains(any, r) {
				t.Errorf("Any() of %s lacks %+v", doc, r)
			}
		}
	})
}

func TestSpans(t *testing.T) {
	t.Parallel()
	plan := answer.NewPlan(compiled(t))
	for _, tt := range []struct{ filter, want string }{
		{`eq(responses.s.n,5)`, `"" 5 5`},
		{`eq(responses.s.n,five)`, "nothing"},
		{`in(responses.s.one,a,b)`, `"a" 0 0, "b" 0 0`},
		{`eq(responses.s.some,a)`, `"a" 0 0`},
		{`eq(responses.s.b,true)`, `"true" 1 1`},
		{`eq(responses.s.d,"1970-01-02")`, `"" 8.64e+07 8.64e+07`},
		{`eq(responses.s.d,"1970-01")`, "nothing"},
		{`gt(responses.s.n,5)`, `"" 5 1.7976931348623157e+308`},
		{`le(responses.s.d,"1970-01-02")`, `"" -1.7976931348623157e+308 8.64e+07`},
		{`eq(responses.s.m.x,yes)`, `"yes" 0 0`},
		{`eq(responses.s.homes.fuel,a)`, `"a" 0 0`},
		{`eq(responses.s.homes.0.fuel,a)`, "unknown"},
		{`eq(responses.s.homes,none)`, "unknown"},
		{`eq(responses.s.n,null)`, "unknown"},
		{`ne(responses.s.n,5)`, "unknown"},
		{`exists(responses.s.n)`, "unknown"},
		{`eq(responses.s.words,ann)`, "unknown"},
		{`eq(responses.s.sum,ann)`, "unknown"},
		{`eq(responses.s.order,a)`, "unknown"},
		{`gt(responses.s.dt,"2020-01-02T03:04:05Z")`, "unknown"},
		{`gt(responses.s.one,a)`, "unknown"},
		{`eq(status,complete)`, "unknown"},
	} {
		e, err := rql.Parse(tt.filter, rql.Schema{})
		if err != nil {
			t.Fatal(tt.filter, err)
		}
		spans, ok := plan.Spans(7, e)
		var all []string
		for _, s := range spans {
			all = append(all, fmt.Sprintf("%q %g %g", s.Code, s.Low, s.High))
		}
		got := strings.Join(all, ", ")
		if !ok {
			got = "unknown"
		}
		if cmp.Or(got, "nothing") != tt.want {
			t.Errorf("Spans(%s) = %s, want %s", tt.filter, got, tt.want)
		}
	}
}
