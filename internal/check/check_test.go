package check_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// codes are what a check notes.
func codes(fn func(c *fault.Checks)) string {
	var c fault.Checks
	fn(&c)
	var out []string
	if f := fault.As(c.Err("X", "X.")); f != nil {
		for _, field := range f.Fields {
			out = append(out, field.Pointer+" "+field.Code)
		}
	}
	return strings.Join(out, ", ")
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, line, optional, text2, plain, short string }{
		{"a", "", "", "", "", ""},
		{"", "/x required", "", "", "", ""},
		{" \t", "/x required", "/x not_one_line", "", "/x control_character", ""},
		{"a\nb", "/x not_one_line", "/x not_one_line", "", "/x control_character", ""},
		{"a\u0085b", "/x not_one_line", "/x not_one_line", "", "/x control_character", ""},
		{"a\x00b", "/x not_one_line", "/x not_one_line", "/x not_text", "/x control_character", ""},
		{"a\xff", "/x not_text", "/x not_text", "/x not_text", "", ""},
		{"€€€€€", "", "", "", "", ""},
		{"€€€€€€", "/x too_long", "/x too_long", "/x too_long", "/x too_long", "/x too_long"},
	} {
		if got := codes(func(c *fault.Checks) { check.Plain(c, "/x", tt.text, 5) }); got != tt.plain {
			t.Errorf("Plain(%q) notes %q, want %q", tt.text, got, tt.plain)
		}
		if got := codes(func(c *fault.Checks) { check.Short(c, "/x", tt.text, 5) }); got != tt.short {
			t.Errorf("Short(%q) notes %q, want %q", tt.text, got, tt.short)
		}
		if got := codes(func(c *fault.Checks) { check.Line(c, "/x", tt.text, 5) }); got != tt.line {
			t.Errorf("Line(%q) notes %q, want %q", tt.text, got, tt.line)
		}
		if got := codes(func(c *fault.Checks) { check.Optional(c, "/x", tt.text, 5) }); got != tt.optional {
			t.Errorf("Optional(%q) notes %q, want %q", tt.text, got, tt.optional)
		}
		if got := codes(func(c *fault.Checks) { check.Text(c, "/x", tt.text, 5) }); got != tt.text2 {
			t.Errorf("Text(%q) notes %q, want %q", tt.text, got, tt.text2)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		needed bool
		want   string
	}{
		{"", false, ""},
		{" ", false, ""},
		{"", true, "/x required"},
		{" ", true, "/x required"},
		{"a\nb", true, "/x control_character"},
		{strings.Repeat("é", 1000), true, ""},
		{strings.Repeat("é", 1001), false, "/x too_long"},
	} {
		if got := codes(func(c *fault.Checks) { check.Reason(c, "/x", tt.text, tt.needed) }); got != tt.want {
			t.Errorf("Reason(%.20q, %v) notes %q, want %q", tt.text, tt.needed, got, tt.want)
		}
	}
}

func TestOneOf(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"": "", "a": "", "b": "", "c": "/x not_allowed", "A": "/x not_allowed"} {
		if got := codes(func(c *fault.Checks) { check.OneOf(c, "/x", value, "a", "b") }); got != want {
			t.Errorf("OneOf(%q) notes %q, want %q", value, got, want)
		}
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	wrong := func(s string) string {
		if s == "bad" {
			return "The value is bad."
		}
		return ""
	}
	for list, want := range map[string]string{
		"a": "", "a bad bad": "/x/1 invalid, /x/2 invalid", "a a a": "", "bad a a a": "/x too_many",
	} {
		if got := codes(func(c *fault.Checks) { check.Each(c, "/x", strings.Fields(list), 3, wrong) }); got != want {
			t.Errorf("Each(%s) notes %q, want %q", list, got, want)
		}
	}
}

func TestYears(t *testing.T) {
	t.Parallel()
	for year, want := range map[int]string{1969: "/x out_of_range", 1970: "", 2199: "", 2200: "/x out_of_range"} {
		at := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		if got := codes(func(c *fault.Checks) { check.Years(c, "/x", at, 1970, 2199) }); got != want {
			t.Errorf("Years(%d) notes %q, want %q", year, got, want)
		}
	}
	if got := codes(func(c *fault.Checks) { check.Years(c, "/x", time.Time{}, 1970, 2199) }); got != "" {
		t.Errorf("Years of no time notes %q, want nothing", got)
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"": "", "a b": "a b", "a/b": "a~1b", "~1": "~01", "é~/": "é~0~1"} {
		if got := check.Escape(name); got != want {
			t.Errorf("Escape(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		from, to time.Time
		want     string
	}{
		{time.Time{}, time.Time{}, ""}, {now, time.Time{}, ""}, {time.Time{}, now, ""}, {now, now, ""}, {now, now.Add(1), ""}, {now.Add(1), now, "/x out_of_range"},
	} {
		if got := codes(func(c *fault.Checks) { check.Span(c, "/x", tt.from, tt.to) }); got != tt.want {
			t.Errorf("Span(%v, %v) notes %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + `"{[{["` + strings.Repeat(`}`, n) }
	for text, want := range map[string]string{
		``: "", `{}`: "", `{"a":[1,"\\u0000"]}`: "", `[]`: "/x wrong_type", `null`: "/x wrong_type", `"a"`: "/x wrong_type", `{"a":1,"a":2}`: "/x invalid", `{`: "/x invalid",
		`{"a":"\u0000"}`: "/x not_text", `{"a":"\\\u0000"}`: "/x not_text", `{"a\u0000":1}`: "/x not_text", "{\"a\":\"\xff\"}": "/x invalid",
		deep(60): "", deep(61): "/x too_deep", `{"a":"` + strings.Repeat("x", 2048) + `"}`: "/x too_large",
	} {
		if got := codes(func(c *fault.Checks) { check.Object(c, "/x", jsontext.Value(text), 2048) }); got != want {
			t.Errorf("Object(%.40s) notes %q, want %q", text, got, want)
		}
	}
}

// What Object accepts, a strict reader accepts too, and it holds no NUL.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"\u0000"}`, `{"a":"\\u0000"}`, `{"a":{"b":[1,2,{"c":null}]}}`, `{"a":1,"a":2}`, `{"\ud800":1}`, `{"a":"\\\\u0000"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || codes(func(c *fault.Checks) { check.Object(c, "/x", jsontext.Value(text), 1<<20) }) != "" {
			return
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%q was accepted: %v", text, err)
		}
		if out, err := json.Marshal(v); err != nil || strings.Contains(strings.ReplaceAll(string(out), `\\`, ""), `\u0000`) {
			t.Fatalf("%q holds a NUL, or cannot be written again: %v", text, err)
		}
	})
}

func TestIsFragment(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"#data": true, "#a-b.c_d~e9": true, "#": false, "data": false, "": false, "##a": false, "#a b": false, "#é": false, "#a/b": false,
		"#" + strings.Repeat("a", 100): true, "#" + strings.Repeat("a", 101): false,
	} {
		if got := check.IsFragment(s); got != want {
			t.Errorf("IsFragment(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestDID(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"did:ixo:org/1": "", "did:key:z6Mk": "", "x": "/x not_a_did", "did:ixo:": "/x not_a_did",
		"did:ixo:" + strings.Repeat("x", 504): "", "did:ixo:" + strings.Repeat("x", 505): "/x too_long",
	} {
		if got := codes(func(c *fault.Checks) { check.DID(c, "/x", s) }); got != want {
			t.Errorf("DID(%q) notes %q, want %q", s, got, want)
		}
	}
}

func TestIsRole(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"operator": true, "partOf": true, "near-by_2": true, "": false, "Near": false, "2nd": false, "near x": false, "né": false, "-a": false} {
		if got := check.IsRole(s); got != want {
			t.Errorf("IsRole(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	internal := errors.New("the store is gone")
	a := fault.New(fault.Invalid, "A", "A.").With(fault.Field{Pointer: "/a", Code: "x"})
	b := fault.New(fault.Conflict, "B", "B.").With(fault.Field{Pointer: "/a/0", Code: "y"}, fault.Field{Pointer: "/b", Code: "z"})
	for _, tt := range []struct {
		name           string
		first, further error
		want           error
	}{
		{"nothing", nil, nil, nil},
		{"one", a, nil, a},
		{"the other", nil, b, b},
		{"internal first", internal, a, internal},
		{"internal last", a, internal, internal},
	} {
		if got := check.Together(tt.first, tt.further); got != tt.want { //nolint:errorlint // the very one
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	got := fault.As(check.Together(a, b))
	if got.Code != "A" || got.Kind != fault.Invalid || len(got.Fields) != 2 || got.Fields[1].Pointer != "/b" || len(a.Fields) != 1 {
		t.Errorf("Together() = %+v, want A with /a and /b", got)
	}
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	const stored = `{"type":"a","status":"active","n":1.0,"o":{"a":1,"b":2}}`
	free := func(name string) bool { return name == "type" }
	known := func(name string) bool { return name == "project" }
	for _, tt := range []struct {
		changed string
		partly  bool
		want    string
	}{
		{stored, false, ""},
		{`{"type":"b","status":"active","n":1,"o":{"b":2,"a":1}}`, false, ""},
		{`{"status":"\u0061ctive","n":1e0,"o":{"b":2,"a":1}}`, false, ""},
		{`{"type":"b"}`, true, ""},
		{`{"type":"b"}`, false, "/n read_only, /o read_only, /status read_only"},
		{`{"type":"a","status":"draft","n":2,"o":{"a":1}}`, false, "/n read_only, /o read_only, /status read_only"},
		{`{"status":null,"project":"x","x/y~":1}`, true, "/project read_only, /status read_only, /x~1y~0 unknown"},
	} {
		err := check.Unchanged(check.Edited{Stored: []byte(stored), Changed: []byte(tt.changed), Free: free, Known: known, Partly: tt.partly})
		got, code := "", ""
		if f := fault.As(err); f != nil {
			code = "READ_ONLY_MEMBER"
			for i, d := range f.Fields {
				got += strings.Repeat(", ", min(i, 1)) + d.Pointer + " " + d.Code
			}
		}
		if strings.Contains(tt.want, "unknown") {
			code = "UNKNOWN_MEMBER"
		}
		if fault.CodeOf(err) != code {
			t.Errorf("Unchanged(%s) = %v, want %q", tt.changed, err, code)
		}
		if got != tt.want {
			t.Errorf("Unchanged(%s) notes %q, want %q", tt.changed, got, tt.want)
		}
	}
	if err := check.Unchanged(check.Edited{Stored: []byte(stored), Changed: []byte(`[]`), Free: free}); err == nil {
		t.Error("an array was accepted")
	}
}
