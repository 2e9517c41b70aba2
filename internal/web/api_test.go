package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// gate lets "Bearer good" in with one scope.
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	if r.Header.Get("Authorization") != "Bearer good" {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "An API key is needed.")
	}
	c := web.Caller{Workspace: "w", DID: "did:x:y", Scopes: []string{"things:*"}}
	if !scope.Open(c.May) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "No.")
	}
	return c, nil
}

type thingIn struct {
	ID    string   `path:"id"`
	Limit int      `query:"limit"`
	Deep  bool     `query:"deep"`
	Tags  []string `query:"tags"`
	Match string   `header:"If-Match"`
	Body  draft
}

type thing struct {
	ID        string   `json:"id"`
	Limit     int      `json:"limit"`
	Deep      bool     `json:"deep"`
	Tags      []string `json:"tags"`
	Type      string   `json:"type"`
	Workspace string   `json:"workspace"`
	Key       string   `json:"key"`
}

func serveThing(ctx context.Context, in *thingIn) (web.Reply[thing], error) {
	switch in.Body.Type {
	case "fault":
		return web.Reply[thing]{}, fault.New(fault.Conflict, "THING_TAKEN", "Taken.")
	case "secret":
		return web.Reply[thing]{}, errors.New("password hunter2 at /etc/secret")
	case "panic":
		panic("hunter2")
	case "raw":
		return web.Reply[thing]{Raw: []byte(`{"stored":1}`), ETag: `"7"`, Location: "/v1/things/7"}, nil
	}
	return web.Reply[thing]{Value: thing{in.ID, in.Limit, in.Deep, in.Tags, in.Body.Type, web.CallerFrom(ctx).Workspace, web.IdempotencyFrom(ctx).Key}}, nil
}

type none struct{}

func newHandler(t *testing.T, write web.ErrorWriter) http.Handler {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	a := web.NewAPI(web.APIConfig{Name: "things", Errors: write, Gate: gate{}, MaxBody: 1000, Log: log})
	web.Post(a, "/v1/things/{id}", serveThing, web.Doc{Summary: "Make a thing", Status: 201, Scope: "things:write"})
	web.Get(a, "/v1/public", func(context.Context, *none) (string, error) { return "hi", nil }, web.Doc{Summary: "Greet", Scope: web.Public})
	web.Get(a, "/v1/other", func(context.Context, *none) (string, error) { return "hi", nil }, web.Doc{Summary: "Other", Scope: "others:read"})
	mux := http.NewServeMux()
	a.Mount(mux)
	return web.Observe(log, write, nil, mux)
}

func call(h http.Handler, method, target, body string, head ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer good")
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTypedRoute(t *testing.T) {
	t.Parallel()
	h := newHandler(t, web.Problem)
	for _, tt := range []struct {
		name, method, target, body string
		head                       []string
		status                     int
		want                       string // part of the body
	}{
		{"bound", "POST", "/v1/things/a%2Fb?limit=5&deep=true&tags=x,y", `{"type":"t"}`, nil, 201, `{"id":"a/b","limit":5,"deep":true,"tags":["x","y"],"type":"t","workspace":"w","key":""}`},
		{"idempotency key", "POST", "/v1/things/a", `{"type":"t"}`, []string{"Idempotency-Key", "k-1"}, 201, `"key":"k-1"`},
		{"bad idempotency key", "POST", "/v1/things/a", `{}`, []string{"Idempotency-Key", "k\x01"}, 400, `INVALID_IDEMPOTENCY_KEY`},
		{"stored bytes", "POST", "/v1/things/a", `{"type":"raw"}`, nil, 201, `{"stored":1}`},
		{"every wrong parameter", "POST", "/v1/things/a?limit=x&deep=1&nope=1", `{}`, nil, 400, `INVALID_PARAMETER`},
		{"repeated parameter", "POST", "/v1/things/a?limit=1&limit=2", `{}`, nil, 400, `"pointer":"query/limit","code":"repeated"`},
		{"broken query", "POST", "/v1/things/a?limit=%zz", `{}`, nil, 400, `INVALID_QUERY`},
		{"path is not text", "POST", "/v1/things/%ff", `{}`, nil, 400, `"pointer":"path/id","code":"not_text"`},
		{"path has NUL", "POST", "/v1/things/a%00", `{}`, nil, 400, `not_text`},
		{"media type", "POST", "/v1/things/a", `{}`, []string{"Content-Type", "text/plain"}, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"charset", "POST", "/v1/things/a", `{}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, `UNSUPPORTED_MEDIA_TYPE`},
		{"compressed", "POST", "/v1/things/a", `{}`, []string{"Content-Encoding", "gzip"}, 415, `UNSUPPORTED_ENCODING`},
		{"large", "POST", "/v1/things/a", `{"type":"` + strings.Repeat("x", 1000) + `"}`, nil, 413, `BODY_TOO_LARGE`},
		{"no body", "POST", "/v1/things/a", ``, nil, 400, `BODY_REQUIRED`},
		{"fault", "POST", "/v1/things/a", `{"type":"fault"}`, nil, 409, `"code":"THING_TAKEN"`},
		{"internal", "POST", "/v1/things/a", `{"type":"secret"}`, nil, 500, `"detail":"Internal error."`},
		{"panic", "POST", "/v1/things/a", `{"type":"panic"}`, nil, 500, `"detail":"Internal error."`},
		{"no key", "POST", "/v1/things/a", `{}`, []string{"Authorization", ""}, 401, `KEY_MISSING`},
		{"public ignores keys", "GET", "/v1/public", ``, []string{"Authorization", "garbage"}, 200, `"hi"`},
		{"scope", "GET", "/v1/other", ``, nil, 403, `SCOPE_MISSING`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := call(h, tt.method, tt.target, tt.body, tt.head...)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got %d %s, want %d with %s", w.Code, w.Body, tt.status, tt.want)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the cause leaked: %s", w.Body)
			}
			if w.Code >= 400 && w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("Content-Type = %q", w.Header().Get("Content-Type"))
			}
		})
	}
}

func TestAllWrongParametersAtOnce(t *testing.T) {
	t.Parallel()
	w := call(newHandler(t, web.Problem), "POST", "/v1/things/a?limit=x&deep=1&nope=1", `{}`)
	var p struct {
		Errors []struct{ Pointer string } `json:"errors"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(p.Errors) != 3 {
		t.Errorf("errors = %+v, want limit, deep and nope", p.Errors)
	}
}

func TestDialects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		write       web.ErrorWriter
		f           *fault.Error
		status      int
		body, media string
	}{
		{"D not found", web.Nest, fault.New(fault.NotFound, "X", "Cannot GET /nope"), 404, `{"message":"Cannot GET /nope","error":"Not Found","statusCode":404}`, "application/json; charset=utf-8"},
		{"D validation", web.Nest, fault.New(fault.Invalid, "X", "No.").With(fault.Field{Detail: "message must be a string"}), 400, `{"message":["message must be a string"],"error":"Bad Request","statusCode":400}`, "application/json; charset=utf-8"},
		{"D 401 has no error", web.Nest, fault.New(fault.Unauthenticated, "X", "Invalid UCAN invocation"), 401, `{"message":"Invalid UCAN invocation","statusCode":401}`, "application/json; charset=utf-8"},
		{"D internal", web.Nest, fault.New(fault.Internal, "INTERNAL", "Internal error."), 500, `{"message":"Internal server error","statusCode":500}`, "application/json; charset=utf-8"},
		{"C invalid", web.End, fault.New(fault.Invalid, "X", "No."), 200, "END Invalid input. Please try again.", "text/plain; charset=utf-8"},
		{"C too large", web.End, fault.New(fault.TooLarge, "X", "No."), 200, "END Invalid input. Please try again.", "text/plain; charset=utf-8"},
		{"C internal", web.End, fault.New(fault.Internal, "X", "No."), 200, "END Service temporarily unavailable. Please try again later.", "text/plain; charset=utf-8"},
		{"C overload", web.End, fault.New(fault.Unavailable, "X", "No."), 200, "END Service temporarily unavailable. Please try again later.", "text/plain; charset=utf-8"},
		{"C too many", web.End, fault.New(fault.TooMany, "X", "No."), 429, "END Service temporarily unavailable. Please try again later.", "text/plain; charset=utf-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			tt.write(w, httptest.NewRequest("GET", "/nope", nil), tt.f)
			if w.Code != tt.status || w.Body.String() != tt.body || w.Header().Get("Content-Type") != tt.media {
				t.Errorf("got %d %q %s, want %d %q", w.Code, w.Header().Get("Content-Type"), w.Body, tt.status, tt.body)
			}
		})
	}
}

func TestRouteWithoutScopeDoesNotBuild(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a route without a scope was taken")
		}
	}()
	a := web.NewAPI(web.APIConfig{})
	web.Get(a, "/x", func(context.Context, *none) (string, error) { return "", nil }, web.Doc{Summary: "x"})
}

func TestDocumentComesFromTheTable(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "things", Gate: gate{}})
	web.Post(a, "/v1/things/{id}", serveThing, web.Doc{Summary: "Make a thing", Status: 201, Scope: "things:write", Once: true})
	doc := web.Document("Hearth", "1", a)
	op := doc.Paths["/v1/things/{id}"].Post
	if op == nil || op.Responses["201"] == nil || op.Responses["4XX"] == nil || op.RequestBody == nil {
		t.Fatalf("operation = %+v", op)
	}
	var names []string
	for _, p := range op.Parameters {
		names = append(names, p.In+"/"+p.Name)
	}
	want := "path/id query/limit query/deep query/tags header/If-Match header/Idempotency-Key"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("parameters = %s, want %s", got, want)
	}
	if _, err := doc.MarshalJSON(); err != nil {
		t.Error(err)
	}
}

// TestFormsInTheDocument: a form is an object of the body's texts, not a file to
// choose; only bodies that are bytes are.
func TestFormsInTheDocument(t *testing.T) {
	t.Parallel()
	type body struct {
		Name  string   `json:"name" doc:"Who."`
		Note  string   `json:"note,omitempty"`
		Count int      `json:"count"`
		Tags  []string `json:"tags,omitempty"`
	}
	const forms = "application/json, application/x-www-form-urlencoded"
	a := web.NewAPI(web.APIConfig{Name: "x"})
	nothing := func(http.ResponseWriter, *http.Request) error { return nil }
	a.Handle("POST", "/known", nothing, web.Doc{Scope: web.Public, Summary: "x", Consumes: forms, Body: body{}, Example: body{Name: "n"}})
	a.Handle("POST", "/dial", nothing, web.Doc{Scope: web.Public, Summary: "x", Consumes: forms, Body: body{}, Example: body{Note: "x"}})
	a.Handle("POST", "/bare", nothing, web.Doc{Scope: web.Public, Summary: "x", Consumes: forms, Body: body{}})
	a.Handle("POST", "/any", nothing, web.Doc{Scope: web.Public, Summary: "x", Consumes: forms})
	a.Handle("POST", "/bytes", nothing, web.Doc{Scope: web.Public, Summary: "x", Consumes: "image/png"})
	a.Handle("POST", "/files", nothing, web.Doc{Scope: web.Public, Summary: "x", Consumes: "multipart/form-data"})
	doc := web.Document("Hearth", "1", a)
	content := func(path, media string) string {
		t.Helper()
		text, err := json.Marshal(doc.Paths[path].Post.RequestBody.Content[media].Schema, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, tt := range []struct{ path, media, want string }{
		{"/known", "application/x-www-form-urlencoded", `{"properties":{"name":{"description":"Who.","examples":["n"],"type":"string"},"note":{"examples":[""],"type":"string"}},"required":["name"],"type":"object"}`},
		{"/dial", "application/x-www-form-urlencoded", `{"properties":{"name":{"description":"Who.","examples":[""],"type":"string"},"note":{"examples":["x"],"type":"string"}},"type":"object"}`},
		{"/bare", "application/x-www-form-urlencoded", `{"properties":{"name":{"description":"Who.","type":"string"},"note":{"type":"string"}},"required":["name"],"type":"object"}`},
		{"/any", "application/x-www-form-urlencoded", `{"additionalProperties":{"type":"string"},"type":"object"}`},
		{"/any", "application/json", `{"additionalProperties":true,"type":"object"}`},
		{"/bytes", "image/png", `{"contentMediaType":"application/octet-stream","format":"binary","type":"string"}`},
		{"/files", "multipart/form-data", `{"properties":{"files":{"items":{"contentMediaType":"application/octet-stream","format":"binary","type":"string"},"type":"array"},"form":{"contentMediaType":"application/octet-stream","format":"binary","type":"string"}},"required":["form"],"type":"object"}`},
	} {
		if got := content(tt.path, tt.media); got != tt.want {
			t.Errorf("%s as %s: %s, want %s", tt.path, tt.media, got, tt.want)
		}
	}
}

// TestRefusalInText: who answers in plain text sends no code to look at.
func TestRefusalInText(t *testing.T) {
	t.Parallel()
	nothing := func(http.ResponseWriter, *http.Request) error { return nil }
	for _, tt := range []struct {
		name, want string
		errors     web.ErrorWriter
	}{{"text", "Refused; the text says why.", web.End}, {"problem", "Refused; code says why. See /docs/errors.", web.Problem}} {
		a := web.NewAPI(web.APIConfig{Name: "x", Errors: tt.errors})
		a.Handle("POST", "/x", nothing, web.Doc{Scope: web.Public, Summary: "x"})
		if got := web.Document("Hearth", "1", a).Paths["/x"].Post.Responses["4XX"].Description; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSchemaNames holds that types of one name in two packages stay apart,
// however they are reached.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "things", Gate: gate{}})
	d := web.Doc{Summary: "x", Scope: web.Public}
	web.Get(a, "/a", func(context.Context, *none) (*fault.Error, error) { return nil, nil }, d)
	web.Get(a, "/b", func(context.Context, *none) (web.Reply[*http.Cookie], error) { return web.Reply[*http.Cookie]{}, nil }, d)
	schemas := web.Document("Hearth", "1", a).Components.Schemas.Map()
	if schemas["FaultError"] == nil || schemas["HttpCookie"] == nil {
		t.Errorf("schemas = %v, want FaultError and HttpCookie", schemas)
	}
}

// TestQuietRoutes holds that a quiet route has a line in the log when something
// went wrong, and else at debug only.
func TestQuietRoutes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path  string
		level slog.Level
		lines int
	}{{"/quiet", slog.LevelInfo, 0}, {"/quiet", slog.LevelDebug, 1}, {"/quiet?fail=1", slog.LevelInfo, 1}, {"/loud", slog.LevelInfo, 1}} {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: tt.level}))
		a := web.NewAPI(web.APIConfig{Errors: web.End, Log: slog.New(slog.DiscardHandler)})
		serve := func(w http.ResponseWriter, r *http.Request) error {
			if r.URL.Query().Get("fail") != "" {
				return fault.New(fault.TooMany, "X", "No.")
			}
			_, err := w.Write([]byte("ok"))
			return err
		}
		a.Handle("GET", "/quiet", serve, web.Doc{Summary: "x", Scope: web.Public, Quiet: true})
		a.Handle("GET", "/loud", serve, web.Doc{Summary: "x", Scope: web.Public})
		mux := http.NewServeMux()
		a.Mount(mux)
		web.Observe(log, web.End, nil, mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", tt.path, nil))
		if got := strings.Count(out.String(), "msg=request"); got != tt.lines {
			t.Errorf("GET %s at %s: %d lines, want %d", tt.path, tt.level, got, tt.lines)
		}
		if got := strings.Contains(out.String(), " code=X\n"); got != strings.Contains(tt.path, "fail") {
			t.Errorf("GET %s: the line is %q", tt.path, out.String())
		}
	}
}
