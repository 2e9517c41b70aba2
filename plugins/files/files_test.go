package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
	"github.com/hearth-dmrv/hearth/plugins/files"
)

// shelf is the store of one user, and when its values end.
type shelf struct {
	values map[string][]byte
	ends   map[string]time.Time
}

func (s shelf) User(context.Context) (plugin.Shelf, error)    { return s, nil }
func (s shelf) Session(context.Context) (plugin.Shelf, error) { return s, nil }

func (s shelf) Get(_ context.Context, name string) ([]byte, error) { return s.values[name], nil }

func (s shelf) Put(context.Context, string, []byte) error { return fmt.Errorf("for ever") }

func (s shelf) PutUntil(_ context.Context, name string, value []byte, until time.Time) error {
	s.values[name], s.ends[name] = value, until
	return nil
}

func (s shelf) Delete(_ context.Context, name string) error {
	delete(s.values, name)
	return nil
}

func (s shelf) Entries(_ context.Context, _ string, limit int) ([]plugin.Entry, error) {
	var out []plugin.Entry
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if len(out) < limit {
			out = append(out, plugin.Entry{Name: name, Value: s.values[name]})
		}
	}
	return out, nil
}

func start(t *testing.T, attached ...plugin.Attachment) (*files.Plugin, shelf) {
	t.Helper()
	p, s := files.New(), shelf{map[string][]byte{}, map[string]time.Time{}}
	values, err := plugin.Read(p.Settings(), map[string]string{"keepFor": "2h"})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Start(t.Context(), plugin.Host{Store: s, Settings: values, Attachments: func(context.Context) ([]plugin.Attachment, error) { return attached, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// run calls a tool and gives its answer as JSON, or its error.
func run(t *testing.T, p *files.Plugin, name string, args any) string {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(p.Tools(), func(o plugin.Tool) bool { return o.Name == name })
	v, err := p.Tools()[at].Run(t.Context(), plugin.Call{Turn: plugin.Turn{SessionID: "talk"}, Args: raw})
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// call sends a request to a route.
func call(t *testing.T, p *files.Plugin, method, id string) (any, error) {
	t.Helper()
	path := "/files"
	if id != "" {
		path += "/{fileId}"
	}
	at := slices.IndexFunc(p.Routes(), func(r plugin.Route) bool { return r.Method == method && r.Path == path })
	r := httptest.NewRequest(method, "/files/x", nil)
	r.SetPathValue("fileId", id)
	return p.Routes()[at].Serve(&plugin.Request{Request: r})
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := ""
	for i := range 1000 {
		long += fmt.Sprintf("%d,%s\n", i+1, strings.Repeat("x", 90))
	}
	p, _ := start(t,
		plugin.Attachment{Name: "a.csv", Type: "text/csv", Text: long, Note: "only its first 50000 characters are given"},
		plugin.Attachment{Name: "b.json", Text: `{"a":[1,2]}`}, plugin.Attachment{Name: "c.png", Note: "it is not text"}, plugin.Attachment{Name: "a.csv", Text: "older"},
		plugin.Attachment{Name: "one.txt", Text: strings.Repeat("é", 30_000)})
	got, next := "", 1
	for next > 0 {
		var part struct {
			Text  string `json:"text"`
			Lines int    `json:"lines"`
			Next  int    `json:"next"`
		}
		answer := run(t, p, "read_file", map[string]any{"name": "a.csv", "line": next, "lines": 1000})
		if err := json.Unmarshal([]byte(answer), &part); err != nil || len(part.Text) > 25<<10 || part.Lines != 1000 {
			t.Fatalf("%.200s: %v", answer, err)
		}
		got, next = got+part.Text, part.Next
	}
	if got != long {
		t.Errorf("the parts have %d of %d bytes", len(got), len(long))
	}
	for _, tt := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"name": "b.json", "line": 2, "lines": 1}, `{"name":"b.json","line":2,"text":" \"a\": [\n","lines":6,"next":3}`},
		{map[string]any{"name": "c.png"}, "The file has no text that can be read: it is not text"},
		{map[string]any{"name": "d"}, "name: no file of this name is attached to the conversation"},
		{map[string]any{"name": "b.json", "line": 7}, "line: the file has 6 lines that can be read"},
		{map[string]any{"name": "one.txt", "line": 3}, `"lines":3}`},
	} {
		if got := run(t, p, "read_file", tt.args); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%v = %.200s, want %s", tt.args, got, tt.want)
		}
	}
	if got := run(t, p, "list_files", map[string]any{}); !strings.HasPrefix(got, `{"attached":[{"name":"a.csv","type":"text/csv","lines":1000,"note":"only`) || !strings.HasSuffix(got, `"made":[]}`) {
		t.Errorf("list_files = %s", got)
	}
}

// What is made can be downloaded until it ends, and no cell of a table is a formula.
func TestMake(t *testing.T) {
	t.Parallel()
	p, s := start(t)
	var f api.MadeFile
	text := "name,kWh\n=HYPERLINK(1),-3.5\n@x,\"+cmd, a\"\n"
	if err := json.Unmarshal([]byte(run(t, p, "make_file", map[string]string{"name": "Kitui stoves.csv", "text": text})), &f); err != nil {
		t.Fatal(err)
	}
	if f.URL != "/files/"+f.ID || !s.ends[f.ID].Equal(f.CreatedAt.Add(2*time.Hour)) || !s.ends["text-"+f.ID].Equal(f.ExpiresAt) {
		t.Errorf("the file is %+v", f)
	}
	v, err := call(t, p, "GET", f.ID)
	reply, ok := v.(plugin.Reply)
	if err != nil || !ok || reply.Type != "text/csv; charset=utf-8" || reply.Filename != "Kitui stoves.csv" || string(reply.Content) != "name,kWh\n'=HYPERLINK(1),-3.5\n'@x,\"'+cmd, a\"\n" {
		t.Errorf("the download is %+v, %v", v, err)
	}
	if v, err := call(t, p, "GET", ""); err != nil || len(v.(api.Page[api.MadeFile]).Items) != 1 { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("the list is %v, %v", v, err)
	}
	for _, id := range []string{"x", "../x", "text-" + f.ID, strings.Repeat("0", 20)} {
		if _, err := call(t, p, "GET", id); err == nil || err.Error() != "File not found" {
			t.Errorf("GET %s = %v", id, err)
		}
	}
	if _, err := call(t, p, "DELETE", f.ID); err != nil || len(s.values) != 0 {
		t.Errorf("after DELETE there is %v, %v", s.values, err)
	}
	for _, tt := range [][3]string{
		{"a.html", "x", "name: want a name that ends"},
		{"a", "x", "name: want a name that ends"},
		{"../a.txt", "x", "name: want at most"},
		{".txt", "x", "name: want at most"},
		{"a\r\nX: y.txt", "x", "name: want at most"},
		{strings.Repeat("n", 97) + ".txt", "x", "name: want at most"},
		{"a.json", "{", "text: it is not valid JSON"},
		{"a.txt", "a\x00", "text: want text"},
		{"a.txt", strings.Repeat("x", 60<<10+1), "text: a file has at most"},
	} {
		if got := run(t, p, "make_file", map[string]string{"name": tt[0], "text": tt[1]}); !strings.HasPrefix(got, tt[2]) {
			t.Errorf("make_file %q = %s", tt[0], got)
		}
	}
	for range 50 {
		run(t, p, "make_file", map[string]string{"name": "a.txt", "text": "x"})
	}
	if got := run(t, p, "make_file", map[string]string{"name": "a.txt", "text": "x"}); !strings.HasPrefix(got, "There are 50 files already") {
		t.Errorf("one more = %s", got)
	}
}
