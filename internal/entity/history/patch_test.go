package history_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/entity/history"
)

// apply is RFC 6902 for add, remove and replace, written for this test alone.
func apply(t interface{ Fatalf(string, ...any) }, doc any, ops []history.Op) any {
	for _, op := range ops {
		var v any
		if op.Op != "remove" {
			if err := json.Unmarshal(op.Value.Value, &v); err != nil {
				t.Fatalf("%+v: %v", op, err)
			}
		}
		if op.Path == "" {
			doc = v
			continue
		}
		var steps []string
		for s := range strings.SplitSeq(op.Path[1:], "/") {
			steps = append(steps, strings.NewReplacer("~1", "/", "~0", "~").Replace(s))
		}
		doc = change(t, doc, steps, op.Op, v)
	}
	return doc
}

func change(t interface{ Fatalf(string, ...any) }, doc any, steps []string, op string, v any) any {
	switch d := doc.(type) {
	case map[string]any:
		_, has := d[steps[0]]
		switch {
		case len(steps) > 1:
			d[steps[0]] = change(t, d[steps[0]], steps[1:], op, v)
		case has == (op == "add"):
			t.Fatalf("%s of %s, which is there: %v", op, steps[0], has)
		case op == "remove":
			delete(d, steps[0])
		default:
			d[steps[0]] = v
		}
		return d
	case []any:
		i, err := strconv.Atoi(steps[0])
		if err != nil || i > len(d) || i == len(d) && op != "add" {
			t.Fatalf("%s at %s of %d", op, steps[0], len(d))
		}
		switch {
		case len(steps) > 1:
			d[i] = change(t, d[i], steps[1:], op, v)
		case op == "remove":
			return slices.Delete(d, i, i+1)
		case op == "add":
			return slices.Insert(d, i, v)
		default:
			d[i] = v
		}
		return d
	}
	t.Fatalf("%s below %v", op, doc)
	return nil
}

func TestMakePatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want string }{
		{`{"a":1}`, `{"a":1}`, `[]`},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `[]`},
		{`{"a":1}`, `{"a":1.0}`, `[{"op":"replace","path":"/a","value":1.0}]`},
		{`{"a":1}`, `{"b":12345678901234567890}`, `[{"op":"remove","path":"/a"},{"op":"add","path":"/b","value":12345678901234567890}]`},
		{`{"a":{"b":1}}`, `{"a":{"b":null}}`, `[{"op":"replace","path":"/a/b","value":null}]`},
		{`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, `[{"op":"replace","path":"/a~1b/~0","value":2}]`},
		{`[1,2,3,4]`, `[1,3,4]`, `[{"op":"remove","path":"/1"}]`},
		{`[1,4]`, `[1,2,3,4]`, `[{"op":"add","path":"/1","value":2},{"op":"add","path":"/2","value":3}]`},
		{`[{"a":1},9]`, `[{"a":2},9]`, `[{"op":"replace","path":"/0/a","value":2}]`},
		{`{"a":[]}`, `{"a":{}}`, `[{"op":"replace","path":"/a","value":{}}]`},
		{`1`, `"x"`, `[{"op":"replace","path":"","value":"x"}]`},
	} {
		ops, err := history.MakePatch([]byte(tt.a), []byte(tt.b))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(ops)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s to %s: %s, %v, want %s", tt.a, tt.b, got, err, tt.want)
		}
	}
}

// documents draws JSON documents that have much in common.
func documents(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 7).Draw(t, "kind"); {
	case depth > 0 && n > 5:
		m := map[string]any{}
		for _, name := range []string{"a", "b", "c/d", "~"} {
			if rapid.Bool().Draw(t, "has") {
				m[name] = documents(t, depth-1)
			}
		}
		return m
	case depth > 0 && n > 3:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "len") {
			list = append(list, documents(t, depth-1))
		}
		return list
	case n > 2:
		return float64(n)
	case n > 1:
		return nil
	}
	return "text"
}

func TestPatchesLeadThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := documents(t, 4), documents(t, 4)
		from, err1 := json.Marshal(a)
		to, err2 := json.Marshal(b)
		ops, err := history.MakePatch(from, to)
		if err1 != nil || err2 != nil || err != nil {
			t.Fatalf("%v %v %v", err1, err2, err)
		}
		if got := apply(t, a, ops); !reflect.DeepEqual(got, b) {
			t.Fatalf("%s to %s: %v gives %v", from, to, ops, got)
		}
	})
}

func TestPatchesStaySmall(t *testing.T) {
	t.Parallel()
	list := func(add int) string {
		var out []string
		for i := range 50_000 {
			out = append(out, fmt.Sprint(i+add))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	object := func(add int) string {
		var out []string
		for i := range 20_000 {
			out = append(out, fmt.Sprintf(`"k%d":%d`, i, i+add))
		}
		return `{"x":{` + strings.Join(out, ",") + `}}`
	}
	for name, tt := range map[string][2]string{"array": {list(0), list(1)}, "object": {object(0), object(1)}} {
		ops, err := history.MakePatch([]byte(tt[0]), []byte(tt[1]))
		if err != nil || len(ops) != 1 || ops[0].Op != "replace" || string(ops[0].Value.Value) != tt[1] {
			t.Errorf("%s: %d operations, %v, want one that replaces all", name, len(ops), err)
		}
	}
}

func FuzzMakePatch(f *testing.F) {
	f.Add(`{"a":[1,{"b":2}]}`, `{"a":[{"b":3}],"c":"x"}`)
	f.Add(`[`, `{}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var from, to any
		if json.Unmarshal([]byte(a), &from) != nil || json.Unmarshal([]byte(b), &to) != nil {
			_, _ = history.MakePatch([]byte(a), []byte(b)) // must not panic
			return
		}
		ops, err := history.MakePatch([]byte(a), []byte(b))
		if err != nil {
			t.Fatal(err)
		}
		if got := apply(t, from, ops); !reflect.DeepEqual(got, to) {
			t.Fatalf("%s to %s: %v gives %v", a, b, ops, got)
		}
	})
}
