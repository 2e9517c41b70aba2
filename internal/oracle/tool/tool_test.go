package tool_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func named(name string) tool.Func {
	return tool.Func{Describe: tool.Spec{Name: name}, Do: func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{}, nil }}
}

// shy is offered to one user only.
type shy struct{ tool.Func }

func (shy) Offered(ctx context.Context) bool { return tool.From(ctx).User == "did:key:a" }

func TestRegistry(t *testing.T) {
	t.Parallel()
	var r tool.Registry
	if err := r.Add(named("one"), shy{named("two")}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]tool.Tool{
		{named("one")},
		{named("x"), named("x")},
		{named("")},
		{named("a b")},
		{named(strings.Repeat("x", 65))},
		{tool.Func{Describe: tool.Spec{Name: "y", Schema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"number","minimum":"x"}}}`)}}},
		{tool.Func{Describe: tool.Spec{Name: "y", Schema: jsontext.Value(`[]`)}}},
	} {
		if err := r.Add(bad...); err == nil {
			t.Errorf("Add(%v) is accepted", bad[0].Spec())
		}
	}
	r.AddPerRun(func(ctx context.Context) []tool.Tool {
		return []tool.Tool{named("one"), named("two"), named("three"), named("no name"), named("three")}
	})
	names := func(user string) (out []string) {
		for _, one := range r.ForRun(tool.With(t.Context(), tool.Context{User: user})) {
			out = append(out, one.Spec().Name)
		}
		return out
	}
	if got := names("did:key:a"); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("tools of a = %v", got)
	}
	if got := names("did:key:b"); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("tools of b = %v: nobody may take the name of a tool that is not offered", got)
	}
	if err := r.AddEvents("weather.changed", "weather.changed", "x"); err != nil || !slices.Equal(r.Events(), []string{"weather.changed", "x"}) {
		t.Errorf("events = %v, %v", r.Events(), err)
	}
	if err := r.AddEvents("no spaces"); err == nil {
		t.Error("an event with a space is accepted")
	}
	called := false
	r.AddRoutes(func(*web.API) { called = true })
	if r.Routes(nil); !called {
		t.Error("routes are not entered")
	}
}

func TestTokenNeverShows(t *testing.T) {
	t.Parallel()
	const canary = "syt_secret"
	hidden := tool.NewToken(canary)
	c := tool.Context{User: "u", MatrixToken: hidden, Invocation: hidden}
	d := tool.Delegation{Token: hidden}
	within := struct { // fmt asks fields with small letters for no String
		c tool.Context
		d tool.Delegation
	}{c, d}
	raw, err := json.Marshal(struct{ T tool.Token }{hidden})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "client", c.MatrixToken)
	all := fmt.Sprintf("%v %+v %#v %s %q %s %s", c, c, c, c.MatrixToken, c.MatrixToken, raw, log.String())
	all += fmt.Sprintf("%v %+v %#v %v %+v %#v", within, within, within, d, d, d)
	if strings.Contains(all, canary) || c.MatrixToken.Reveal() != canary || (tool.Token{}).Reveal() != "" || tool.NewToken("") != (tool.Token{}) {
		t.Errorf("printed as %s", all)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	tool.From(t.Context()).Send("x", nil) // nobody listens: nothing happens
	if d, ok, err := tool.From(t.Context()).Delegated(t.Context()); ok || err != nil || d.Token.Reveal() != "" {
		t.Errorf("Delegated() without a turn = %v, %v, %v", d, ok, err)
	}
	var got string
	ctx := tool.With(t.Context(), tool.Context{SessionID: "s", Emit: func(event string, _ any) { got = event }})
	c := tool.From(ctx)
	c.Send("hello", 1)
	if got != "hello" || c.SessionID != "s" {
		t.Errorf("event %q of session %q", got, c.SessionID)
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{``, `{"type":"object","properties":{}}`},
		{`{}`, `{"type":"object","properties":{}}`},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `{"type":"object","properties":{}}`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{`{"type":["object","null"],"properties":{}}`, `{"properties":{},"type":"object"}`},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{`[1]`, `{"type":"object","properties":{}}`},
		{`{"a"`, `{"type":"object","properties":{}}`},
		{`{"a":`, `{"type":"object","properties":{}}`},
	} {
		got := tool.Spec{Schema: jsontext.Value(tt.in)}.Parameters()
		if string(got) != tt.want || !got.IsValid() {
			t.Errorf("Parameters of %s = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	c := tool.NewChecker()
	const schema = `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"did":{"type":"string","pattern":"^did:"},"n":{"type":"integer"},"at":{"$ref":"#/definitions/at"}},"required":["did"],"additionalProperties":false,"definitions":{"at":{"enum":["a","b"]}}}`
	deep := strings.Repeat(`{"properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40)
	for _, tt := range []struct{ name, schema, args, want string }{
		{"fits", schema, `{"did":"did:x","n":1,"at":"a"}`, ""},
		{"missing", schema, `{}`, "missing property 'did'"},
		{"wrong type", schema, `{"did":"did:x","n":"1"}`, "/n: got string, want integer"},
		{"pattern", schema, `{"did":"x"}`, "/did: 'x' does not match pattern"},
		{"reference", schema, `{"did":"did:x","at":"c"}`, "/at: value must be one of"},
		{"unknown member", schema, `{"did":"did:x","z":1}`, "additional properties 'z' not allowed"},
		{"no JSON", schema, `{"did"`, "not valid JSON"},
		{"no object", schema, `["did:x"]`, "must be a JSON object"},
		{"doubled name", schema, `{"did":"did:x","did":"did:y"}`, "not valid JSON"},
		{"no schema", ``, `{"anything":[1]}`, ""},
		{"schema without a type", `{"$schema":"x"}`, `{"anything":[1]}`, ""},
		{"recursive", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"a":1}`, ""},
		{"doubling", doubling(), `{"a":1}`, ""},
		{"too deep", deep, `{"a":1}`, ""},
		{"remote", `{"properties":{"a":{"$ref":"https://evil.example/x"}}}`, `{"a":1}`, ""},
		{"file", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"a":1}`, ""},
		{"nowhere", `{"properties":{"a":{"$ref":"#/definitions/x"}}}`, `{"a":1}`, ""},
		{"own id", `{"$id":"https://evil.example/","properties":{"a":{"type":"string"}}}`, `{"a":1}`, ""},
		{"lookahead", `{"properties":{"a":{"pattern":"(?=x)"}}}`, `{"a":"y"}`, ""},
		{"large pattern", `{"properties":{"a":{"pattern":"(a{900}){3}"}}}`, `{"a":"y"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := c.Check(tool.Spec{Schema: jsontext.Value(tt.schema)}, jsontext.Value(tt.args))
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Check = %q, want %q", got, tt.want)
			}
			if again := c.Check(tool.Spec{Schema: jsontext.Value(tt.schema)}, jsontext.Value(tt.args)); again != got {
				t.Errorf("again: %q", again)
			}
		})
	}
}

// doubling is a schema that doubles its work with each of 40 references.
func doubling() string {
	var b strings.Builder
	b.WriteString(`{"properties":{"a":{"$ref":"#/d/0"}},"d":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"%d":{"allOf":[{"$ref":"#/d/%d"},{"$ref":"#/d/%d"}]},`, i, i+1, i+1)
	}
	b.WriteString(`"40":{}}}`)
	return b.String()
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"b"}`)
	f.Add(doubling(), `{"a":{}}`)
	f.Add(`{"properties":{"a":{"$ref":"#"}}}`, `{}`)
	f.Add(`{"type":3,"patternProperties":{"(":{}}}`, `{"x":1e400}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		s := tool.Spec{Schema: jsontext.Value(schema)}
		if p := s.Parameters(); !p.IsValid() || p.Kind() != '{' {
			t.Errorf("Parameters = %s", p)
		}
		_ = tool.NewChecker().Check(s, jsontext.Value(args))
	})
}

func BenchmarkCheck(b *testing.B) {
	c := tool.NewChecker()
	s := tool.Spec{Schema: jsontext.Value(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["query"],"additionalProperties":false}`)}
	b.ReportAllocs()
	for b.Loop() {
		if got := c.Check(s, jsontext.Value(`{"query":"stoves","limit":10}`)); got != "" {
			b.Fatal(got)
		}
	}
}

// BenchmarkLargestSchema compiles the most that is accepted from a client.
func BenchmarkLargestSchema(b *testing.B) {
	var sb strings.Builder
	sb.WriteString(`{"properties":{`)
	for i := range 600 {
		fmt.Fprintf(&sb, `"p%d":{"type":"string"},`, i)
	}
	sb.WriteString(`"last":{"type":"string"}},"required":["last"]}`)
	s := tool.Spec{Schema: jsontext.Value(sb.String())}
	b.ReportAllocs()
	for b.Loop() {
		if got := tool.NewChecker().Check(s, jsontext.Value(`{}`)); got == "" {
			b.Fatal("the schema is beyond the limits")
		}
	}
}
