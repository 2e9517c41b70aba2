package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// canary is in everything that protocols mark as personal in these twins.
const canary = "cAnArY7f3a"

// resident is a protocol of somebody's own with a personal property, which only
// its second version marks.
const resident = "did:ixo:protocol/resident"

// settle puts personal twins into the house in place of those all routes are
// called with, and returns the DIDs of a household, a device and a person.
func (h *house) settle(t *testing.T) (household, device, person string) {
	t.Helper()
	made := func(method, path, body string) string {
		t.Helper()
		w := h.as(owner, method, path, strings.ReplaceAll(body, "X", canary))
		var out struct {
			DID string `json:"did"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); w.Code >= 300 || err != nil {
			t.Fatalf("%s %s = %d %s", method, path, w.Code, w.Body)
		}
		return out.DID
	}
	household = made("POST", "/v1/households", `{"name":"X","phone":"X","location":{"district":"Kitui","village":"X"},"size":4}`)
	made("PATCH", "/v1/entities/"+household, `{"properties":{"phone":"X2","size":5},"metadata":{"name":"X","color":"green"}}`)
	made("POST", "/v1/protocols", `{"did":"`+resident+`","type":"Protocol","extends":"did:ixo:protocol/clean-cooking","properties":{"owner":"string","name":"string"},"pii":["name"],"indexed":["owner"]}`)
	made("POST", "/v1/protocols/"+resident+"/publish", `{}`)
	device = made("POST", "/v1/devices", `{"type":"Cooker","protocol":"`+resident+`","householdId":"`+household+`","properties":{"name":"X","owner":"X"},"name":"X"}`)
	made("POST", "/v1/protocols/"+resident+"/versions", `{"version":"1.1.0","pii":["name","owner"]}`)
	made("POST", "/v1/protocols/"+resident+"/publish", `{"version":"1.1.0"}`)
	person = made("POST", "/v1/domains", `{"type":"Person","class":"did:ixo:protocol/person","metadata":{"name":"X"},"properties":{"phone":"X","language":"sw"}}`)
	made("POST", "/v1/entities/"+person+"/relationships", `{"role":"household","target":"`+household+`"}`)
	made("POST", "/v1/entities/"+household+"/relationships", `{"role":"tenant","target":"`+h.ids["organisation"]+`"}`)
	made("PATCH", "/v1/entities/"+device, `{"metadata":{"color":"red"}}`)
	made("PATCH", "/v1/entities/"+person, `{"metadata":{"color":"blue"}}`)
	return household, device, person
}

// TestReadersLearnNoPersonalProperties is made from the table of routes: every
// route that only reads is called about personal twins by every role that may
// not see what is personal. A new route is in it by itself.
func TestReadersLearnNoPersonalProperties(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	household, device, person := h.settle(t)
	callers := map[string]string{"reader": h.read}
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"auditor", "verifier", "evaluator", "collector", "device"} {
		k, err := h.Auth.Create(ctx, auth.Draft{Name: role, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		callers[role] = k.Text
	}
	manager, err := h.Auth.Create(ctx, auth.Draft{Name: "manager", Role: "manager"})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0 // answers that have something to hide
	for _, id := range []string{household, device, person} {
		for name := range map[string]bool{"household": true, "entity": true, "whole": true, "device": true, "organisation": true} {
			h.ids[name] = id
		}
		for _, r := range h.Routes {
			if isWrite(r) || ofOracle(r) {
				continue
			}
			for _, path := range h.personalPaths(r) {
				if strings.Contains(h.send(t, r, path, manager.Text).Body.String(), canary) {
					seen++
				}
				h.learnNothing(t, r, path, callers)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d answers to a manager hold something personal, want at least 40: the routes are not called with the right twins", seen)
	}
}

// learnNothing calls a route with the keys of callers who may not see what is
// personal.
func (h *house) learnNothing(t *testing.T, r web.Route, path string, callers map[string]string) {
	t.Helper()
	for role, key := range callers {
		if w := h.send(t, r, path, key); strings.Contains(strings.ToLower(w.Body.String()), strings.ToLower(canary)) {
			t.Errorf("%s: %s %s = %d %s", role, r.Method, path, w.Code, w.Body)
		}
	}
}

// personalPaths is a route with the ids of the house, and what else it can be
// asked for that might show more.
func (h *house) personalPaths(r web.Route) []string {
	path := h.path(r)
	id := url.QueryEscape(h.ids["entity"])
	switch {
	case r.Path == "/v1/entities/{did}":
		return []string{path, path + "?at=1", path + "?fields=properties", path + "?fields=properties.name,properties.phone,metadata.name", path + "?expand=relationships,protocol"}
	case r.Path == "/v1/entities":
		return []string{path, path + "?did=" + id + "&expand=relationships&fields=relationships,properties", path + "?sort=-updated&limit=1000"}
	case strings.HasSuffix(r.Path, "/graph"):
		return []string{path, path + "?format=jsonld", path + "?format=graphml"}
	case strings.HasSuffix(r.Path, "/properties/{name}"):
		base := strings.TrimSuffix(path, "metricOne")
		return []string{base + "name", base + "phone", base + "owner", base + "location"}
	case r.Path == "/v1/devices":
		return []string{path, path + "?type=Cooker"}
	case r.Path == "/v1/graph/paths":
		return []string{"/v1/graph/paths?from=" + id + "&to=" + id}
	}
	return []string{path}
}

// TestQuestionsThatWouldTell: what may not be seen may not be asked for either,
// not even to learn that nothing is found.
func TestQuestionsThatWouldTell(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	household, _, _ := h.settle(t)
	const homes, twins = "&protocol=did:ixo:protocol/household", "/v1/entities?"
	for query, status := range map[string]int{
		"filter=eq(properties.phone,x)":                                                  403,
		"filter=exists(properties.phone)":                                                403,
		"filter=or(eq(type,Device),not(like(properties.name,\"a*\")))":                   403,
		"filter=eq(properties.name,x)":                                                   403, // a name is personal in some
		"filter=eq(properties.name,x)&protocol=did:ixo:protocol/project":                 200,
		"filter=eq(properties.name,x)" + homes:                                           403,
		"filter=and(eq(protocol,did:ixo:protocol/project),eq(properties.name,x))":        200,
		"filter=or(eq(protocol,\"did:ixo:protocol/project\"),eq(properties.name,x))":     403,
		"filter=eq(metadata.name,x)":                                                     403,
		"filter=eq(metadata.color,green)":                                                200,
		"filter=exists(properties)":                                                      403,
		"filter=eq(properties.location.village,x)":                                       403,
		"filter=eq(properties.district,Kitui)":                                           200,
		"filter=exists(withheld)":                                                        400,
		"near=-1.2,36.8,5000":                                                            403,
		"near=-1.2,36.8,5000&protocol=did:ixo:protocol/clean-cooking":                    200,
		"filter=near(-1.2,36.8,5000)":                                                    403,
		"filter=within(properties.location,-2,36,-1,37)":                                 403,
		"filter=eq(properties.owner,x)&protocol=" + resident:                             403, // marked by a later version
		"sort=properties.owner&protocol=" + resident:                                     403,
		"sort=properties.district" + homes:                                               200,
		"sort=properties.serial&filter=eq(properties.owner,x)&protocol=" + resident:      403,
		"did=" + household + "&filter=eq(properties.phone," + canary + ")":               403,
		"did=" + household + "&filter=eq(properties.phone,else)&fields=properties.phone": 403,
	} {
		w := h.as(h.read, "GET", twins+strings.ReplaceAll(query, " ", "%20"), "")
		if w.Code != status {
			t.Errorf("GET %s = %d %s, want %d", query, w.Code, w.Body, status)
		}
		if status == 403 && (!strings.Contains(w.Body.String(), "entities:pii") || !strings.Contains(w.Body.String(), `"pointer":"query/`)) {
			t.Errorf("GET %s = %s, want the scope and the parameter named", query, w.Body)
		}
		if w := h.as(owner, "GET", twins+query, ""); w.Code == 403 {
			t.Errorf("GET %s as the owner = %s", query, w.Body)
		}
	}
}

// TestMaskedRecord: what is shown instead, to whom, and that it does not come
// back.
func TestMaskedRecord(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	household, _, _ := h.settle(t)
	path := "/v1/entities/" + household
	var masked struct {
		Properties map[string]any `json:"properties"`
		Metadata   map[string]any `json:"metadata"`
		Withheld   []string       `json:"withheld"`
	}
	full, w := h.as(owner, "GET", path, ""), h.as(h.read, "GET", path, "")
	if err := json.Unmarshal(w.Body.Bytes(), &masked); err != nil || w.Code != 200 {
		t.Fatalf("GET = %d %s, %v", w.Code, w.Body, err)
	}
	if got := strings.Join(masked.Withheld, " "); got != "location name phone metadata.name" || len(masked.Properties) != 2 || masked.Metadata["color"] != "green" {
		t.Errorf("record = %s", w.Body)
	}
	if strings.Contains(full.Body.String(), "withheld") || full.Header().Get("ETag") != w.Header().Get("ETag") || !strings.Contains(w.Header().Get("Cache-Control"), "no-store") {
		t.Errorf("the owner's = %v %s; the reader's %v", full.Header(), full.Body, w.Header())
	}
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	writer, err := h.Auth.Create(ctx, auth.Draft{Name: "writer", Scopes: []string{"entities:read", "entities:write"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{w.Body.String(), strings.Split(w.Body.String(), `,"withheld"`)[0] + "}"} {
		if got := h.as(writer.Text, "PUT", path, body); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "NOT_CONTROLLER") {
			t.Errorf("PUT by a stranger = %d %s", got.Code, got.Body)
		}
	}
	if got := h.as(owner, "PUT", path, w.Body.String()); got.Code != 400 && got.Code != 422 || !strings.Contains(got.Body.String(), "withheld") {
		t.Errorf("PUT of a masked record = %d %s, want it refused", got.Code, got.Body)
	}
	// Whoever controls a twin sees it, scope or not, and no longer once it does not.
	if got := h.as(owner, "PUT", path+"/controllers/"+url.PathEscape(writer.Principal), ""); got.Code != 200 {
		t.Fatalf("give control = %d %s", got.Code, got.Body)
	}
	if got := h.as(writer.Text, "GET", path+"?at=1", ""); !strings.Contains(got.Body.String(), canary) {
		t.Errorf("GET by a controller = %d %s", got.Code, got.Body)
	}
	if got := h.as(writer.Text, "DELETE", path+"/controllers/"+url.PathEscape(writer.Principal), ""); got.Code != 200 || strings.Contains(got.Body.String(), canary) {
		t.Errorf("give it up = %d %s, want a masked record", got.Code, got.Body)
	}
	if got := h.as(writer.Text, "GET", path+"?at=1", ""); got.Code != 200 || strings.Contains(got.Body.String(), canary) {
		t.Errorf("GET by a former controller = %d %s", got.Code, got.Body)
	}
	// Hashes differ: with the one of the record what is withheld could be tried out.
	all, some := h.as(owner, "GET", path+"/audit", "").Body.String(), h.as(h.read, "GET", path+"/audit", "").Body.String()
	if !strings.Contains(some, `"ok":true`) || all == some {
		t.Errorf("audits %s and %s", all, some)
	}
	if a, b := h.as(owner, "GET", path+"/audit?limit=1", "").Body.String(), h.as(h.read, "GET", path+"/audit?limit=1", "").Body.String(); a == b || !strings.Contains(b, `"nextCursor":"`) {
		t.Errorf("audits %s and %s", a, b)
	}
}

// TestWritersLearnNothing: whoever may do something to twins of others learns
// nothing personal by the answer.
func TestWritersLearnNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	household, device, _ := h.settle(t)
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	k, err := h.Auth.Create(ctx, auth.Draft{Name: "k", Scopes: []string{"entities:read", "entities:write", "entities:verify", "entities:transfer"}})
	if err != nil {
		t.Fatal(err)
	}
	if w := h.post("/v1/devices", `{"type":"Cooker","protocol":"`+resident+`","serial":"S-1","properties":{"owner":"`+canary+`"},"name":"`+canary+`"}`); w.Code != 201 {
		t.Fatalf("make a device: %d %s", w.Code, w.Body)
	}
	guess := func(owner string) string {
		return `{"type":"Cooker","protocol":"` + resident + `","serial":"S-1","properties":{"owner":"` + owner + `"},"name":"else"}`
	}
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{"/v1/entities/" + household + "/verification", fmt.Sprintf(`{"status":"verified","evidence":"seen","revision":%v}`, h.record(t, "/v1/entities/"+household)["revision"]), 200},
		{"/v1/entities/" + household + "/transfer", `{"controller":"did:ixo:org/else"}`, 200},
		{"/v1/entities/" + device + "/transitions", `{"to":"suspended"}`, 403},
		{"/v1/devices", guess(canary), 409},
		{"/v1/entities", strings.ReplaceAll(`{"type":"Household","protocol":"did:ixo:protocol/household","controller":"did:ixo:org/else","properties":{"phone":"X"}}`, "X", canary), 201},
	} {
		if w := h.as(k.Text, "POST", tt.path, tt.body); w.Code != tt.status || strings.Contains(w.Body.String(), canary) {
			t.Errorf("POST %s = %d %s, want %d and nothing personal", tt.path, w.Code, w.Body, tt.status)
		}
	}
	right, wrong := h.as(k.Text, "POST", "/v1/devices", guess(canary)), h.as(k.Text, "POST", "/v1/devices", guess("else"))
	if a, b := problems(t, right.Body.Bytes()), problems(t, wrong.Body.Bytes()); a != b {
		t.Errorf("a right guess is answered %s, a wrong one %s", a, b)
	}
}

// problems are the pointers of a refusal.
func problems(t *testing.T, body []byte) string {
	t.Helper()
	var p struct {
		Errors []struct {
			Pointer string `json:"pointer"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range p.Errors {
		out = append(out, e.Pointer)
	}
	return strings.Join(out, " ")
}

// TestGroupsGiveSight: the scope comes from groups too, control of a twin as
// well, and the tools of the oracle show no more than their user sees.
func TestGroupsGiveSight(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	household, _, _ := h.settle(t)
	w := h.post("/v1/entities", `{"type":"Organisation","protocol":"did:ixo:protocol/organisation","properties":{"name":"N"},"groups":[`+
		`{"name":"readers","scopes":["entities:read"]},{"name":"seers","scopes":["entities:read","entities:pii"]},{"name":"keepers","scopes":["entities:read","entities:write"]}]}`)
	var org struct {
		DID           string `json:"did"`
		Relationships []struct {
			Target string `json:"target"`
		} `json:"relationships"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &org); err != nil || len(org.Relationships) != 3 {
		t.Fatalf("make an organisation: %d %s %v", w.Code, w.Body, err)
	}
	tools := map[string]tool.Tool{}
	for _, one := range h.Tools(t.Context()) {
		tools[one.Spec().Name] = one
	}
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	if w := h.as(owner, "PUT", "/v1/entities/"+household+"/controllers/"+url.PathEscape(org.DID), ""); w.Code != 200 {
		t.Fatalf("give control = %d %s", w.Code, w.Body)
	}
	for i, want := range []bool{false, true, true} {
		who := keyDID(t, string(rune('0'+i)))
		if w := h.put("/v1/entities/"+url.PathEscape(org.Relationships[i].Target)+"/members/"+url.PathEscape(who), `{}`); w.Code >= 300 {
			t.Fatalf("add a member: %d %s", w.Code, w.Body)
		}
		k, err := h.Auth.Create(ctx, auth.Draft{Name: "m", Role: "member", Principal: who})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/v1/entities/" + household, "/v1/entities?did=" + household, "/v1/households/" + household} {
			if w := h.as(k.Text, "GET", path, ""); w.Code != 200 || strings.Contains(w.Body.String(), canary) != want {
				t.Errorf("member %d: GET %s = %d %s, want sight %v", i, path, w.Code, w.Body, want)
			}
		}
		run := tool.With(t.Context(), tool.Context{User: who})
		for name, args := range map[string]string{"read_twin": `{"did":"` + household + `"}`, "search_twins": `{"query":"eq(did,\"` + household + `\")"}`} {
			out, err := tools[name].Run(run, tool.Call{Args: jsontext.Value(args)})
			if err != nil || strings.Contains(string(out.Data), canary) != want || strings.Contains(string(out.Data), "withheld") == want {
				t.Errorf("member %d: %s = %s, %v; want sight %v", i, name, out.Data, err, want)
			}
		}
		_, err = tools["search_twins"].Run(run, tool.Call{Args: jsontext.Value(`{"query":"eq(properties.phone,\"x\")"}`)})
		if seer := i == 1; (err == nil) != seer {
			t.Errorf("member %d searches by a telephone number: %v", i, err)
		}
	}
}
