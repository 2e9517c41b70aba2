package hostile_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// operation is one entry of the API document.
type operation struct {
	Method, Path string
	Parameters   []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	RequestBody *struct {
		Required bool `json:"required"`
		Content  map[string]struct {
			Example any    `json:"example"`
			Schema  schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]any `json:"content"`
	} `json:"responses"`

	schemas map[string]schema
}

// schema is as much of JSON Schema as is needed to find string members.
type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
}

func (o *operation) String() string { return o.Method + " " + o.Path }

// types are the documented content types of a status.
func (o *operation) types(status int) []string {
	r, ok := o.Responses[strconv.Itoa(status)]
	if !ok {
		r = o.Responses[strconv.Itoa(status/100)+"XX"]
	}
	return slices.Collect(maps.Keys(r.Content))
}

// media is the content type of a JSON body, "" when there is none. Where a list
// of operations may be sent too, it is the other one: that has an example.
func (o *operation) media() string {
	if o.RequestBody == nil {
		return ""
	}
	for _, m := range []string{"application/json", "application/merge-patch+json"} {
		if _, ok := o.RequestBody.Content[m]; ok {
			return m
		}
	}
	return ""
}

// body is the documented example, a fresh copy; nil when it is no object.
func (o *operation) body() map[string]any {
	example, _ := o.RequestBody.Content[o.media()].Example.(map[string]any)
	return maps.Clone(example)
}

// members are the names of all members the body may have.
func (o *operation) members() []string {
	s := o.RequestBody.Content[o.media()].Schema
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = o.schemas[name]
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// operations reads the API document of the server.
func (g *target) operations(t *testing.T) []*operation {
	t.Helper()
	a, err := g.fire(g.request(t, "GET", "/docs-json", nil), nil)
	if err != nil {
		t.Fatalf("read the API document: %v", err)
	}
	var doc struct {
		Paths      map[string]map[string]*operation `json:"paths"`
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(a.body, &doc); err != nil {
		t.Fatalf("decode the API document: %v", err)
	}
	var all []*operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			o := doc.Paths[path][method]
			o.Method, o.Path, o.schemas = strings.ToUpper(method), path, doc.Components.Schemas
			all = append(all, o)
		}
	}
	if len(all) < 20 {
		t.Fatalf("the API document has %d operations, want them all", len(all))
	}
	return all
}

// withBody are the operations that take a JSON body.
func withBody(all []*operation) []*operation {
	return slices.DeleteFunc(slices.Clone(all), func(o *operation) bool { return o.media() == "" })
}

// post makes a request of the operation with a raw body. ids has the object to
// send it to, by the beginning of the path.
func (g *target) post(t *testing.T, o *operation, ids []object, body []byte) *http.Request {
	t.Helper()
	path := o.Path
	for _, x := range ids {
		if strings.HasPrefix(path, x.before) {
			path = x.path + strings.TrimPrefix(path, x.before)
			break
		}
	}
	path = strings.NewReplacer("{id}", "data", "{name}", "metricOne").Replace(path)
	req := g.request(t, o.Method, path, body)
	req.Header.Set("Content-Type", o.media())
	req.Header.Set("If-Match", "*")
	return req
}

// object is something that operations whose path begins as given act on.
type object struct{ before, path string }

// objects makes one object for each path that takes an id in front of a body.
func (g *target) objects(t *testing.T) []object {
	t.Helper()
	key := g.create(t, "/v1/api-keys", `{"name":"to rotate","scopes":["events:read"]}`, "id")
	hook := g.create(t, "/v1/webhooks", `{"url":"https://example.org/hook","events":["*"],"active":false}`, "id")
	org := g.create(t, "/v1/entities", `{"type":"Organisation","protocol":"did:ixo:protocol/organisation"}`, "did")
	twin := g.create(t, "/v1/entities", `{"type":"Device","protocol":"did:ixo:protocol/template"}`, "did")
	device := g.create(t, "/v1/devices", `{"type":"StoveUseMonitor"}`, "did")
	protocol := g.create(t, "/v1/protocols", `{"type":"Protocol","properties":{"metricOne":"string"}}`, "did")
	return []object{
		{"/v1/api-keys/{id}", "/v1/api-keys/" + key},
		{"/v1/webhooks/{id}", "/v1/webhooks/" + hook},
		{"/v1/entities/{did}/groups", "/v1/entities/" + org + "/groups"},
		{"/v1/entities/{did}", "/v1/entities/" + twin},
		{"/v1/devices/{did}", "/v1/devices/" + device},
		{"/v1/protocols/{did}", "/v1/protocols/" + protocol},
	}
}

func (g *target) create(t *testing.T, path, body, name string) string {
	t.Helper()
	a, err := g.fire(g.request(t, "POST", path, []byte(body)), nil)
	if err != nil || a.status != http.StatusCreated {
		t.Fatalf("create at %s: %+v, %v; want 201", path, a, err)
	}
	var got map[string]any
	if err := json.Unmarshal(a.body, &got); err != nil {
		t.Fatalf("create at %s: %v", path, err)
	}
	id, ok := got[name].(string)
	if !ok {
		t.Fatalf("create at %s: no %s in %s", path, name, a.body)
	}
	return id
}
