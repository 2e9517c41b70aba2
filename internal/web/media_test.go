package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

type patchIn struct {
	ID      string `path:"id"`
	Body    draft
	RawBody []byte
}

// newPatchHandler has one route of each kind that takes a body.
func newPatchHandler(t *testing.T) (http.Handler, *web.API) {
	t.Helper()
	a := web.NewAPI(web.APIConfig{Name: "things", Gate: gate{}})
	show := func(ctx context.Context, in *patchIn) (string, error) {
		kind := "merge"
		if web.IsJSONPatch(ctx) {
			kind = "operations"
		}
		return kind + " " + in.Body.Type + " " + string(in.RawBody), nil
	}
	web.Patch(a, "/v1/both/{id}", show, web.Doc{Summary: "Both", Scope: "things:write", Patch: true, JSONPatch: true, Example: draft{Type: "x"}})
	web.Patch(a, "/v1/merge/{id}", show, web.Doc{Summary: "Merge", Scope: "things:write", Patch: true})
	web.Post(a, "/v1/plain/{id}", show, web.Doc{Summary: "Plain", Scope: "things:write"})
	mux := http.NewServeMux()
	a.Mount(mux)
	return mux, a
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	h, _ := newPatchHandler(t)
	const merge, ops = `{"type":"t"}`, `[{"op":"remove","path":"/a"}]`
	for _, tt := range []struct {
		name, target, media, body string
		status                    int
		want                      string
	}{
		{"merge patch", "PATCH /v1/both/1", "application/merge-patch+json", merge, 200, `"merge t {`},
		{"JSON is a merge patch", "PATCH /v1/both/1", "application/json", merge, 200, `"merge t {`},
		{"JSON patch", "PATCH /v1/both/1", "application/json-patch+json", ops, 200, `"operations  [{`},
		{"JSON patch, charset", "PATCH /v1/both/1", "application/json-patch+json; charset=UTF-8", ops, 200, `"operations`},
		{"operations under the wrong name", "PATCH /v1/both/1", "application/merge-patch+json", ops, 400, `WRONG_TYPE`},
		{"curl -d on a patch", "PATCH /v1/both/1", "application/x-www-form-urlencoded", merge, 200, `"merge t {`},
		{"other", "PATCH /v1/both/1", "text/plain", merge, 415, `application/merge-patch+json or application/json-patch+json`},
		{"no JSON patch here", "PATCH /v1/merge/1", "application/json-patch+json", ops, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"no patch here", "POST /v1/plain/1", "application/json-patch+json", ops, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"no merge patch here", "POST /v1/plain/1", "application/merge-patch+json", merge, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"curl -d", "POST /v1/plain/1", "application/x-www-form-urlencoded", merge, 200, `"merge t {`},
		{"curl -d with space in front", "POST /v1/plain/1", "application/x-www-form-urlencoded; charset=utf-8", " \r\n\t" + merge, 200, `merge t`},
		{"curl -d, still strict", "POST /v1/plain/1", "application/x-www-form-urlencoded", `{"type":"t","type":"u"}`, 400, `DUPLICATE_MEMBER`},
		{"curl -d with a list", "POST /v1/plain/1", "application/x-www-form-urlencoded", `[1]`, 400, `WRONG_TYPE`},
		{"curl -d, another charset", "POST /v1/plain/1", "application/x-www-form-urlencoded; charset=utf-16", merge, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"a form", "POST /v1/plain/1", "application/x-www-form-urlencoded", `type=t`, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"a form of JSON", "POST /v1/plain/1", "application/x-www-form-urlencoded", `%7B%22type%22%3A%22t%22%7D=`, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"a string", "POST /v1/plain/1", "application/x-www-form-urlencoded", `"x"`, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"spaces", "POST /v1/plain/1", "application/x-www-form-urlencoded", `   `, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"a page's form with files", "POST /v1/plain/1", "multipart/form-data; boundary=x", merge, 415, `UNSUPPORTED_MEDIA_TYPE`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(tt.target, " ")
			w := call(h, method, path, tt.body, "Content-Type", tt.media)
			if got := strings.ReplaceAll(w.Body.String(), `\"`, `"`); w.Code != tt.status || !strings.Contains(got, tt.want) {
				t.Errorf("got %d %s, want %d with %s", w.Code, got, tt.status, tt.want)
			}
		})
	}
}

func TestJSONPatchIsDocumented(t *testing.T) {
	t.Parallel()
	_, a := newPatchHandler(t)
	doc := web.Document("Hearth", "1", a)
	content := doc.Paths["/v1/both/{id}"].Patch.RequestBody.Content
	if len(content) != 2 || content["application/merge-patch+json"].Example == nil || content["application/json-patch+json"].Schema == nil || content["application/json-patch+json"].Example == nil {
		t.Errorf("content = %v, want a merge patch and a JSON patch with their examples", content)
	}
	if got := doc.Paths["/v1/merge/{id}"].Patch.RequestBody.Content; len(got) != 1 {
		t.Errorf("content of a route without JSON patches = %v, want one", got)
	}
	if _, err := doc.MarshalJSON(); err != nil {
		t.Error(err)
	}
}

func TestJSONPatchNeedsRawBody(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a route that cannot see the operations was taken")
		}
	}()
	a := web.NewAPI(web.APIConfig{})
	web.Patch(a, "/x", func(context.Context, *struct{ Body draft }) (string, error) { return "", nil },
		web.Doc{Summary: "x", Scope: "x:y", Patch: true, JSONPatch: true})
}

func TestReplyMediaAndCache(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "docs", Gate: gate{}})
	web.Get(a, "/doc", func(context.Context, *none) (web.Reply[draft], error) {
		return web.Reply[draft]{Value: draft{Type: "t"}, Media: "application/did+json", Cache: "public, max-age=60", ETag: `"e"`}, nil
	}, web.Doc{Summary: "Read", Scope: web.Public, Produces: "application/did+json, application/json"})
	mux := http.NewServeMux()
	a.Mount(mux)
	h := web.SecureHeaders(mux)
	w := call(h, "GET", "/doc", "")
	if w.Header().Get("Content-Type") != "application/did+json" || w.Header().Get("Cache-Control") != "public, max-age=60" {
		t.Errorf("headers = %v", w.Header())
	}
	if w := call(h, "GET", "/doc", "", "If-None-Match", `"e"`); w.Code != 304 || w.Header().Get("Cache-Control") != "public, max-age=60" {
		t.Errorf("If-None-Match = %d %v, want 304 with its Cache-Control", w.Code, w.Header())
	}
	content := web.Document("Hearth", "1", a).Paths["/doc"].Get.Responses["200"].Content
	if len(content) != 2 || content["application/json"] == nil || content["application/did+json"] == nil {
		t.Errorf("documented = %v, want both media types", content)
	}
}
