package web_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type draft struct {
	Type  string          `json:"type"`
	Size  int             `json:"size"`
	Ratio float64         `json:"ratio"`
	Tags  []string        `json:"tags"`
	Inner struct{ A int } `json:"inner"`
}

func TestDecodeStrict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body    string
		lenient       bool
		code, pointer string
	}{
		{name: "good", body: `{"type":"device","size":3}`},
		{name: "empty object", body: `{}`},
		{name: "white space around", body: " \n{}\t"},
		{name: "depth 64", body: `{"tags":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, code: "WRONG_TYPE", pointer: "/tags/0"},
		{name: "depth 65", body: strings.Repeat("[", 65) + strings.Repeat("]", 65), code: "JSON_TOO_DEEP"},
		{name: "100,000 brackets", body: strings.Repeat("[", 100_000), code: "JSON_TOO_DEEP"},
		{name: "brackets in a string", body: `{"type":"` + strings.Repeat("[", 100) + `"}`},
		{name: "nothing", body: "", code: "BODY_REQUIRED"},
		{name: "only spaces", body: "  \n", code: "BODY_REQUIRED"},
		{name: "cut", body: `{"type":"x"`, code: "MALFORMED_JSON"},
		{name: "trailing comma", body: `{"type":"x",}`, code: "MALFORMED_JSON"},
		{name: "single quotes", body: `{'type':'x'}`, code: "MALFORMED_JSON"},
		{name: "comment", body: `{"type":"x"/**/}`, code: "MALFORMED_JSON"},
		{name: "NaN", body: `{"size":NaN}`, code: "MALFORMED_JSON"},
		{name: "leading zero", body: `{"size":01}`, code: "MALFORMED_JSON"},
		{name: "byte order mark", body: "\ufeff{}", code: "MALFORMED_JSON"},
		{name: "two documents", body: `{} {}`, code: "TRAILING_DATA"},
		{name: "letters after the end", body: `{}x`, code: "TRAILING_DATA"},
		{name: "duplicate", body: `{"type":"a","type":"b"}`, code: "DUPLICATE_MEMBER", pointer: "/type"},
		{name: "duplicate by escape", body: `{"type":"a","\u0074ype":"b"}`, code: "DUPLICATE_MEMBER", pointer: "/type"},
		{name: "wrong case", body: `{"Type":"a"}`, code: "UNKNOWN_MEMBER", pointer: "/Type"},
		{name: "unknown", body: `{"colour":1}`, code: "UNKNOWN_MEMBER", pointer: "/colour"},
		{name: "unknown inside", body: `{"inner":{"B":1}}`, code: "UNKNOWN_MEMBER", pointer: "/inner/B"},
		{name: "bad UTF-8", body: "{\"type\":\"a\xff\"}", code: "INVALID_UTF8", pointer: "/type"},
		{name: "bad UTF-8 inside", body: "{\"tags\":[\"a\",\"\xff\"]}", code: "INVALID_UTF8", pointer: "/tags/1"},
		{name: "bad UTF-8 in a name", body: "{\"inner\":{\"a\xff\":1}}", code: "INVALID_UTF8", pointer: "/inner"},
		{name: "bad UTF-8 after broken JSON", body: "{x:\"\xff\"}", code: "INVALID_UTF8"},
		{name: "lone surrogate", body: `{"type":"\ud800"}`, code: "MALFORMED_JSON"},
		{name: "NUL", body: `{"type":"a\u0000b"}`, code: "NUL_CHARACTER", pointer: "/type"},
		{name: "NUL inside", body: `{"tags":["a","\u0000"]}`, code: "NUL_CHARACTER", pointer: "/tags/1"},
		{name: "NUL in a name", body: `{"inner":{"a\u0000":1}}`, code: "NUL_CHARACTER", pointer: "/inner"},
		{name: "NUL after broken JSON", body: `{x:"\u0000"}`, code: "NUL_CHARACTER"},
		{name: "backslash before u0000", body: `{"type":"a\\u0000b"}`},
		{name: "string for a number", body: `{"size":"3"}`, code: "WRONG_TYPE", pointer: "/size"},
		{name: "fraction for a whole number", body: `{"size":3.5}`, code: "WRONG_TYPE", pointer: "/size"},
		{name: "number out of range", body: `{"size":1e400}`, code: "WRONG_TYPE", pointer: "/size"},
		{name: "huge float", body: `{"ratio":1e400}`, code: "WRONG_TYPE", pointer: "/ratio"},
		{name: "array for the object", body: `[]`, code: "WRONG_TYPE"},
		{name: "lenient, unknown", body: `{"type":"x","colour":1}`, lenient: true},
		{name: "lenient, wrong case", body: `{"TYPE":"x"}`, lenient: true, code: "UNKNOWN_MEMBER", pointer: "/TYPE"},
		{name: "lenient, duplicate", body: `{"a":1,"a":2}`, lenient: true, code: "DUPLICATE_MEMBER", pointer: "/a"},
		{name: "lenient, wrong case beside an unknown", body: `{"colour":1,"TYPE":"x"}`, lenient: true, code: "UNKNOWN_MEMBER", pointer: "/TYPE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var d draft
			err := web.DecodeStrict([]byte(tt.body), &d, tt.lenient)
			if got := fault.CodeOf(err); got != tt.code {
				t.Fatalf("code = %q (%v), want %q", got, err, tt.code)
			}
			if tt.pointer != "" && (len(fault.As(err).Fields) != 1 || fault.As(err).Fields[0].Pointer != tt.pointer) {
				t.Errorf("fields = %+v, want %q", fault.As(err).Fields, tt.pointer)
			}
			if err != nil && fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind = %v, want Invalid", fault.KindOf(err))
			}
		})
	}
}

func FuzzDecodeStrict(f *testing.F) {
	f.Add([]byte(`{"type":"device","size":3,"tags":["a"]}`), false)
	f.Add([]byte(`{"Type":"\ud800"}`), true)
	f.Fuzz(func(t *testing.T, body []byte, lenient bool) {
		var d draft
		if err := web.DecodeStrict(body, &d, lenient); err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v is not an Invalid fault", body, err)
		}
	})
}
