package rql_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/rql"
)

// known is a record with the members a, b and everything below b.
func known(p rql.Path) (rql.Kind, error) {
	switch {
	case p[0] == "down":
		return 0, errors.New("the store is down")
	case p[0] == "b" || p[0] == "a" && len(p) == 1:
		return rql.Any, nil
	}
	return 0, rql.ErrUnknown
}

func TestParseFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rql.Tree{
		"":            nil,
		"a":           {"id": nil, "a": nil},
		" a , b.x":    {"id": nil, "a": nil, "b": {"x": nil}},
		"b.x,b.y.z":   {"id": nil, "b": {"x": nil, "y": {"z": nil}}},
		"b,b.x":       {"id": nil, "b": nil},
		"b.x,b":       {"id": nil, "b": nil},
		"/b/x.y/~1":   {"id": nil, "b": {"x.y": {"/": nil}}},
		many("b", 50): {"id": nil, "b": nil},
	} {
		got, err := rql.ParseFields(text, known, "id")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q = %v, %v, want %v", text, got, err, want)
		}
	}
}

func many(name string, n int) string {
	return strings.TrimSuffix(strings.Repeat(name+",", n), ",")
}

func TestFieldsThereAreNot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rql.Error{
		"c":                              {Code: "unknown_field", Pos: 1, Detail: `There is no field "c".`},
		"a, c":                           {Code: "unknown_field", Pos: 3, Detail: `There is no field "c".`},
		"/b/ü,a.x":                       {Code: "unknown_field", Pos: 6, Detail: `There is no field "a.x".`},
		"a,":                             {Code: "unknown_field", Pos: 3, Detail: `There is no field "".`},
		"b..x":                           {Code: "unknown_field", Pos: 1, Detail: `There is no field "b..x".`},
		many("a", 51):                    {Code: "too_many", Pos: 1, Detail: "At most 50 fields in 2000 bytes."},
		"b." + strings.Repeat("x", 2000): {Code: "too_many", Pos: 1, Detail: "At most 50 fields in 2000 bytes."},
	} {
		_, err := rql.ParseFields(text, known)
		var got *rql.Error
		if !errors.As(err, &got) || got.Code != want.Code || got.Pos != want.Pos || got.Detail != want.Detail {
			t.Errorf("%.20q: %v, want %v", text, err, &want)
		}
	}
	var wrong *rql.Error
	if _, err := rql.ParseFields("down", known); err == nil || errors.As(err, &wrong) {
		t.Errorf("an error of the schema came out as %v", err)
	}
}

func FuzzParseFields(f *testing.F) {
	for _, text := range []string{"", "a", "a,b.x", "/b/~1,a", "a,,b", " ", ",", "b.\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := rql.ParseFields(text, known, "id")
		var wrong *rql.Error
		if err != nil && !errors.As(err, &wrong) && !strings.Contains(text, "down") {
			t.Fatalf("%q: %v, want an *Error", text, err)
		}
		if _, kept := tree["id"]; err == nil && kept == (text == "") {
			t.Fatalf("%q = %v", text, tree)
		}
	})
}

// A field nobody knows is repeated once and cut.
func TestUnknownFieldsAreCut(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 1500)
	unknown := func(rql.Path) (rql.Kind, error) { return 0, rql.ErrUnknown }
	_, fields := rql.ParseFields("a."+name, unknown)
	_, filter := rql.Parse("eq("+name+",1)", rql.Schema{Field: unknown})
	for what, err := range map[string]error{"fields": fields, "filter": filter} {
		var e *rql.Error
		if !errors.As(err, &e) || e.Code != "unknown_field" || !strings.Contains(e.Detail, "nn…") || len(e.Detail) > 150 {
			t.Errorf("%s: %v, want unknown_field in at most 150 bytes", what, err)
		}
	}
}
