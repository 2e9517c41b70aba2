package web_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestCheckMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, header string
		revision     int64
		kind         fault.Kind
		code         string
	}{
		{"current", `"7"`, 7, 0, ""},
		{"in a list", `"5", "7" ,"9"`, 7, 0, ""},
		{"empty list members", `,, "7",`, 7, 0, ""},
		{"any", `*`, 7, 0, ""},
		{"comma in a tag", `"a,b", "7"`, 7, 0, ""},
		{"absent", ``, 7, fault.Unconditional, "PRECONDITION_REQUIRED"},
		{"blank", ` `, 7, fault.Unconditional, "PRECONDITION_REQUIRED"},
		{"old", `"6"`, 7, fault.Stale, "STALE_REVISION"},
		{"weak", `W/"7"`, 7, fault.Stale, "STALE_REVISION"},
		{"any of nothing", `*`, 0, fault.Stale, "STALE_REVISION"},
		{"tag of nothing", `"0"`, 0, fault.Stale, "STALE_REVISION"},
		{"other spelling", `"07"`, 7, fault.Stale, "STALE_REVISION"},
		{"no quotes", `7`, 7, fault.Invalid, "INVALID_PARAMETER"},
		{"open quote", `"7`, 7, fault.Invalid, "INVALID_PARAMETER"},
		{"two without comma", `"7" "8"`, 7, fault.Invalid, "INVALID_PARAMETER"},
		{"lower-case weak", `w/"7"`, 7, fault.Invalid, "INVALID_PARAMETER"},
		{"star in a list", `*, "7"`, 7, fault.Invalid, "INVALID_PARAMETER"},
		{"only commas", `,,`, 7, fault.Invalid, "INVALID_PARAMETER"},
		{"control character", "\"7\x01\"", 7, fault.Invalid, "INVALID_PARAMETER"},
		{"too many", strings.Repeat(`"1",`, 65) + `"7"`, 7, fault.Invalid, "INVALID_PARAMETER"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := web.CheckMatch(tt.header, tt.revision)
			if got := fault.CodeOf(err); got != tt.code {
				t.Fatalf("CheckMatch(%q, %d) = %v, want code %q", tt.header, tt.revision, err, tt.code)
			}
			if err == nil {
				return
			}
			f := fault.As(err)
			if f.Kind != tt.kind || len(f.Fields) != 1 || f.Fields[0].Pointer != "header/If-Match" {
				t.Errorf("fault = %+v, want kind %d and the field header/If-Match", f, tt.kind)
			}
		})
	}
}

func TestServeNotModified(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method string
		header []string
		want   bool
	}{
		{"GET", nil, false},
		{"GET", []string{`"7"`}, true},
		{"HEAD", []string{`W/"7"`}, true},
		{"GET", []string{`"5"`, `"7"`}, true},
		{"GET", []string{`*`}, true},
		{"GET", []string{`"8"`}, false},
		{"GET", []string{`7`}, false},
		{"POST", []string{`"7"`}, false},
	} {
		r := httptest.NewRequest(tt.method, "/", nil)
		if tt.header != nil {
			r.Header["If-None-Match"] = tt.header
		}
		if got := web.NotModified(r, web.ETag(7)); got != tt.want {
			t.Errorf("%s %q: not modified = %v, want %v", tt.method, tt.header, got, tt.want)
		}
	}
}

// FuzzCheckMatch checks that only a header with the tag itself, or a star,
// lets a change through.
func FuzzCheckMatch(f *testing.F) {
	for _, s := range []string{`"7"`, `*`, `W/"7"`, `"a,b","7"`, `"`, `,`, "\x00", `"7" "7"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		err := web.CheckMatch(header, 7)
		if err != nil {
			if fault.As(err) == nil {
				t.Fatalf("CheckMatch(%q) = %v, want a fault", header, err)
			}
			return
		}
		if strings.TrimSpace(header) != "*" && !strings.Contains(header, `"7"`) {
			t.Fatalf("CheckMatch(%q) let a change through", header)
		}
	})
}

func TestJudged(t *testing.T) {
	t.Parallel()
	is := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		name, header string
		body         *int64
		want         int64 // of a resource whose revision 5 is the last that changed what it says, and 7 the newest
		code, at     string
	}{
		{"the newest", `"7"`, nil, 7, "", ""},
		{"a verdict since", `"6"`, nil, 6, "", ""},
		{"the content itself", `"5"`, nil, 5, "", ""},
		{"in the body", "", is(5), 5, "", ""},
		{"in both", `"6"`, is(6), 6, "", ""},
		{"any, and one in the body", "*", is(6), 6, "", ""},
		{"before the content", `"4"`, nil, 0, "STALE_REVISION", "header/If-Match"},
		{"before the content, in the body", "", is(1), 0, "STALE_REVISION", "/revision"},
		{"none", "", nil, 0, "PRECONDITION_REQUIRED", "header/If-Match"},
		{"blank", " ", nil, 0, "PRECONDITION_REQUIRED", "header/If-Match"},
		{"any", " * ", nil, 0, "PRECONDITION_REQUIRED", "header/If-Match"},
		{"to come", `"8"`, nil, 0, "REVISION_UNKNOWN", "header/If-Match"},
		{"to come, in the body", "", is(8), 0, "REVISION_UNKNOWN", "/revision"},
		{"below 1", "", is(0), 0, "REVISION_UNKNOWN", "/revision"},
		{"negative", `"-1"`, nil, 0, "REVISION_UNKNOWN", "header/If-Match"},
		{"no number", `"x"`, nil, 0, "STALE_REVISION", "header/If-Match"},
		{"other spelling", `"07"`, nil, 0, "STALE_REVISION", "header/If-Match"},
		{"too large", `"99999999999999999999"`, nil, 0, "STALE_REVISION", "header/If-Match"},
		{"weak", `W/"7"`, nil, 0, "STALE_REVISION", "header/If-Match"},
		{"all there are", `"4","5","6","7"`, nil, 0, "INVALID_PARAMETER", "header/If-Match"},
		{"no tag", `7`, nil, 0, "INVALID_PARAMETER", "header/If-Match"},
		{"two of them", `"6"`, is(7), 0, "INVALID_PARAMETER", "/revision"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := web.Judged{IfMatch: tt.header, Revision: tt.body}.Check(5, 7)
			if got != tt.want || fault.CodeOf(err) != tt.code {
				t.Fatalf("Check() = %d, %v, want %d and code %q", got, err, tt.want, tt.code)
			}
			if err == nil {
				return
			}
			f := fault.As(err)
			if len(f.Fields) != 1 || f.Fields[0].Pointer != tt.at {
				t.Errorf("fields = %+v, want one at %s", f.Fields, tt.at)
			}
			if tells := f.Kind == fault.Stale; tells != (f.Members != nil) {
				t.Errorf("members = %+v, want the current revision %v", f.Members, tells)
			}
		})
	}
}
