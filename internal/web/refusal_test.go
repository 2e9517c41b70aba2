package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestMembersOfARefusal: what a program needs of a refusal are members of the
// problem, and of no other dialect.
func TestMembersOfARefusal(t *testing.T) {
	t.Parallel()
	type more struct {
		Next string `json:"next"`
	}
	taken := fault.New(fault.Conflict, "THING_TAKEN", "Taken.")
	for _, tt := range []struct {
		name   string
		errors web.ErrorWriter
		err    error
		want   map[string]string // member → value, "" for none
	}{
		{"stale", web.Problem, web.CheckMatch(`"6"`, 7), map[string]string{"current": `{"etag":"\"7\""}`, "code": `"STALE_REVISION"`, "status": "412"}},
		{"nothing stored", web.Problem, web.CheckMatch("*", 0), map[string]string{"current": "", "code": `"STALE_REVISION"`}},
		{"overtaken", web.Problem, web.Overtaken(), map[string]string{"current": "", "code": `"STALE_REVISION"`}},
		{"own", web.Problem, taken.Showing(more{"b"}), map[string]string{"next": `"b"`, "success": "false"}},
		{"none", web.Problem, taken, map[string]string{"next": "", "message": `"Taken."`}},
		{"not JSON", web.Problem, taken.Showing(func() {}), map[string]string{"code": `"THING_TAKEN"`}},
		{"other dialect", web.Nest, taken.Showing(more{"b"}), map[string]string{"next": "", "message": `"Taken."`}},
	} {
		h := web.Adapt(nil, tt.errors, func(http.ResponseWriter, *http.Request) error { return tt.err })
		w := httptest.NewRecorder()
		h(w, httptest.NewRequest("GET", "/v1/x", nil))
		var got map[string]jsontext.Value
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Errorf("%s: %v in %s", tt.name, err, w.Body)
		}
		for name, want := range tt.want {
			if string(got[name]) != want {
				t.Errorf("%s: %s = %s, want %q", tt.name, name, got[name], want)
			}
		}
	}
}

// TestMembersInTheDocument: the reference shows which routes have which members.
func TestMembersInTheDocument(t *testing.T) {
	t.Parallel()
	type more struct {
		Next string `json:"next,omitzero" doc:"Go there."`
	}
	nothing := func(http.ResponseWriter, *http.Request) error { return nil }
	a := web.NewAPI(web.APIConfig{Name: "x"})
	a.Handle("GET", "/plain", nothing, web.Doc{Scope: web.Public, Summary: "x"})
	a.Handle("GET", "/stale", nothing, web.Doc{Scope: web.Public, Summary: "x", Codes: []string{"STALE_REVISION"}})
	a.Handle("GET", "/more", nothing, web.Doc{Scope: web.Public, Summary: "x", Refusal: more{}})
	doc := web.Document("Hearth", "1", a)
	const problem = `{"$ref":"#/components/schemas/Problem"}`
	for path, want := range map[string]string{
		"/plain": problem,
		"/stale": `{"allOf":[` + problem + `,{"additionalProperties":true,"properties":{"current":{"$ref":"#/components/schemas/Current","description":"Of STALE_REVISION: the stored revision, where it is known."}},"type":"object"}]}`,
		"/more":  `{"allOf":[` + problem + `,{"additionalProperties":true,"properties":{"next":{"description":"Go there.","type":"string"}},"type":"object"}]}`,
	} {
		got, err := json.Marshal(doc.Paths[path].Get.Responses["4XX"].Content["application/problem+json"].Schema, json.Deterministic(true))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", path, got, err, want)
		}
	}
	if base := doc.Components.Schemas.Map()["Problem"]; base.AdditionalProperties != true || base.Properties["code"] == nil {
		t.Errorf("Problem = %+v, want it open to more members", base)
	}
}
