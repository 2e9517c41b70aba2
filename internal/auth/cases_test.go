package auth_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// routeCase is one case of testdata/<route>.json. The cases of a file are the
// steps of one story in a fresh house; see newHouse for who is in it. "$any"
// stands for any text, {name} in a path for the id of a key of the house.
type routeCase struct {
	Name    string            `json:"name"`
	As      string            `json:"as"` // whose key is sent; "" sends none
	Request string            `json:"request"`
	Header  map[string]string `json:"header"` // of the request
	Body    jsontext.Value    `json:"body"`   // of the request
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"` // of the answer; "" must be absent
	Answer  jsontext.Value    `json:"answer"`
	Rows    map[string]int    `json:"rows"` // new rows by table, 0 for the others
	Events  []string          `json:"events"`
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 9 {
		t.Fatalf("%d files of cases, %v, want one for each of the 9 routes", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var cases []routeCase
			if err := json.Unmarshal(text, &cases, json.RejectUnknownMembers(true)); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				h := newHouse(t, d)
				for _, c := range cases {
					t.Run(c.Name, func(t *testing.T) { c.run(t, h) })
				}
			})
		})
	}
}

func (c routeCase) run(t *testing.T, h *house) {
	method, path, _ := strings.Cut(c.Request, " ")
	for name, id := range h.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	before := rows(t, h.db)
	w := h.do(call{method: method, path: path, key: h.keys[c.As], body: string(c.Body), header: c.Header})
	if w.Code != c.Status {
		t.Errorf("status = %d, want %d", w.Code, c.Status)
	}
	for name, value := range c.Headers {
		if got := w.Header().Get(name); got != value && (value != "$any" || got == "") {
			t.Errorf("header %s = %q, want %q", name, got, value)
		}
	}
	var got, want any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if err := json.Unmarshal(c.Answer, &want); err != nil {
		t.Fatalf("case: %v", err)
	}
	if p, ok := got.(map[string]any); ok && w.Code >= 400 {
		got = problem(p)
	}
	if diff := cmp.Diff(wild(want, got), got); diff != "" {
		t.Errorf("answer (-want +got)\n%s", diff)
	}
	after := rows(t, h.db)
	for table, n := range after {
		if new := n - before[table]; new != c.Rows[table] {
			t.Errorf("%d new rows in %s, want %d", new, table, c.Rows[table])
		}
	}
	if events := h.takeEvents(); !slices.Equal(events, c.Events) {
		t.Errorf("events = %q, want %q", events, c.Events)
	}
}

// problem leaves the part of a refusal that is not the same in all of them.
func problem(p map[string]any) map[string]any {
	out := map[string]any{"code": p["code"], "message": p["message"]}
	if list, ok := p["errors"].([]any); ok {
		var fields []any
		for _, f := range list {
			m := f.(map[string]any)
			fields = append(fields, fmt.Sprint(m["pointer"], " ", m["code"]))
		}
		out["errors"] = fields
	}
	return out
}

// wild puts what was got in the place of every "$any" it may stand for.
func wild(want, got any) any {
	switch w := want.(type) {
	case string:
		if s, ok := got.(string); ok && w == "$any" && s != "" {
			return got
		}
	case map[string]any:
		g, _ := got.(map[string]any)
		out := maps.Clone(w)
		for k := range out {
			out[k] = wild(w[k], g[k])
		}
		return out
	case []any:
		g, _ := got.([]any)
		out := slices.Clone(w)
		for i := range min(len(w), len(g)) {
			out[i] = wild(w[i], g[i])
		}
		return out
	}
	return want
}

func rows(t *testing.T, d *db.DB) map[string]int {
	t.Helper()
	out := map[string]int{}
	for table, query := range map[string]string{
		"workspaces": `SELECT count(*) FROM workspaces`,
		"principals": `SELECT count(*) FROM principals`,
		"api_keys":   `SELECT count(*) FROM api_keys`,
	} {
		var n int
		if err := d.QueryRow(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}
