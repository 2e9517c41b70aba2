package webtest

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Handler serves the routes of an API and checks every JSON answer against the
// route's documentation: an undocumented status or member, a missing member or
// a value of another type fails the test.
// It does not check the routes that more adds, nor answers to requests that
// select fields.
func Handler(t testing.TB, a *web.API, more ...func(*http.ServeMux)) http.Handler {
	mux := http.NewServeMux()
	a.Mount(mux)
	for _, add := range more {
		add(mux)
	}
	return &answers{t: t, api: a, next: mux}
}

// answers checks the answers of a handler.
type answers struct {
	t    testing.TB
	api  *web.API
	next http.Handler
}

// documents caches OpenAPI documents by the routes they describe: most tests of
// a program serve the same routes, and making a document takes time.
var documents = sync.OnceValue(func() *library { return &library{all: map[string]*document{}} })

type library struct {
	mu  sync.Mutex
	all map[string]*document
}

// of returns the document of an API, and makes it the first time.
func (l *library) of(a *web.API) *document {
	var key strings.Builder
	for _, r := range a.Routes() {
		key.WriteString(r.Method + " " + r.Path + "\n")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.all[key.String()]
	if d == nil {
		d = &document{api: a, schemas: map[string]*jsonschema.Schema{}}
		l.all[key.String()] = d
	}
	return d
}

// document returns the API's document, made for the first answer.
type document struct {
	mu       sync.Mutex
	api      *web.API
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by place in the document
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := &seen{ResponseWriter: w}
	a.next.ServeHTTP(seen, r)
	if !seen.keep || seen.body.Len() == 0 || r.URL.Query().Has("fields") {
		return
	}
	if err := a.check(r.Pattern, seen); err != nil {
		a.t.Errorf("%s %s = %d %s\n%v", r.Method, r.URL, seen.status, &seen.body, err)
	}
}

// seen keeps a JSON answer to check it.
type seen struct {
	http.ResponseWriter
	status int
	media  string
	keep   bool
	body   bytes.Buffer
}

// Unwrap lets a stream reach the underlying writer.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *seen) WriteHeader(status int) {
	if s.status == 0 && status >= 200 {
		s.status = status
		s.media, _, _ = mime.ParseMediaType(s.Header().Get("Content-Type"))
		s.keep = (s.media == "application/json" || s.media == "application/problem+json") && s.Header().Get("Content-Encoding") == "" && s.Header().Get("Content-Disposition") == ""
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *seen) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.keep {
		s.body.Write(p)
	}
	return s.ResponseWriter.Write(p)
}

func (a *answers) check(pattern string, s *seen) error {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		return nil // no route
	}
	schema, err := documents().of(a.api).schema(method, path, s)
	if schema == nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(&s.body)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// schema returns the schema of an answer, or nil if the document has none.
func (d *document) schema(method, path string, s *seen) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.compiler == nil {
		if err := d.make(); err != nil {
			return nil, err
		}
	}
	responses := "doc.json#/paths/" + escape(strings.NewReplacer("{$}", "", "...}", "}").Replace(path)) + "/" + strings.ToLower(method) + "/responses/"
	for _, status := range []string{strconv.Itoa(s.status), strconv.Itoa(s.status/100) + "XX"} {
		at := responses + status + "/content/" + escape(s.media) + "/schema"
		schema, ok := d.schemas[at]
		if !ok {
			schema, _ = d.compiler.Compile(at) // there may be none
			d.schemas[at] = schema
		}
		if schema != nil {
			return schema, nil
		}
	}
	return nil, fmt.Errorf("the document has no answer %d in %s", s.status, s.media)
}

func escape(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

func (d *document) make() error {
	text, err := web.DocumentJSON(web.Document("test", "1", d.api))
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	d.compiler, d.api = jsonschema.NewCompiler(), nil
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	return d.compiler.AddResource("doc.json", doc)
}
