package app_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// probe is a request that shows whether somebody has a scope and changes
// nothing: it names what does not exist, or says nothing that could be done.
type probe struct {
	request
	without int    // the answer to those who lack the scope; 403 by default
	also    rights // what else it takes to get an answer
}

// probes are the requests that show scopes, one route for each.
func probes() map[string]probe {
	get := func(path string) probe { return probe{request: request{method: "GET", path: path}} }
	post := func(path, body string) probe { return probe{request: request{method: "POST", path: path, body: body}} }
	remove := func(path string) probe { return probe{request: request{method: "DELETE", path: path}} }
	out := map[string]probe{
		"audit:read":        get("/v1/audit?limit=1"),
		"devices:read":      get("/v1/devices?limit=1"),
		"devices:write":     post("/v1/devices/"+noTwin+"/readings", `{}`),
		"entities:read":     get("/v1/entities/" + noTwin),
		"entities:write":    remove("/v1/entities/" + noTwin),
		"entities:transfer": post("/v1/entities/"+noTwin+"/transfer", `{}`),
		"entities:erase":    post("/v1/erasures", `{}`),
		"events:read":       get("/v1/events/types"),
		"exports:read":      get("/v1/exports/none"),
		"exports:write":     post("/v1/exports", `{"format":"none"}`),
		"groups:read":       get("/v1/entities/" + noTwin + "/members"),
		"groups:write":      remove("/v1/entities/" + noTwin + "/members/" + noTwin),
		"imports:read":      get("/v1/imports/none"),
		"imports:write":     post("/v1/imports?format=none", ``),
		"jobs:read":         get("/v1/jobs/none"),
		"jobs:write":        post("/v1/jobs/none/cancel", ``),
		"keys:read":         get("/v1/api-keys/" + noKey),
		"keys:write":        remove("/v1/api-keys/" + noKey),
		"protocols:read":    get("/v1/protocols/did:ixo:protocol%2Fnone"),
		"protocols:write":   remove("/v1/protocols/did:ixo:protocol%2Fnone"),
		"responses:read":    get("/v1/responses/none"),
		"responses:write":   remove("/v1/responses/none?reason=none"),
		"responses:verify":  get("/v1/responses/none/evidence"),
		"surveys:read":      get("/v1/surveys/none"),
		"surveys:write":     remove("/v1/surveys/none"),
		"templates:read":    get("/v1/templates/none"),
		"templates:write":   remove("/v1/templates/none"),
		"webhooks:read":     get("/v1/webhooks/none"),
		"webhooks:write":    remove("/v1/webhooks/none"),
		"workspaces:read":   get("/v1/workspaces/none"),
		"workspaces:write":  post("/v1/workspaces", `{}`),
	}
	for scope, also := range map[string]string{"exports:write": "entities:read", "imports:write": "entities:write"} {
		p := out[scope]
		p.also = scopesOf(also)
		out[scope] = p
	}
	pii := get("/v1/entities?limit=1&filter=eq(properties.name,%22x%22)&protocol=did:ixo:protocol%2Fperson")
	pii.also = scopesOf("entities:read")
	out["entities:pii"] = pii
	operator := get("/api/ussd/sessions")
	operator.without = http.StatusNotFound
	out["operations:read"] = operator
	for _, s := range scopeNames {
		if _, ok := out[s]; ok {
			continue
		}
		// No route asks for this scope alone. Whoever has it can give it, which is
		// asked before anybody looks for the organisation.
		give := post("/v1/entities/"+noTwin+"/groups", text(object{"name": "none", "scopes": []string{s}}))
		give.also = scopesOf("groups:write")
		out[s] = give
	}
	return out
}

// shown reports whether an answer shows that the caller has the scope.
func (p probe) shown(r *httptest.ResponseRecorder) bool {
	without := p.without
	if without == 0 {
		without = http.StatusForbidden
	}
	return r.Code != http.StatusUnauthorized && r.Code != without
}

// TestProbes holds that each probe tells callers with a scope from callers who
// have everything else, and that there is one for every scope.
func TestProbes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, authorityServer(t, nil), "probes")
	all := probes()
	if len(all) != len(scopeNames) || len(scopeNames) > 128 {
		t.Fatalf("%d probes for %d scopes; rights has 128 bits", len(all), len(scopeNames))
	}
	var given []string
	for _, scope := range slices.Sorted(maps.Keys(all)) {
		p := all[scope]
		if strings.HasSuffix(p.path, "/groups") {
			given = append(given, scope)
		}
		with := append([]string{scope}, names(p.also)...)
		for _, tt := range []struct {
			who    string
			scopes []string
			want   bool
		}{{"only." + scope, with, true}, {"but." + scope, names(scopesOf("*").less(scopesOf(scope))), false}} {
			if !w.do(step{Who: "root", Do: "key", New: tt.who, List: tt.scopes}) {
				t.Fatalf("make %s", tt.who)
			}
			r := w.send(caller{key: w.keys[tt.who]}, p.request)
			if got := p.shown(r); got != tt.want {
				t.Errorf("%s: %s %s = %d %s, shown %v, want %v", tt.who, p.method, p.path, r.Code, r.Body, got, tt.want)
			}
		}
	}
	t.Logf("scopes that no route asks for by themselves, shown by giving them: %s", strings.Join(given, " "))
}

// names are the scopes of a set.
func names(r rights) []string {
	var out []string
	for i, name := range scopeNames {
		if r.has(i) {
			out = append(out, name)
		}
	}
	return out
}

// exercised is what a caller can do of some scopes.
func (w *world) exercised(c caller, all map[string]probe, scopes rights) rights {
	var out rights
	for i, name := range scopeNames {
		if !scopes.has(i) {
			continue
		}
		r := w.send(c, all[name].request)
		if r.Code == http.StatusUnauthorized {
			return out
		}
		if all[name].shown(r) {
			out = out.and(bit(i))
		}
	}
	return out
}
