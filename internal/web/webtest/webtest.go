// Package webtest runs the route cases that packages keep as JSON in testdata:
// a request, and the answer it must get.
package webtest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// Case is one case of a route.
type Case struct {
	Name    string         `json:"name"`
	Append  []string       `json:"append"` // events stored first
	Before  []Request      `json:"before"` // must succeed
	Request Request        `json:"request"`
	Status  int            `json:"status"`
	Header  map[string]any `json:"header"` // "" is none
	Body    any            `json:"body"`   // what must be in it; "*" is any value, null none
	Whole   bool           `json:"whole"`  // nothing else may be in the body
	Holds   []string       `json:"holds"`  // texts in the body, as it is sent
	Rows    map[string]int `json:"rows"`
	Events  []string       `json:"events"`
}

// Request is one request. "${name}" in it is replaced with a value saved before.
type Request struct {
	Method string            `json:"method"` // GET by default
	Path   string            `json:"path"`
	As     string            `json:"as"` // whose it is, as Play.Sign knows it
	Header map[string]string `json:"header"`
	Body   jsontext.Value    `json:"body"`
	Save   map[string]string `json:"save"` // name → JSON pointer into the answer
}

// Read returns the cases of a file in testdata.
func Read(t testing.TB, file string) []Case {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	if err := json.Unmarshal(text, &cases, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", file)
	}
	return cases
}

// Play runs cases against a handler.
type Play struct {
	Handler http.Handler
	Sign    func(r *http.Request, as string)
	Vars    map[string]string // values by the names requests and cases use
}

// Run sends the requests of a case and checks the answer.
func (p *Play) Run(t *testing.T, c Case) {
	t.Helper()
	p.Prepare(t, c)
	p.Check(t, c)
}

// Prepare sends the requests that precede the request of a case.
func (p *Play) Prepare(t *testing.T, c Case) {
	t.Helper()
	for i, r := range c.Before {
		if w := p.send(t, r); w.Code >= 300 {
			t.Fatalf("before[%d]: %d %s", i, w.Code, w.Body)
		}
	}
}

// Check sends the request of a case and checks the answer.
func (p *Play) Check(t *testing.T, c Case) {
	t.Helper()
	w := p.send(t, c.Request)
	if w.Code != c.Status {
		t.Fatalf("status = %d, want %d; body %s", w.Code, c.Status, w.Body)
	}
	for name, want := range c.Header {
		p.match(t, "header "+name, any(w.Header().Get(name)), want)
	}
	for _, text := range c.Holds {
		if !strings.Contains(w.Body.String(), p.Expand(text)) {
			t.Errorf("body lacks %q: %s", text, w.Body)
		}
	}
	if c.Body == nil {
		return
	}
	var body any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("body is not JSON: %v", err)
	}
	if p.match(t, "", body, c.Body); c.Whole {
		if diff := cmp.Diff(members(c.Body), members(body)); diff != "" {
			t.Errorf("members of the body (-want +got)\n%s", diff)
		}
	}
}

// Expand replaces "${name}" with the values of these names.
func (p *Play) Expand(s string) string {
	for name, value := range p.Vars {
		s = strings.ReplaceAll(s, "${"+name+"}", value)
	}
	return s
}

func (p *Play) send(t *testing.T, r Request) *httptest.ResponseRecorder {
	t.Helper()
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	req := httptest.NewRequestWithContext(t.Context(), method, p.Expand(r.Path), bytes.NewReader([]byte(p.Expand(string(r.Body)))))
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	p.Sign(req, r.As)
	for name, value := range r.Header {
		req.Header.Set(name, p.Expand(value))
	}
	w := httptest.NewRecorder()
	p.Handler.ServeHTTP(w, req)
	p.save(t, r, w)
	return w
}

func (p *Play) save(t *testing.T, r Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if len(r.Save) == 0 {
		return
	}
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("save: %v in %s", err, w.Body)
	}
	for name, pointer := range r.Save {
		var at any = body
		for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			m, _ := at.(map[string]any)
			at = m[part]
		}
		p.Vars[name] = fmt.Sprint(at)
	}
}

// match checks that got holds everything in want.
func (p *Play) match(t *testing.T, at string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case string:
		if w = p.Expand(w); w == "*" && got != nil && got != "" || reflect.DeepEqual(got, any(w)) {
			return
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for name, v := range w {
			p.match(t, at+"/"+name, g[name], v)
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i, v := range w {
			p.match(t, fmt.Sprintf("%s/%d", at, i), g[i], v)
		}
		return
	default:
		if reflect.DeepEqual(got, want) {
			return
		}
	}
	t.Errorf("%s = %v, want %v", at, got, want)
}

// members reduces a value to the names of its members.
func members(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, v := range x {
			out[name] = members(v)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, v := range x {
			out[i] = members(v)
		}
		return out
	}
	return nil
}
