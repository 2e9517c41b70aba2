package search

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// documents draws JSON with all that is hard to skip.
func documents(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 8).Draw(t, "kind"); {
	case depth > 0 && n > 5:
		m := map[string]any{}
		for _, name := range []string{"a", "b", `q"`, `\`, "ü", "{}", ""} {
			if rapid.Bool().Draw(t, "has") {
				m[name] = documents(t, depth-1)
			}
		}
		return m
	case depth > 0 && n > 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			list = append(list, documents(t, depth-1))
		}
		return list
	case n > 2:
		return rapid.SampledFrom([]any{0.0, -1.5, 1e30, true, false, nil}).Draw(t, "scalar")
	}
	return rapid.SampledFrom([]string{"", "text", `"`, `\`, `\"`, `}]`, `{"a":1}`, "ü\n", "\u2028", `\\`, strings.Repeat("x", 300)}).Draw(t, "text")
}

// Reading some members gives what decoding all of them gives.
func TestTreeAgainstDecoder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := map[string]any{"a": documents(t, 3), "b": documents(t, 3), `q"`: documents(t, 2), "z": documents(t, 1)}
		opts := []json.Options{json.Deterministic(true)}
		if rapid.Bool().Draw(t, "indented") {
			opts = append(opts, jsontext.Multiline(true))
		}
		body, err := json.Marshal(doc, opts...)
		if err != nil {
			t.Fatal(err)
		}
		want := tree{}
		for range rapid.IntRange(1, 3).Draw(t, "paths") {
			path := []string{rapid.SampledFrom([]string{"a", "b", `q"`, "none"}).Draw(t, "first")}
			if rapid.Bool().Draw(t, "deeper") {
				path = append(path, rapid.SampledFrom([]string{"a", `\`, "ü", "", "0"}).Draw(t, "second"))
			}
			want.add(path)
		}
		if got, all := want.decode(string(body)), cut(doc, want); !reflect.DeepEqual(got, all) {
			t.Fatalf("%v of %s = %v, want %v", want, body, got, all)
		}
	})
}

// cut keeps what is wanted of a decoded object, as decode does.
func cut(doc map[string]any, want tree) map[string]any {
	out := map[string]any{}
	for name, below := range want {
		v, ok := doc[name]
		if !ok {
			continue
		}
		if m, isObject := v.(map[string]any); isObject && below != nil {
			v = cut(m, tree(below))
		}
		out[name] = v
	}
	return out
}

// From what is no JSON nothing is expected but an end.
func TestScanOfNonsense(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "{", `{"`, `{"a`, `{"a"`, `{"a":`, `{"a": `, `{"a":"`, `{"a":"\`, `{"a":{`, `{"a":[`, `{"a":1`, `{"a":1,`, `{"a":,}`, `{"a" 1}`, `[`, `[1`, `[,]`, `[1 2]`, `]`, `{]`, `{"a":}}}`, "\x00", `{"a":"\\\\`,
	} {
		for _, name := range []string{"a", "b"} {
			_ = member(text, name)
			_ = (tree{"a": {"b": nil}}).decode(text)
			_ = (tree{"a": {"b": nil}}).keep(nil, text)
		}
		elements(text, func(string) {})
	}
}

// Whatever fits a filter has its hints in it.
func TestHintsAreNecessary(t *testing.T) {
	t.Parallel()
	schema := rql.Schema{Places: places()}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"abc", "a b", "ü-9", `q"x`, `b\c`, "", "a/b:c", "<x>", "tab\tx"}).Draw(t, "value")
		var written strings.Builder
		fmt.Fprintf(&written, "%q", value)
		pattern := rapid.SampledFrom([]string{"*", "?*", "*" + strings.NewReplacer(`\`, `\\`, "?", `\?`).Replace(value) + "*", "a*c", `*\*`}).Draw(t, "pattern")
		quoted, err := json.Marshal(pattern)
		if err != nil {
			t.Fatal(err)
		}
		filter := rapid.SampledFrom([]string{
			"eq(v," + written.String() + ")", "in(v,other," + written.String() + ")", "or(eq(v,1),eq(v," + written.String() + "))", "like(v," + string(quoted) + ")", "ne(v,other)",
			"not(eq(v,other))", "or(eq(v," + written.String() + "),exists(w))", "eq(v,null)", "in(v,null,abc)",
		}).Draw(t, "filter")
		e, err := rql.Parse(filter, schema)
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		doc := map[string]any{"v": value}
		if rapid.IntRange(0, 4).Draw(t, "other") == 0 {
			doc = map[string]any{"w": []any{value}}
		}
		body, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hints(e.Conjuncts()) {
			if e.Match(doc) && !h.in(string(body)) {
				t.Fatalf("%s fits %s, which has none of %q", body, e, h)
			}
		}
	})
}

func TestHints(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{
		"eq(v,abc)": "[[abc]]", "eq(v,1)": "[]", "in(v,a,b)": "[[a b]]", "in(v,a,1)": "[]", "and(eq(v,a),eq(w,b))": "[[a] [b]]", `eq(v,"ü(abc)")`: "[[abc]]", `eq(v,"ü")`: "[]",
		"like(v,ab*)": "[[ab]]", "like(v,*ab?cde*)": "[[cde]]", "like(v,*)": "[]", "ne(v,a)": "[]", "gt(v,a)": "[]", "not(eq(v,a))": "[]", "or(eq(v,a),eq(w,b))": "[]", "or(eq(v,a),eq(v,b))": "[[a b]]",
	} {
		e, err := rql.Parse(filter, rql.Schema{})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(hints(e.Conjuncts())); got != want {
			t.Errorf("hints of %s = %s, want %s", filter, got, want)
		}
	}
}

// The part of the index a prefix means holds all texts with it and no others.
func TestAround(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 0x7f, 'ä', 0xd7ff, 0xe000, 0x10ffff}), 0, 4, -1)
		prefix, s := texts.Draw(t, "prefix"), texts.Draw(t, "text")
		from, to := around(prefix)
		if in := "s"+s >= from && "s"+s < to; in != strings.HasPrefix(s, prefix) {
			t.Fatalf("%q between %q and %q: %v", s, from, to, in)
		}
	})
}

// The shape of the record is that of its type.
func TestRecordShape(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]rql.Kind{
		"did": rql.Text, "status": rql.Text, "statusCode": rql.Number, "revision": rql.Number, "created": rql.Time, "controllers": rql.Text, "moreRelationships": rql.Bool,
		"properties": rql.Object, "properties.anything": rql.Any, "metadata.a.b.c": rql.Any, "externalIds": rql.Object, "externalIds.sap": rql.Text, "services": rql.Object, "services.type": rql.Text,
		"services.0.type": rql.Text, "relationships.since": rql.Time, "relationships.external": rql.Bool, "verification.status": rql.Text, "links.self": rql.Text, "missingRelationships.0": rql.Text,
	} {
		p, _ := rql.ParsePath(path)
		if got, err := record.find(p, true); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", path, got, err, want)
		}
	}
	for _, path := range []string{"x", "did.x", "services.x", "services.0.0.type", "externalIds.sap.x", "created.year", "DID", "body", "nid", "links.x", "0"} {
		p, _ := rql.ParsePath(path)
		if got, err := record.find(p, true); err == nil {
			t.Errorf("%s is %v, want no field", path, got)
		}
	}
}
