package eventtest

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

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
)

// Case is one case of a route. It runs in a workspace of its own.
type Case struct {
	Name    string         `json:"name"`
	Append  []string       `json:"append"` // events stored first, as Append takes them
	Before  []Request      `json:"before"` // must succeed
	Request Request        `json:"request"`
	Status  int            `json:"status"`
	Header  map[string]any `json:"header"`
	Body    any            `json:"body"`   // what must be in it; "*" is any value, null none
	Rows    map[string]int `json:"rows"`   // rows of the workspace in a table
	Events  []string       `json:"events"` // types appended by the request
}

// Request is one request. "${name}" in it stands for a value saved before.
type Request struct {
	Method string            `json:"method"`
	Path   string            `json:"path"`
	As     string            `json:"as"` // role; "owner" by default, "none" for nobody, "other" of another workspace
	Header map[string]string `json:"header"`
	Body   jsontext.Value    `json:"body"`
	Save   map[string]string `json:"save"` // name → JSON pointer into the answer
}

// Cases runs every case of a file against a handler.
func Cases(t *testing.T, file string, d *db.DB, l *event.Log, h http.Handler) {
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
	for i, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			p := &play{t: t, h: h, ws: fmt.Sprintf("ws%d", i), vars: map[string]string{}}
			p.run(d, l, c)
		})
	}
}

type play struct {
	t    *testing.T
	h    http.Handler
	ws   string
	vars map[string]string
}

func (p *play) run(d *db.DB, l *event.Log, c Case) {
	p.t.Helper()
	Append(p.t, d, l, p.ws, c.Append...)
	for i, r := range c.Before {
		if resp := p.send(r); resp.Code >= 300 {
			p.t.Fatalf("before[%d]: %d %s", i, resp.Code, resp.Body)
		}
	}
	held, err := l.Range(p.t.Context(), p.ws)
	if err != nil {
		p.t.Fatal(err)
	}
	resp := p.send(c.Request)
	if resp.Code != c.Status {
		p.t.Fatalf("status = %d, want %d; body %s", resp.Code, c.Status, resp.Body)
	}
	var body any
	if err := json.Unmarshal(resp.Body.Bytes(), &body); err != nil {
		p.t.Fatalf("body is not JSON: %v", err)
	}
	if c.Body != nil {
		p.match("", body, c.Body)
	}
	for name, want := range c.Header {
		p.match("header "+name, any(resp.Header().Get(name)), want)
	}
	for table, want := range c.Rows {
		p.rows(d, table, want)
	}
	p.events(l, held.Newest, c.Events)
}

func (p *play) expand(s string) string {
	for name, value := range p.vars {
		s = strings.ReplaceAll(s, "${"+name+"}", value)
	}
	return s
}

func (p *play) send(r Request) *httptest.ResponseRecorder {
	p.t.Helper()
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	req := httptest.NewRequestWithContext(p.t.Context(), method, p.expand(r.Path), bytes.NewReader([]byte(p.expand(string(r.Body)))))
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	switch r.As {
	case "none":
	case "other":
		req.Header.Set("Authorization", "Bearer another-"+p.ws+" owner")
	case "":
		req.Header.Set("Authorization", "Bearer "+p.ws+" owner")
	default:
		req.Header.Set("Authorization", "Bearer "+p.ws+" "+r.As)
	}
	for name, value := range r.Header {
		req.Header.Set(name, p.expand(value))
	}
	resp := httptest.NewRecorder()
	p.h.ServeHTTP(resp, req)
	p.save(r, resp)
	return resp
}

func (p *play) save(r Request, resp *httptest.ResponseRecorder) {
	p.t.Helper()
	if len(r.Save) == 0 {
		return
	}
	var body map[string]any
	if err := json.Unmarshal(resp.Body.Bytes(), &body); err != nil {
		p.t.Fatalf("save: %v in %s", err, resp.Body)
	}
	for name, pointer := range r.Save {
		var at any = body
		for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			m, _ := at.(map[string]any)
			at = m[part]
		}
		p.vars[name] = fmt.Sprint(at)
	}
}

// match wants got to hold all of want.
func (p *play) match(at string, got, want any) {
	p.t.Helper()
	switch w := want.(type) {
	case string:
		if w = p.expand(w); w == "*" && got != nil || reflect.DeepEqual(got, any(w)) {
			return
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for name, v := range w {
			p.match(at+"/"+name, g[name], v)
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i, v := range w {
			p.match(fmt.Sprintf("%s/%d", at, i), g[i], v)
		}
		return
	default:
		if reflect.DeepEqual(got, want) {
			return
		}
	}
	p.t.Errorf("%s = %v, want %v", at, got, want)
}

func (p *play) rows(d *db.DB, table string, want int) {
	p.t.Helper()
	var got int
	if err := d.QueryRow(p.t.Context(), `SELECT count(*) FROM `+table+` WHERE ws = $1`, p.ws).Scan(&got); err != nil {
		p.t.Fatal(err)
	}
	if got != want {
		p.t.Errorf("%d rows in %s, want %d", got, table, want)
	}
}

func (p *play) events(l *event.Log, after int64, want []string) {
	p.t.Helper()
	b, err := l.Read(p.t.Context(), event.Query{Workspace: p.ws, After: after, Limit: 100})
	if err != nil {
		p.t.Fatal(err)
	}
	got := []string{}
	for _, it := range b.Items {
		got = append(got, it.Type)
		p.filterable(it)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		p.t.Errorf("events = %v, want %v", got, want)
	}
}

// filterable wants filters to know what the data of an event holds.
func (p *play) filterable(it event.Item) {
	p.t.Helper()
	if it.Data.IsZero() {
		return
	}
	var data map[string]any
	if err := json.Unmarshal(it.Data.Value, &data); err != nil {
		p.t.Fatal(err)
	}
	for name := range data {
		if _, err := event.ParseWhere("exists(data."+name+")", ""); err != nil {
			p.t.Errorf("%s has data.%s, by which nobody can filter: enter it at facts in internal/event/where.go", it.Type, name)
		}
	}
}
