package rql_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// filters draws filters of every shape.
func filters(t *rapid.T, depth int) string {
	if depth > 0 && rapid.IntRange(0, 2).Draw(t, "group") == 0 {
		op := rapid.SampledFrom([]string{"and", "or", "not"}).Draw(t, "op")
		n := 1
		if op != "not" {
			n = rapid.IntRange(1, 3).Draw(t, "n")
		}
		var args []string
		for range n {
			args = append(args, filters(t, depth-1))
		}
		return op + "(" + strings.Join(args, ", ") + ")"
	}
	field := rapid.SampledFrom([]string{"type", "metadata.a", "/metadata/b~1c", `"metadata.x y"`, "services.id"}).Draw(t, "field")
	value := func() string {
		return rapid.SampledFrom([]string{"1", "-2.5e3", "true", "null", "word", `"1"`, `"a\"b\\c"`, "'it''", `'q"'`, `"ä\u00fc\n"`, "did:ixo:a/b"}).Draw(t, "value")
	}
	switch op := rapid.SampledFrom([]string{"eq", "ne", "lt", "in", "like", "exists", "near", "within"}).Draw(t, "term"); op {
	case "in":
		return "in(" + field + "," + value() + "," + value() + ")"
	case "like":
		return "like(" + field + `,"` + rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern") + `")`
	case "exists":
		return "exists(" + field + ")"
	case "near":
		return "near(1.5,-2,30)"
	case "within":
		return "within(metadata.a,-1,170,1,-170)"
	default:
		return op + "(" + field + "," + value() + ")"
	}
}

func TestStringRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := filters(t, 3)
		e, err := rql.Parse(text, schema())
		if err != nil {
			return // a value of the wrong kind
		}
		roundTrip(t, e)
	})
}

func roundTrip(t interface{ Fatalf(string, ...any) }, e *rql.Expr) {
	again := e.String()
	if utf8.RuneCountInString(again) > rql.MaxLength {
		return
	}
	b, err := rql.Parse(again, schema())
	if err != nil {
		t.Fatalf("Parse(%s): %v", again, err)
	}
	if third := b.String(); third != again {
		t.Fatalf("String() = %s, then %s", again, third)
	}
	if !sameExpr(e, b) {
		t.Fatalf("%s reads as something else", again)
	}
}

func sameExpr(a, b *rql.Expr) bool {
	if a.Op != b.Op || a.Kind != b.Kind || a.Field.Pointer() != b.Field.Pointer() || !reflect.DeepEqual(a.Values, b.Values) || len(a.Args) != len(b.Args) {
		return false
	}
	for i := range a.Args {
		if !sameExpr(a.Args[i], b.Args[i]) {
			return false
		}
	}
	return true
}

// like against a regular expression of the same meaning.
func TestLikeAgainstRegexp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[abä*?]{0,10}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[abä]{0,12}`).Draw(t, "text")
		e, err := rql.Parse(`like(type,"`+pattern+`")`, schema())
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile("^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$")
		if got, want := e.Match(map[string]any{"type": text}), re.MatchString(text); got != want {
			t.Fatalf("like(%s) of %s = %v, want %v", pattern, text, got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"and(eq(type,Device),or(gt(properties.power,40),in(type,a,b)))", `like(metadata.x,"a*\\*?b")`, "near(1,2,3)", "within(metadata.a,1,2,3,4)",
		`eq("/metadata/a~1b~0",'x''y')`, `eq(type,"\ud83d\ude00\u0041")`, "not(exists(services.0.id))", "eq(updated,2026-01-01)", "((((", "eq(type,\x00)",
	} {
		f.Add(s, `{"type":"a","metadata":{"x":["ab",1,null,{"a":[[]]}]}}`)
	}
	f.Fuzz(func(t *testing.T, text, record string) {
		e, err := rql.Parse(text, schema())
		if err != nil {
			return
		}
		roundTrip(t, e)
		var d map[string]any
		if json.Unmarshal([]byte(record), &d) == nil {
			if e.Match(d) == (&rql.Expr{Op: rql.Not, Args: []*rql.Expr{e}}).Match(d) {
				t.Errorf("%s and its opposite agree", text)
			}
		}
	})
}
