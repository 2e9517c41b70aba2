package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ doc, patch, want string }{
		// RFC 7396, appendix A.
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// RFC 7396, section 3.
		{
			`{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}`,
			`{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}`,
			`{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}`,
		},
		// Ours: numbers keep their text, nulls inside arrays stay, order stays.
		{`{"n":1.10,"big":12345678901234567890}`, `{"m":2.50}`, `{"n":1.10,"big":12345678901234567890,"m":2.50}`},
		{`{"a":1}`, `{"a":[null,{"b":null}]}`, `{"a":[null,{"b":null}]}`},
		{`{"z":1,"a":2}`, `{"a":3,"z":{"y":1}}`, `{"z":{"y":1},"a":3}`},
		{`{"a~/b":1}`, `{"a~\/b":2,"é":"\u00e9"}`, `{"a~/b":2,"é":"é"}`},
		{`{}`, `{}`, `{}`},
	} {
		got, err := web.MergePatch([]byte(tt.doc), []byte(tt.patch))
		if err != nil || string(got) != tt.want {
			t.Errorf("MergePatch(%s, %s) = %s, %v, want %s", tt.doc, tt.patch, got, err, tt.want)
		}
	}
}

func TestMergePatchRefuses(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
	for _, tt := range []struct{ name, patch, code string }{
		{"64 levels", deep(64), ""},
		{"65 levels", deep(65), "JSON_TOO_DEEP"},
		{"65 arrays", `{"a":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, "JSON_TOO_DEEP"},
		{"endless", strings.Repeat(`{"a":`, 1_000_000), "JSON_TOO_DEEP"},
		{"duplicate", `{"a":1,"a":2}`, "DUPLICATE_MEMBER"},
		{"duplicate inside an array", `{"x":[{"a":1,"a":2}]}`, "DUPLICATE_MEMBER"},
		{"trailing", `{"a":1} {}`, "TRAILING_DATA"},
		{"trailing garbage", `{"a":1}]`, "TRAILING_DATA"},
		{"not UTF-8", "{\"a\":\"\xff\"}", "INVALID_UTF8"},
		{"NUL", `{"a":"\u0000"}`, "NUL_CHARACTER"},
		{"cut", `{"a":`, "MALFORMED_JSON"},
		{"empty", ``, "BODY_REQUIRED"},
		{"comment", `{/**/}`, "MALFORMED_JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := web.MergePatch([]byte(`{}`), []byte(tt.patch))
			if got := fault.CodeOf(err); got != tt.code || err != nil && got == "" {
				t.Errorf("MergePatch = %v, want code %q", err, tt.code)
			}
		})
	}
}

func TestMergePatchBrokenDocument(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{``, `{`, `{"a":1,"a":2}`, strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		if _, err := web.MergePatch([]byte(doc), []byte(`{"a":1}`)); err == nil || fault.As(err) != nil {
			t.Errorf("MergePatch of document %.20q = %v, want an internal error", doc, err)
		}
	}
}

// TestMergePatchWide holds because members are found by a map: with a scan
// this takes minutes.
func TestMergePatchWide(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 60_000 {
		_, _ = fmt.Fprintf(&b, `,"member%d":%d`, i, i)
	}
	wide := `{` + b.String()[1:] + `}`
	got, err := web.MergePatch([]byte(wide), []byte(wide))
	if err != nil || string(got) != wide {
		t.Errorf("MergePatch of a wide object with itself: %d bytes, %v, want the %d it had", len(got), err, len(wide))
	}
}

// FuzzMergePatch compares with the algorithm of the RFC on plain maps.
func FuzzMergePatch(f *testing.F) {
	for _, s := range [][2]string{{`{"a":{"b":1}}`, `{"a":{"b":null}}`}, {`[1]`, `{"a":[null]}`}, {`1`, `null`}, {`{"a":1,"b":{}}`, `{"b":{"a":null,"c":{"d":null}}}`}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, doc, patch string) {
		got, err := web.MergePatch([]byte(doc), []byte(patch))
		if err != nil {
			return
		}
		d, p, g := plainJSON(t, doc), plainJSON(t, patch), plainJSON(t, string(got))
		if diff := cmp.Diff(plainMerge(d, p), g); diff != "" {
			t.Fatalf("MergePatch(%q, %q), -want +got:\n%s", doc, patch, diff)
		}
	})
}

func plainJSON(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("MergePatch took or made %q: %v", text, err)
	}
	return v
}

func plainMerge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(t, name)
		} else {
			t[name] = plainMerge(t[name], value)
		}
	}
	return t
}
