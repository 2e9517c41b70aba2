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

func TestJSONPatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, doc, patch, want string }{
		// The cases of RFC 6902, appendix A, in its order.
		{"A.1 add a member", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"foo":"bar","baz":"qux"}`},
		{"A.2 add an element", `{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{"A.3 remove a member", `{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{"A.4 remove an element", `{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{"A.5 replace", `{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{
			"A.6 move a value", `{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`,
			`[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`, `{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`,
		},
		{"A.7 move an element", `{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{"A.8 test that holds", `{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{"A.10 add an object", `{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"foo":"bar","child":{"grandchild":{}}}`},
		{"A.11 members nobody knows", `{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"foo":"bar","baz":"qux"}`},
		{"A.14 escapes", `{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{"A.16 append", `{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
		// Ours.
		{"nothing", `{"a":1}`, `[]`, `{"a":1}`},
		{"copy", `{"a":{"b":[1]}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/b/0","value":0}]`, `{"a":{"b":[1]},"c":{"b":[0,1]}}`},
		{"copy what was changed", `{"a":{"b":1,"c":2}}`, `[{"op":"remove","path":"/a/b"},{"op":"copy","from":"/a","path":"/a/d"}]`, `{"a":{"c":2,"d":{"c":2}}}`},
		{"the whole document", `{"a":1}`, `[{"op":"replace","path":"","value":{"b":2}},{"op":"copy","from":"","path":"/c"}]`, `{"b":2,"c":{"b":2}}`},
		{"add over the root", `{"a":1}`, `[{"op":"add","path":"","value":7}]`, `7`},
		{"move onto itself", `{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/a"},{"op":"move","from":"","path":""}]`, `{"b":2,"a":1}`},
		{"set a member that was removed", `{"a":1,"b":2}`, `[{"op":"remove","path":"/a"},{"op":"add","path":"/a","value":3}]`, `{"b":2,"a":3}`},
		{"null is a value", `{"a":1}`, `[{"op":"add","path":"/b","value":null},{"op":"test","path":"/b","value":null}]`, `{"a":1,"b":null}`},
		{"empty name", `{"":{"":1}}`, `[{"op":"replace","path":"//","value":2}]`, `{"":{"":2}}`},
		{"digits name members too", `{"0":{"01":1}}`, `[{"op":"test","path":"/0/01","value":1}]`, `{"0":{"01":1}}`},
		{"end of an array", `[1]`, `[{"op":"add","path":"/1","value":2}]`, `[1,2]`},
		{"numbers keep their text", `{"n":1.10,"big":12345678901234567890}`, `[{"op":"add","path":"/m","value":2.50}]`, `{"n":1.10,"big":12345678901234567890,"m":2.50}`},
		{"numbers by value", `{"n":[100,0.01,-0,1e2,1E+2]}`, `[{"op":"test","path":"/n","value":[1e2,1e-2,0,100,100.0]}]`, `{"n":[100,0.01,-0,1e2,1E+2]}`},
		{"objects in any order", `{"o":{"a":1,"b":{"c":"\u00e9"}}}`, `[{"op":"test","path":"/o","value":{"b":{"c":"é"},"a":1.0}}]`, `{"o":{"a":1,"b":{"c":"é"}}}`},
	} {
		got, err := web.JSONPatch([]byte(tt.doc), []byte(tt.patch))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: JSONPatch(%s, %s) = %s, %v, want %s", tt.name, tt.doc, tt.patch, got, err, tt.want)
		}
	}
}

func TestJSONPatchRefuses(t *testing.T) {
	t.Parallel()
	const doc = `{"a":[1,2],"s":"x","o":{"k":true}}`
	deep := strings.Repeat(`{"a":`, 65) + `1` + strings.Repeat(`}`, 65)
	for _, tt := range []struct{ name, patch, code, pointer string }{
		// RFC 6902, appendix A: the cases that fail.
		{"A.9 test that does not hold", `[{"op":"test","path":"/s","value":"bar"}]`, "JSON_PATCH_TEST_FAILED", "/0/value"},
		{"A.12 no parent", `[{"op":"add","path":"/baz/bat","value":"qux"}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"A.13 a member twice", `[{"op":"add","path":"/baz","value":"qux","op":"remove"}]`, "DUPLICATE_MEMBER", ""},
		{"A.15 string and number", `[{"op":"test","path":"/a/0","value":"1"}]`, "JSON_PATCH_TEST_FAILED", "/0/value"},
		// Ours.
		{"the operation is named", `[{"op":"add","path":"/b","value":1},{"op":"remove","path":"/nope"}]`, "JSON_PATCH_NOT_APPLICABLE", "/1/path"},
		{"replace what is not there", `[{"op":"replace","path":"/b","value":1}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"no source", `[{"op":"copy","from":"/b","path":"/c"}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/from"},
		{"no source to move", `[{"op":"move","from":"/b/c","path":"/c"}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/from"},
		{"past the end", `[{"op":"add","path":"/a/3","value":1}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"minus only to add", `[{"op":"remove","path":"/a/-"}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"zero in front", `[{"op":"remove","path":"/a/00"}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"negative", `[{"op":"remove","path":"/a/-1"}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"huge index", `[{"op":"remove","path":"/a/99999999999999999999"}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"into a string", `[{"op":"add","path":"/s/0","value":1}]`, "JSON_PATCH_NOT_APPLICABLE", "/0/path"},
		{"into itself", `[{"op":"move","from":"/o","path":"/o/k"}]`, "JSON_PATCH_INVALID", "/0/from"},
		{"the root into itself", `[{"op":"move","from":"","path":"/o"}]`, "JSON_PATCH_INVALID", "/0/from"},
		{"remove everything", `[{"op":"remove","path":""}]`, "JSON_PATCH_INVALID", "/0/path"},
		{"unknown operation", `[{"op":"frob","path":"/a"}]`, "JSON_PATCH_INVALID", "/0/op"},
		{"case matters", `[{"op":"Add","path":"/a","value":1}]`, "JSON_PATCH_INVALID", "/0/op"},
		{"no operation", `[{}]`, "JSON_PATCH_INVALID", "/0/op"},
		{"no path", `[{"op":"remove"}]`, "JSON_PATCH_INVALID", "/0/path"},
		{"no value", `[{"op":"add","path":"/b"}]`, "JSON_PATCH_INVALID", "/0/value"},
		{"no from", `[{"op":"copy","path":"/b"}]`, "JSON_PATCH_INVALID", "/0/from"},
		{"no slash", `[{"op":"remove","path":"a"}]`, "JSON_PATCH_INVALID", "/0/path"},
		{"bad escape", `[{"op":"remove","path":"/a~2"}]`, "JSON_PATCH_INVALID", "/0/path"},
		{"cut escape", `[{"op":"remove","path":"/a~"}]`, "JSON_PATCH_INVALID", "/0/path"},
		{"long pointer", `[{"op":"remove","path":"` + strings.Repeat("/a", 65) + `"}]`, "JSON_PATCH_INVALID", "/0/path"},
		{"an object", `{"a":1}`, "WRONG_TYPE", ""},
		{"null", `null`, "JSON_PATCH_INVALID", ""},
		{"empty", ``, "BODY_REQUIRED", ""},
		{"cut", `[{"op":`, "MALFORMED_JSON", ""},
		{"trailing", `[] []`, "TRAILING_DATA", ""},
		{"NUL", `[{"op":"add","path":"/b","value":"\u0000"}]`, "NUL_CHARACTER", "/0/value"},
		{"not UTF-8", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":\"\xff\"}]", "INVALID_UTF8", "/0/value"},
		{"deep", `[{"op":"add","path":"/b","value":` + deep + `}]`, "JSON_TOO_DEEP", ""},
		{"deep in the end", `[{"op":"add","path":"/o/k","value":` + deep[5:len(deep)-1] + `}]`, "JSON_TOO_DEEP", ""},
		{"a thousand and one", `[` + strings.Repeat(`{"op":"test","path":"/s","value":"x"},`, 1000) + `{"op":"test","path":"/s","value":"x"}]`, "JSON_PATCH_TOO_LARGE", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := web.JSONPatch([]byte(doc), []byte(tt.patch))
			if got := fault.CodeOf(err); got != tt.code {
				t.Fatalf("JSONPatch = %v, want code %q", err, tt.code)
			}
			if f := fault.As(err); tt.pointer != "" && (len(f.Fields) != 1 || f.Fields[0].Pointer != tt.pointer) {
				t.Errorf("fields = %+v, want one at %s", f.Fields, tt.pointer)
			}
		})
	}
}

func TestJSONPatchNamesEveryWrongOperation(t *testing.T) {
	t.Parallel()
	_, err := web.JSONPatch([]byte(`{}`), []byte(`[{"op":"add","path":"x"},{"op":"test","path":"/a","value":1},{"op":"nope","path":"/a"}]`))
	var got []string
	for _, f := range fault.As(err).Fields {
		got = append(got, f.Pointer)
	}
	if want := "/0/path /0/value /2/op"; strings.Join(got, " ") != want {
		t.Errorf("fields = %q, want %s", got, want)
	}
}

func TestJSONPatchBrokenDocument(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{``, `{`, strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		if _, err := web.JSONPatch([]byte(doc), []byte(`[]`)); err == nil || fault.As(err) != nil {
			t.Errorf("JSONPatch of document %.20q = %v, want an internal error", doc, err)
		}
	}
}

// TestJSONPatchBombs sends patches that are small and would make large work:
// without the limits it fills the memory, or does not end.
func TestJSONPatchBombs(t *testing.T) {
	t.Parallel()
	ops := func(n int, op func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = op(i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	wide := `{"a":[` + strings.Repeat("1,", 250_000) + `1]}`
	for _, tt := range []struct{ name, doc, patch, code string }{
		{"copies of copies", `{"a":"x"}`, ops(1000, func(i int) string { return fmt.Sprintf(`{"op":"copy","from":"","path":"/b%d"}`, i) }), "JSON_PATCH_TOO_LARGE"},
		{"flat copies of copies", `{"a":[1]}`, ops(1000, func(i int) string { return `{"op":"copy","from":"/a","path":"/a/-"}` }), "JSON_PATCH_TOO_LARGE"},
		{"one large value a thousand times", `{"a":"` + strings.Repeat("x", 100_000) + `"}`, ops(1000, func(i int) string { return fmt.Sprintf(`{"op":"copy","from":"/a","path":"/b%d"}`, i) }), "JSON_PATCH_TOO_LARGE"},
		{"a result of 5 MB", `{"a":"` + strings.Repeat("x", 100_000) + `"}`, ops(50, func(i int) string { return fmt.Sprintf(`{"op":"copy","from":"/a","path":"/b%d"}`, i) }), "JSON_PATCH_TOO_LARGE"},
		{"shifting a wide array", wide, ops(1000, func(i int) string { return `{"op":"add","path":"/a/0","value":1}` }), "JSON_PATCH_TOO_LARGE"},
		{"testing it", wide, `[{"op":"copy","from":"/a","path":"/b"},{"op":"test","path":"/a/0","value":1},{"op":"test","path":"/b/0","value":1}]`, "JSON_PATCH_TOO_LARGE"},
		{"deeper with every operation", `{"a":1}`, "[" + strings.TrimSuffix(strings.Repeat(
			`{"op":"add","path":"/b","value":{}},{"op":"move","from":"/a","path":"/b/a"},{"op":"move","from":"/b","path":"/a"},`, 333), ",") + "]", "JSON_TOO_DEEP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := web.JSONPatch([]byte(tt.doc), []byte(tt.patch))
			if fault.CodeOf(err) != tt.code {
				t.Errorf("JSONPatch = %d bytes, %v, want %s", len(got), err, tt.code)
			}
		})
	}
}

// FuzzJSONPatch compares with a second implementation on plain maps.
func FuzzJSONPatch(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a/b","path":"/c"}]`},
		{`[1,[2]]`, `[{"op":"copy","from":"/1","path":"/0"},{"op":"test","path":"/0","value":[2]}]`},
		{`{"a":[1,2]}`, `[{"op":"add","path":"/a/-","value":null},{"op":"replace","path":"/a/0","value":{}},{"op":"remove","path":"/a/1"}]`},
		{`{"~/":1}`, `[{"op":"add","path":"/~0~1","value":2}]`},
		{`1`, `[{"op":"add","path":"","value":{"a":1}},{"op":"copy","from":"","path":"/a"}]`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, doc, patch string) {
		got, err := web.JSONPatch([]byte(doc), []byte(patch))
		if err != nil {
			return // only what was taken is compared; the tables hold the refusals
		}
		want, ok := plainPatch(plainJSON(t, doc), patch)
		if !ok {
			t.Fatalf("JSONPatch(%q, %q) = %s, want a refusal", doc, patch, got)
		}
		if diff := cmp.Diff(want, plainJSON(t, string(got))); diff != "" {
			t.Fatalf("JSONPatch(%q, %q), -want +got:\n%s", doc, patch, diff)
		}
	})
}

// plainPatch applies a patch the simple way. A value that a test names is not
// compared here: floats are not the numbers of the text.
func plainPatch(doc any, patch string) (any, bool) {
	var ops []struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		From  string `json:"from"`
		Value any    `json:"value"`
	}
	if json.Unmarshal([]byte(patch), &ops) != nil {
		return nil, false
	}
	ok := true
	for _, op := range ops {
		path, from := plainTokens(op.Path), plainTokens(op.From)
		switch op.Op {
		case "add":
			doc, ok = plainAdd(doc, path, plainCopy(op.Value))
		case "remove":
			doc, ok = plainRemove(doc, path)
		case "replace":
			if len(path) == 0 {
				doc = plainCopy(op.Value)
				continue
			}
			if doc, ok = plainRemove(doc, path); ok {
				doc, ok = plainAdd(doc, path, plainCopy(op.Value))
			}
		case "move":
			v, found := plainGet(doc, from)
			if ok = found; ok && len(from) > 0 {
				if doc, ok = plainRemove(doc, from); ok {
					doc, ok = plainAdd(doc, path, v)
				}
			}
		case "copy":
			v, found := plainGet(doc, from)
			if ok = found; ok {
				doc, ok = plainAdd(doc, path, plainCopy(v))
			}
		case "test":
			_, ok = plainGet(doc, path)
		}
		if !ok {
			return nil, false
		}
	}
	return doc, true
}

func plainTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, s := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return tokens
}

func plainCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plainCopy(x)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, plainCopy(x))
		}
		return out
	}
	return v
}

func plainIndex(token string, n int) (int, bool) {
	for i := range n {
		if fmt.Sprint(i) == token {
			return i, true
		}
	}
	return 0, false
}

func plainGet(doc any, path []string) (any, bool) {
	if len(path) == 0 {
		return doc, true
	}
	switch v := doc.(type) {
	case map[string]any:
		if x, ok := v[path[0]]; ok {
			return plainGet(x, path[1:])
		}
	case []any:
		if i, ok := plainIndex(path[0], len(v)); ok {
			return plainGet(v[i], path[1:])
		}
	}
	return nil, false
}

func plainAdd(doc any, path []string, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	last := len(path) == 1
	switch v := doc.(type) {
	case map[string]any:
		if last {
			v[path[0]] = value
			return v, true
		}
		x, ok := v[path[0]]
		if ok {
			v[path[0]], ok = plainAdd(x, path[1:], value)
		}
		return v, ok
	case []any:
		i, ok := plainIndex(path[0], len(v)+1)
		if path[0] == "-" {
			i, ok = len(v), true
		}
		switch {
		case !ok, !last && i == len(v):
			return nil, false
		case last:
			return append(append(append([]any{}, v[:i]...), value), v[i:]...), true
		}
		v[i], ok = plainAdd(v[i], path[1:], value)
		return v, ok
	}
	return nil, false
}

func plainRemove(doc any, path []string) (any, bool) {
	if len(path) == 0 {
		return nil, false
	}
	last := len(path) == 1
	switch v := doc.(type) {
	case map[string]any:
		x, ok := v[path[0]]
		switch {
		case ok && last:
			delete(v, path[0])
		case ok:
			v[path[0]], ok = plainRemove(x, path[1:])
		}
		return v, ok
	case []any:
		i, ok := plainIndex(path[0], len(v))
		switch {
		case ok && last:
			return append(append([]any{}, v[:i]...), v[i+1:]...), true
		case ok:
			v[i], ok = plainRemove(v[i], path[1:])
		}
		return v, ok
	}
	return nil, false
}
