package form_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

func part(shown, hidden string) form.Partial {
	return form.Partial{Shown: jsontext.Value(shown), Hidden: jsontext.Value(hidden)}
}

// refused is the list a fault is about, or the error.
func refused(err error) string {
	if f := fault.As(err); f != nil && f.Code == "ENTRIES_WITHHELD" && len(f.Fields) == 1 {
		return f.Fields[0].Pointer
	}
	return err.Error()
}

func TestFilled(t *testing.T) {
	t.Parallel()
	const shown, hidden = `{"a":{"p":[{"g":1,"q":[{"h":1}]},{}]}}`, `{"a":{"p":[{"n":"k","q":[{"m":"x"}]},{}]}}`
	for _, tt := range []struct{ name, shown, hidden, sent, want string }{
		{"a member that is not sent", ``, `{"a":{"x":1}}`, `{"a":{"y":2}}`, `{"a":{"x":1,"y":2}}`},
		{"what was sent holds", ``, `{"a":{"x":1}}`, `{"a":{"x":2.50}}`, `{"a":{"x":2.50}}`},
		{"null was sent", ``, `{"a":{"x":1}}`, `{"a":{"x":null}}`, `{"a":{"x":null}}`},
		{"a section that is not sent", ``, `{"a":{"x":1}}`, `{"b":{}}`, `{"a":{"x":1},"b":{}}`},
		{"entries by their place", shown, hidden, `{"a":{"p":[{"g":2},{"g":3}]}}`, `{"a":{"p":[{"g":2,"n":"k","q":[{"m":"x"}]},{"g":3}]}}`},
		{"entries inside", shown, hidden, `{"a":{"p":[{"q":[{"h":2}]},{}]}}`, `{"a":{"p":[{"n":"k","q":[{"h":2,"m":"x"}]},{}]}}`},
		{"a list that is not sent", shown, hidden, `{"a":{}}`, hidden},
		{"a shorter list", shown, hidden, `{"a":{"p":[{"g":1}]}}`, "/responses/a/p"},
		{"a longer list", shown, hidden, `{"a":{"p":[{},{},{}]}}`, "/responses/a/p"},
		{"a shorter list inside", shown, hidden, `{"a":{"p":[{"q":[]},{}]}}`, "/responses/a/p/0/q"},
		{"an entry that goes", shown, hidden, `{"a":{"p":[null,{}]}}`, "/responses/a/p/0/q"},
		{"a list that goes", shown, hidden, `{"a":{"p":null}}`, "/responses/a/p"},
		{"a section that goes", shown, hidden, `{"a":null}`, "/responses/a/p"},
		{"nothing is hidden in the list", `{"p":[{"g":1},{}]}`, `{"p":[{},{}]}`, `{"p":[{"g":1}]}`, `{"p":[{"g":1}]}`},
		{"all of the list is hidden", `{}`, `{"p":[{"n":"k","g":1}]}`, `{"p":[{"n":"l"}]}`, `{"p":[{"n":"l"}]}`},
		{"several choices that are hidden", `{}`, `{"p":["x","y"]}`, `{"p":["z"]}`, `{"p":["z"]}`},
		{"something else", ``, `{"p":[{"n":"k"}]}`, `{"p":"x"}`, `{"p":"x"}`},
		{"no object", ``, `{"p":1}`, `[]`, `[]`},
		{"nothing hidden", `{"p":1}`, ``, `{"p":1}`, `{"p":1}`},
		{"nothing sent", shown, hidden, ``, ``},
	} {
		got, err := part(tt.shown, tt.hidden).Filled(jsontext.Value(tt.sent))
		if err != nil {
			got = jsontext.Value(refused(err))
		}
		if string(got) != tt.want {
			t.Errorf("%s: Filled() = %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

// TestFilledRemoved: what a merge patch has taken out is not put back.
func TestFilledRemoved(t *testing.T) {
	t.Parallel()
	p := part(`{"a":{"p":[{"g":1}]}}`, `{"a":{"p":[{"n":"k"}],"x":1},"b":{"y":2}}`)
	p.Removed = true
	for _, tt := range []struct{ sent, want string }{
		{`{"a":{"p":[{"g":2}]}}`, `{"a":{"p":[{"g":2,"n":"k"}]}}`},
		{`{"a":{"x":1}}`, "/responses/a/p"},
		{`{"b":{}}`, "/responses/a/p"},
	} {
		got, err := p.Filled(jsontext.Value(tt.sent))
		if err != nil {
			got = jsontext.Value(refused(err))
		}
		if string(got) != tt.want {
			t.Errorf("Filled(%s) = %s, %v, want %s", tt.sent, got, err, tt.want)
		}
	}
}

func TestMayApply(t *testing.T) {
	t.Parallel()
	p := part(`{"a":{"p":[{"g":1,"q":[{}]},{}],"o":[{}]}}`, `{"a":{"p":[{"n":"k","q":[{"m":"x"}]},{}]}}`)
	for _, tt := range []struct{ op, want string }{
		{`{"op":"add","path":"/responses/a/p/-"}`, "/responses/a/p"},
		{`{"op":"remove","path":"/responses/a/p/0"}`, "/responses/a/p"},
		{`{"op":"copy","from":"/responses/a/o/0","path":"/responses/a/p/0"}`, "/responses/a/p"},
		{`{"op":"move","from":"/responses/a/p/0","path":"/responses/a/o/0"}`, "/responses/a/p"},
		{`{"op":"remove","path":"/responses/a/p/0/q/0"}`, "/responses/a/p/0/q"},
		{`{"op":"copy","from":"/responses/a/p/0","path":"/responses/a/o/0"}`, ""},
		{`{"op":"replace","path":"/responses/a/p/0"}`, ""},
		{`{"op":"test","path":"/responses/a/p/0"}`, ""},
		{`{"op":"add","path":"/responses/a/p/0/g"}`, ""},
		{`{"op":"add","path":"/responses/a/o/-"}`, ""},
		{`{"op":"add","path":"/responses/a/p"}`, ""},
		{`{"op":"add","path":""}`, ""},
	} {
		got := ""
		if err := p.MayApply([]byte("[" + tt.op + "]")); err != nil {
			got = refused(err)
		}
		if got != tt.want {
			t.Errorf("MayApply(%s) refuses %q, want %q", tt.op, got, tt.want)
		}
	}
}
