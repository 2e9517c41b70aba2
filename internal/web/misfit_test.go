package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// A handler that asks for it is told what does not fit and gets the rest; a
// body that is broken it never sees.
func TestMisfitReachesTheHandler(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "things", Errors: web.Problem, Gate: gate{}})
	web.Post(a, "/v1/things", func(_ context.Context, in *struct {
		Body   draft
		Misfit error
	},
	) (string, error) {
		if in.Misfit == nil {
			return "all of " + in.Body.Type, nil
		}
		return "the rest of " + in.Body.Type + ", without " + fault.As(in.Misfit).Fields[0].Pointer, nil
	}, web.Doc{Summary: "Make a thing", Status: 201, Scope: "things:write"})
	mux := http.NewServeMux()
	a.Mount(mux)
	for body, want := range map[string]string{
		`{"type":"x"}`:                       `"all of x"`,
		`{"type":"x","colour":1}`:            `"the rest of x, without /colour"`,
		`{"type":"x","size":"a"}`:            `"the rest of x, without /size"`,
		`{"type":"x","size":"a"`:             `WRONG_TYPE`,
		`{"type":"x",}`:                      `MALFORMED_JSON`,
		`{"type":"x","type":"y","colour":1}`: `DUPLICATE_MEMBER`,
	} {
		if w := call(mux, "POST", "/v1/things", body); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s = %d %s, want %s", body, w.Code, w.Body, want)
		}
	}
}

// What is wrong with a member is said once.
func TestJoin(t *testing.T) {
	t.Parallel()
	wrong := []fault.Field{{Pointer: "/a", Code: "x"}, {Pointer: "/b/0", Code: "x"}}
	more := []fault.Field{{Pointer: "/a"}, {Pointer: "/a/1"}, {Pointer: "/ab"}, {Pointer: "/b"}, {Pointer: "/b/0"}, {Pointer: "/b/01"}, {Pointer: "/c"}, {Pointer: "/c", Code: "y"}}
	var got []string
	for _, f := range web.JoinFields(wrong, more) {
		got = append(got, f.Pointer+f.Code)
	}
	if want := "/ax /b/0x /ab /b /b/01 /c /cy"; strings.Join(got, " ") != want {
		t.Errorf("Join() = %q, want %q", got, want)
	}
	if len(wrong) != 2 || wrong[1].Pointer != "/b/0" {
		t.Errorf("the first list changed: %+v", wrong)
	}
}

// Broken JSON is said to be broken at a place, without what stands there.
func TestWhereJSONIsBroken(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"type":"x",}`:                       " The JSON is broken here, at byte 12.",
		"{\n \"type\": secret\n}":             "/type The JSON is broken here, at byte 10 of line 2.",
		`{"type":"x"`:                         " The JSON ends here, at byte 12.",
		"{\"inner\":{\"a\":\n{\"b\":\"secret": "/inner/a/b The JSON ends here, at byte 13 of line 2.",
	} {
		f := fault.As(web.DecodeStrict([]byte(body), new(map[string]any), false))
		if f == nil || f.Code != "MALFORMED_JSON" || len(f.Fields) != 1 {
			t.Errorf("DecodeStrict(%q) = %+v, want MALFORMED_JSON at one place", body, f)
			continue
		}
		if got := f.Fields[0].Pointer + " " + f.Fields[0].Detail; got != want {
			t.Errorf("DecodeStrict(%q): %q, want %q", body, got, want)
		}
	}
}

// A parameter that cannot be read is refused with what is wanted.
func TestWantedParameter(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "things", Errors: web.Problem, Gate: gate{}})
	web.Get(a, "/v1/things/{n}", func(context.Context, *struct {
		N web.Number `path:"n" doc:"Number of the thing."`
		web.Paging
	},
	) (string, error) {
		return "", nil
	}, web.Doc{Summary: "Read things", Scope: "things:read"})
	mux := http.NewServeMux()
	a.Mount(mux)
	w := call(mux, "GET", "/v1/things/x?limit=abc", "")
	for _, want := range []string{
		"The value must be a whole number. Number of the thing.", "The value must be a whole number. How many items at most: 1 to 1000, 50 by default.",
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s does not say %q", w.Body, want)
		}
	}
}
