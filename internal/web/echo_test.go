package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// echoing has a route whose body holds names of the client's at every place.
func echoing(write web.ErrorWriter) http.Handler {
	a := web.NewAPI(web.APIConfig{Name: "things", Errors: write, Gate: gate{}, MaxBody: 8 << 20})
	web.Post(a, "/v1/things", func(context.Context, *struct {
		Limit int `query:"limit"`
		Body  struct {
			Size  int              `json:"size"`
			Map   map[string]int   `json:"map"`
			Items []map[string]int `json:"items"`
		}
	},
	) (string, error) {
		return "made", nil
	}, web.Doc{Summary: "Make a thing", Status: 201, Scope: "things:write"})
	mux := http.NewServeMux()
	a.Mount(mux)
	known := func(*http.Request, string) bool { return false }
	mux.HandleFunc("/", web.Unknown(func(*http.Request) web.ErrorWriter { return write }, known))
	return mux
}

// A name of the client's is repeated once and cut, whatever is wrong with it
// and wherever it stands: a large request must not make a larger answer.
func TestNamesAreEchoedOnceAndCut(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 7<<20)
	shorter := name[:20_000]
	for _, tt := range []struct{ what, target, body, code string }{
		{"unknown member", "/v1/things", `{"` + name + `":1}`, "UNKNOWN_MEMBER"},
		{"wrong type", "/v1/things", `{"map":{"` + name + `":"x"}}`, "WRONG_TYPE"},
		{"duplicate", "/v1/things", `{"map":{"` + name[:3<<20] + `":1,"` + name[:3<<20] + `":1}}`, "DUPLICATE_MEMBER"},
		{"broken", "/v1/things", `{"map":{"` + name + `":x}}`, "MALFORMED_JSON"},
		{"cut short", "/v1/things", `{"map":{"` + name + `":`, "MALFORMED_JSON"},
		{"parameter", "/v1/things?" + shorter + "=1", `{}`, "INVALID_PARAMETER"},
		{"route", "/" + shorter, `{}`, "ROUTE_NOT_FOUND"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			w := call(echoing(web.Problem), "POST", tt.target, tt.body)
			body := w.Body.String()
			if !strings.Contains(body, tt.code) || len(body) > 2000 {
				t.Fatalf("%d bytes, want %s in at most 2,000: %.300s", len(body), tt.code, body)
			}
			if tt.what != "route" && strings.Count(body, name[:100]+"…") != 1 || strings.Contains(body, name[:101]) {
				t.Errorf("the name is not repeated once with 100 characters: %s", body)
			}
			nest := call(echoing(web.Nest), "POST", tt.target, tt.body).Body.String()
			if len(nest) > 1000 || strings.Contains(nest, name[:101]) {
				t.Errorf("in the oracle's words %d bytes: %.300s", len(nest), nest)
			}
		})
	}
}

// Names that are short, but many or deep, are held to a bound too.
func TestManyNamesMakeAShortAnswer(t *testing.T) {
	t.Parallel()
	var members, items []string
	query := url.Values{}
	for i := range 5000 {
		members = append(members, fmt.Sprintf(`"member%d":1`, i))
		items = append(items, `{"`+strings.Repeat("n", 99)+`":"x"}`)
		query.Set(fmt.Sprintf("p%d", i), "")
	}
	for what, w := range map[string]int{
		"members":    call(echoing(web.Problem), "POST", "/v1/things", "{"+strings.Join(members, ",")+"}").Body.Len(),
		"items":      call(echoing(web.Problem), "POST", "/v1/things", `{"items":[`+strings.Join(items, ",")+"]}").Body.Len(),
		"parameters": call(echoing(web.Problem), "POST", "/v1/things?"+query.Encode(), "{}").Body.Len(),
	} {
		if w > 50_000 {
			t.Errorf("5000 wrong %s make an answer of %d bytes, want at most 50,000", what, w)
		}
	}
}
