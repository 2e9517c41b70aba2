package web_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type embedded struct {
	Owner string `json:"owner"`
	Type  int    `json:"shadowed"`
}

// part has a word of its own in JSON.
type part struct{ jsontext.Value }

// order is a body with every shape a body has.
type order struct {
	embedded
	Type    string            `json:"type"`
	Size    int               `json:"size"`
	When    time.Time         `json:"when,omitzero"`
	Names   map[string]string `json:"names,omitzero"`
	Lines   []line            `json:"lines,omitzero"`
	More    *line             `json:"more,omitzero"`
	Free    part              `json:"free,omitzero"`
	Any     any               `json:"any,omitzero"`
	Secret  string            `json:"-"`
	Literal []byte            `json:"literal,omitzero"`
}

type line struct {
	Count int  `json:"count"`
	Done  bool `json:"done"`
}

// Validate asks for a type, lines and a small size.
func (o order) Validate() error {
	var c fault.Checks
	c.Require(o.Type != "", "/type")
	c.Require(len(o.Lines) > 0, "/lines")
	if o.Size > 10 {
		c.Add("/size", "out_of_range", "The size is 0 to 10.")
	}
	for i, l := range o.Lines {
		if l.Count < 0 {
			c.Add(fmt.Sprintf("/lines/%d/count", i), "out_of_range", "The count is 0 or more.")
		}
	}
	return c.Err("ORDER_INVALID", "The order is not valid.")
}

func fieldsOf(err error) []string {
	var out []string
	if f := fault.As(err); f != nil {
		for _, f := range f.Fields {
			out = append(out, f.Pointer+" "+f.Code)
		}
	}
	return out
}

// Every wrong member of a body is named at once, with the rules the rest breaks.
func TestDecodeNamesEverything(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, code string
		lenient          bool
		want             []string
	}{
		{
			name: "two unknown and two of the wrong type", code: "UNKNOWN_MEMBER",
			body: `{"colour":1,"type":7,"size":"x","lines":[{}],"shape":{"a":[1,2]}}`,
			want: []string{"/colour unknown", "/type wrong_type", "/size wrong_type", "/shape unknown"},
		},
		{
			name: "inside", code: "WRONG_TYPE",
			body: `{"type":"a","lines":[{"count":1.5,"x/y~z":0},7,{"done":"yes","Count":2}],"names":{"a":1,"b~/":[],"c":"d"},"more":{"count":[],"far":1}}`,
			want: []string{
				"/lines/0/count wrong_type", "/lines/0/x~1y~0z unknown", "/lines/1 wrong_type", "/lines/2/done wrong_type",
				"/lines/2/Count unknown", "/names/a wrong_type", "/names/b~0~1 wrong_type", "/more/count wrong_type", "/more/far unknown",
			},
		},
		{
			name: "with the rules", code: "UNKNOWN_MEMBER", body: `{"x":1,"size":11,"lines":[{"count":-1},{"count":"a"}],"when":"soon"}`,
			want: []string{
				"/x unknown", "/lines/1/count wrong_type", "/when wrong_type", "/type required", "/size out_of_range", "/lines/0/count out_of_range",
			},
		},
		{
			name: "a rule about what is wrong anyway is not said", code: "WRONG_TYPE", body: `{"type":1,"lines":"x","owner":2,"shadowed":"x"}`,
			want: []string{"/type wrong_type", "/lines wrong_type", "/owner wrong_type", "/shadowed wrong_type"},
		},
		{
			name: "nulls, words of their own, bytes", code: "WRONG_TYPE",
			body: `{"type":"a","lines":[null,{}],"more":null,"free":{"a":[1,{}]},"any":{"b":1},"literal":"%%","names":null,"secret":"s","Secret":"s"}`,
			want: []string{"/literal wrong_type", "/secret unknown", "/Secret unknown"},
		},
		{name: "not an object", code: "WRONG_TYPE", body: `["x"]`, want: []string{" wrong_type"}},
		{name: "broken further on", code: "UNKNOWN_MEMBER", body: `{"x":1,"size":"a","y":`, want: []string{"/x unknown"}},
		{name: "twice further on", code: "UNKNOWN_MEMBER", body: `{"x":1,"size":1,"size":2}`, want: []string{"/x unknown"}},
		{
			name: "lenient", lenient: true, code: "WRONG_TYPE", body: `{"type":1,"colour":1,"SIZE":3,"lines":[{"count":"x","new":1}],"Owner":"x"}`,
			want: []string{"/type wrong_type", "/SIZE unknown", "/lines/0/count wrong_type", "/Owner unknown"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var o order
			err := web.DecodeStrict([]byte(tt.body), &o, tt.lenient)
			if got := fault.CodeOf(err); got != tt.code {
				t.Errorf("code = %q, want %q", got, tt.code)
			}
			if got := fieldsOf(err); !slices.Equal(got, tt.want) {
				t.Errorf("fields = %q, want %q", got, tt.want)
			}
		})
	}
}

// A long list of wrong members is named as far as anybody reads.
func TestDecodeNamesNoMoreThanFifty(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"type":"a"`)
	for i := range 10_000 {
		fmt.Fprintf(&b, `,"x%d":%d`, i, i)
	}
	b.WriteString(`,"lines":[` + strings.Repeat(`{"count":"x"},`, 1000) + `{}]}`)
	var o order
	got := fieldsOf(web.DecodeStrict([]byte(b.String()), &o, false))
	if len(got) != 50 || got[49] != "/x49 unknown" {
		t.Errorf("%d fields, the last %q, want 50 and /x49 unknown", len(got), got[len(got)-1])
	}
}

// Naming the last member of a long body costs about what decoding it does.
func BenchmarkDecodeNames(b *testing.B) {
	body := []byte(`{"lines":[` + strings.Repeat(`{"count":1},`, 80_000) + `{"count":"x"}]}`)
	for b.Loop() {
		var o order
		if got := fieldsOf(web.DecodeStrict(body, &o, false)); len(got) != 2 {
			b.Fatal(got)
		}
	}
}

// What is named is what the decoder refuses: without it the body is taken.
func FuzzDecodeNames(f *testing.F) {
	f.Add([]byte(`{"colour":1,"type":7,"lines":[{"x":1}],"names":{"a":1},"more":3}`))
	f.Add([]byte(`{"any":{"b":1},"literal":"%%","when":"x","free":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var o order
		err := web.DecodeStrict(body, &o, false)
		code := fault.CodeOf(err)
		if code != "UNKNOWN_MEMBER" && code != "WRONG_TYPE" {
			return
		}
		got := fault.As(err).Fields
		if len(got) == 0 || len(got) > 50 {
			t.Fatalf("%d fields for %q", len(got), body)
		}
		if !bytes.Contains(body, []byte("{")) && len(got) != 1 {
			t.Errorf("%q: %+v, want one field", body, got)
		}
	})
}

// choosy reads its own JSON and says what it wants.
type choosy struct{}

func (choosy) UnmarshalJSON([]byte) error { return choosyError{} }

type choosyError struct{}

func (choosyError) Error() string  { return "not this" }
func (choosyError) Wanted() string { return "a string or an object" }

// A type that reads its own JSON has the last word about what it takes.
func TestOwnWords(t *testing.T) {
	t.Parallel()
	var b struct {
		List []choosy `json:"list"`
		N    int      `json:"n"`
	}
	err := web.DecodeStrict([]byte(`{"list":[1],"n":""}`), &b, false)
	f := fault.As(err)
	if f == nil || len(f.Fields) != 2 || f.Fields[0].Pointer != "/list/0" || f.Fields[0].Detail != "The value must be a string or an object." {
		t.Errorf("DecodeStrict() = %+v, want what the type says", err)
	}
}

// An optional text with minLength is not "" when it is given; others may be.
func TestEmptyMembers(t *testing.T) {
	t.Parallel()
	type part struct {
		Name string `json:"name,omitzero" minLength:"1"`
	}
	type body struct {
		ID    string          `json:"id,omitzero" minLength:"1"`
		Note  string          `json:"note,omitzero"`
		Title string          `json:"title" minLength:"1"` // required: its own rules say so
		Parts []part          `json:"parts,omitzero"`
		ByKey map[string]part `json:"byKey,omitzero"`
	}
	for _, tt := range []struct{ in, want string }{
		{`{"id":"x","note":"","title":""}`, ""},
		{`{"note":""}`, ""},
		{`{"id":null,"note":""}`, ""},
		{`{"id":""}`, "EMPTY_MEMBER: /id empty"},
		{`{"id":"","parts":[{"name":"a"},{"name":""}],"byKey":{"":{"name":""}}}`, "EMPTY_MEMBER: /id empty, /parts/1/name empty, /byKey//name empty"},
		{`{"id":"","other":1}`, "UNKNOWN_MEMBER: /id empty, /other unknown"},
		{`{"id":"","note":1}`, "WRONG_TYPE: /id empty, /note wrong_type"},
	} {
		for _, lenient := range []bool{false, true} {
			var b body
			err := web.DecodeStrict([]byte(tt.in), &b, lenient)
			got := strings.TrimSuffix(fault.CodeOf(err)+": "+strings.Join(fieldsOf(err), ", "), ": ")
			want := tt.want
			if lenient && strings.HasPrefix(want, "UNKNOWN") {
				want = "EMPTY_MEMBER: /id empty"
			}
			if got != want {
				t.Errorf("%s, lenient %v = %q, want %q", tt.in, lenient, got, want)
			}
			if err == nil && strings.Contains(tt.in, "x") && b.ID != "x" {
				t.Errorf("%s = %+v", tt.in, b)
			}
		}
	}
}
