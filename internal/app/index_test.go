package app_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// offer is what GET /v1 says, as a client reads it.
type offer struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	APIVersion   string            `json:"apiVersion"`
	Links        map[string]string `json:"links"`
	Capabilities []struct {
		Name, Description, Href string
		Templated               bool
	} `json:"capabilities"`
	Limits struct {
		PageItems  struct{ Default, Max int } `json:"pageItems"`
		BodyBytes  int64                      `json:"bodyBytes"`
		BatchItems map[string]int             `json:"batchItems"`
		Bodies     []struct {
			Method, Path string
			Bytes        int64
		} `json:"bodies"`
	} `json:"limits"`
	Deprecations jsontext.Value `json:"deprecations"`
}

func offered(t *testing.T, h http.Handler) offer {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/v1", nil))
	var o offer
	if err := json.Unmarshal(w.Body.Bytes(), &o, json.MatchCaseInsensitiveNames(true)); err != nil || w.Code != http.StatusOK {
		t.Fatalf("GET /v1 = %d %s, %v", w.Code, w.Body, err)
	}
	return o
}

func TestIndexSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	o := offered(t, h.Handler)
	if o.Name == "" || o.Version == "" || o.APIVersion != "v1" || string(o.Deprecations) != "[]" {
		t.Errorf("index = %+v, want name, version and no deprecations", o)
	}
	for name, path := range o.Links {
		method := "GET"
		if name == "events" {
			method = "HEAD" // a stream does not end
		}
		if w := h.as(owner, method, path, ""); w.Code != http.StatusOK {
			t.Errorf("%s %s = %d, want 200", method, path, w.Code)
		}
	}
	var names []string
	for _, c := range o.Capabilities {
		names = append(names, c.Name)
		if c.Description == "" || c.Href == "" || c.Templated != strings.Contains(c.Href, "{") {
			t.Errorf("capability = %+v, want a description and a link", c)
		}
		routed := slices.ContainsFunc(h.Routes, func(r web.Route) bool { return openPath(r.Path) == c.Href && r.Doc.Tag == c.Name })
		if !routed {
			t.Errorf("%s leads to %s, where there is no route of it", c.Name, c.Href)
		}
	}
	for _, want := range []string{"entities", "protocols", "surveys", "responses", "events", "webhooks", "jobs", "keys", "ussd", "oracle"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
	l := o.Limits
	if l.PageItems.Max != 1000 || l.BodyBytes != 1<<20 {
		t.Errorf("limits = %+v", l)
	}
	for path, want := range map[string]int{
		"/v1/entities:batch": 1000, "/v1/responses:batch": 500, "/v1/surveys/{surveyId}/households": 1000, "/v1/devices/{did}/readings": 5000, "/v1/imports": 1_000_000,
	} {
		if l.BatchItems[path] != want {
			t.Errorf("batchItems = %v, want %d for %s", l.BatchItems, want, path)
		}
	}
	for _, want := range []string{"POST /v1/imports", "PUT /v1/attachments/{sha256}", "POST /v1/entities:batch", "POST /v1/devices/{did}/readings", "POST /v1/templates:import"} {
		found := false
		for _, b := range l.Bodies {
			found = found || b.Method+" "+b.Path == want && b.Bytes > l.BodyBytes
		}
		if !found {
			t.Errorf("bodies = %v, want %s in it", l.Bodies, want)
		}
	}
}

// The index is asked as other routes are: HEAD has no body, a slash at the end
// is another path, and what is asked besides is refused.
func TestIndexAsARoute(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, tt := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"HEAD", "/v1", 200, ""},
		{"GET", "/v1/", 404, "ROUTE_NOT_FOUND"},
		{"GET", "/v1/entities/", 404, "ROUTE_NOT_FOUND"},
		{"POST", "/v1", 405, "METHOD_NOT_ALLOWED"},
		{"GET", "/v1?x=1", 400, "INVALID_PARAMETER"},
	} {
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.code) {
			t.Errorf("%s %s = %d %s, want %d %s", tt.method, tt.path, w.Code, w.Body, tt.status, tt.code)
		}
	}
}

// A server without an area does not offer it.
func TestIndexOfAPart(t *testing.T) {
	t.Parallel()
	b := app.Build(t, owner, func(c *config.Config) { c.Data.Dir, c.Server.Areas = t.TempDir(), []string{"a"} })
	for _, c := range offered(t, b.Handler).Capabilities {
		if c.Name == "surveys" || c.Name == "responses" || c.Name == "ussd" || c.Name == "oracle" {
			t.Errorf("%s is offered at %s", c.Name, c.Href)
		}
	}
}
