package app_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// erasable is the household in the example of an erasure.
const erasable = "did:ixo:entity:175d7824ba25002e4ec206365e206236"

// amina is a person elsewhere.
const amina = "did:ixo:person/amina"

// noTwin is a DID nobody has.
const noTwin = "did:ixo:entity:00000000000000000000000000000000"

// furnish puts one twin of each sort into the house, and what hangs on them,
// through the routes themselves.
func (h *house) furnish(t *testing.T) {
	t.Helper()
	made := func(path, body string) map[string]any {
		t.Helper()
		w := h.post(path, body)
		if w.Code >= 300 {
			t.Fatalf("POST %s: %d %s", path, w.Code, w.Body)
		}
		var out map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	id := func(m map[string]any, name string) string {
		text, ok := m[name].(string)
		if !ok {
			t.Fatalf("no %s in %v", name, m)
		}
		return text
	}
	org := made("/v1/entities", `{"type":"Organisation","protocol":"did:ixo:protocol/organisation","properties":{"name":"Stoves"}}`)
	h.ids["organisation"] = id(org, "did")
	group, ok := org["relationships"].([]any)[0].(map[string]any)
	if !ok {
		t.Fatalf("an organisation without a group: %v", org)
	}
	h.ids["group"] = id(group, "target")
	h.ids["household"] = id(made("/v1/households", `{"did":"`+erasable+`","location":{"district":"XYZ"},"baseline":{"fuelType":"Charcoal","monthlyConsumption":40}}`), "did")
	h.ids["device"] = id(made("/v1/devices", `{"type":"StoveUseMonitor","householdId":"`+erasable+`"}`), "did")
	made("/v1/devices/"+h.ids["device"]+"/readings", `{"readings":[{"timestamp":"2024-02-10T08:00:00Z","temperature":80},{"timestamp":"2024-02-10T08:05:00Z","temperature":20}]}`)
	h.ids["entity"] = id(made("/v1/entities", `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricOne":"value","metricTwo":100}}`), "did")
	h.ids["whole"] = id(made("/v1/entities", `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricOne":"value"},`+
		`"controllers":["`+id(org, "controller")+`","`+amina+`"],`+
		`"services":[{"id":"#data","type":"DataIngestion","endpoint":"https://example.org/ingest"}]}`), "did")
	h.ids["claim"] = id(made("/v1/claims", `{"kind":"fuel-saved","subject":"`+h.ids["device"]+`","periodEnd":"2020-01-31"}`), "id")
	h.ids["collection"] = id(made("/v1/collections", `{"name":"2026","protocol":"did:ixo:protocol/clean-cooking"}`), "id")
	h.ids["dispute"] = "disp_1" // of no claim
	h.ids["relationship"] = id(made("/v1/entities/"+h.ids["whole"]+"/relationships", `{"role":"operator","target":"`+h.ids["organisation"]+`"}`), "id")
	proto := id(made("/v1/protocols", `{"type":"Protocol","properties":{"metricOne":"string"},"relationships":{"verifier":"OracleEntity"},"claimTypes":{"fuel-saved":{"verification":{"facts":[{"id":"usageRate","type":"number"}],`+
		`"rubric":[{"id":"used","stage":"approval","when":"facts.usageRate > 0.8","then":{"outcome":"approved","reasonCode":"IN_USE"}}]}}}}`), "did")
	made("/v1/protocols/"+proto+"/publish", `{}`)
	made("/v1/protocols/"+proto+"/versions", `{"version":"1.1.0"}`)
	h.ids["protocol"] = proto
	h.ids["claim-simulation"] = id(made("/v1/claims:simulate", `{"kind":"fuel-saved","protocol":"`+proto+`","version":"1.0.0"}`), "id")
	h.ids["import"] = id(made("/v1/imports?format=ndjson", importLine), "id")
	h.ids["export"] = id(made("/v1/exports", `{"format":"csv"}`), "id")
	h.ids["migration"] = id(made("/v1/protocols/"+proto+"/migrations", `{"to":"1.0.0","dryRun":true}`), "id")
	gone := made("/v1/households", `{"location":{"district":"XYZ"}}`)
	h.ids["erasure"] = id(made("/v1/erasures", `{"subject":"`+id(gone, "did")+`","reason":"asked to"}`), "id")
}

// importedTable is a table of one twin.
const importedTable = "type,protocol,properties.district\nHousehold,did:ixo:protocol/household,Kitui\n"

// importLine is a file of one twin.
const importLine = `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricOne":"imported"}}` + "\n"

// post sends a body as the owner.
func (h *house) post(path, body string) *httptest.ResponseRecorder {
	return h.as(owner, "POST", path, body)
}

// stay signs a browser in as the owner and gives the id of its session.
func (h *house) stay(t *testing.T) string {
	t.Helper()
	req := httptest.NewRequest("POST", "http://field.test:3000/console/session", strings.NewReader(`{"key":"`+owner+`"}`))
	req.Header.Set("Origin", "http://field.test:3000")
	req.Header.Set("X-Hearth-Console", "1")
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, req)
	var v struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.ID == "" {
		t.Fatalf("sign in: %d %s", w.Code, w.Body)
	}
	return v.ID
}

// put replaces what is there as the owner.
func (h *house) put(path, body string) *httptest.ResponseRecorder {
	return h.as(owner, "PUT", path, body)
}

// as sends a body with a key.
func (h *house) as(key, method, path, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if !strings.Contains(path, "/drafts/") { // the first one has nothing to match
		req.Header.Set("If-Match", "*")
	}
	req.RemoteAddr = "198.51.100.7:1234"
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/v1/attachments") {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	if strings.Contains(path, "/imports") {
		req.Header.Set("Content-Type", "application/x-ndjson")
	}
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, req)
	return w
}

// part is what stands for a parameter in a path.
func (h *house) part(route, before, name string) string {
	if part := h.surveyPart(route, name); part != "" {
		return part
	}
	if before == "sessions" && strings.HasPrefix(route, "/v1/console/") {
		return h.ids["stay"]
	}
	switch before {
	case "mcp-servers", "credits":
		return h.ids[before]
	case "grants":
		return h.ids["mcp-servers"] + "__forecast"
	}
	switch name {
	case "{file...}":
		return "swagger-ui.css"
	case "{revision}", "{seq}":
		return "1"
	case "{version}":
		return "1.0.0"
	case "{member}", "{target}":
		return amina
	case "{name}":
		return "metricOne"
	case "{kind}":
		return "fuel-saved"
	case "{did}":
		return h.twin(route, before)
	}
	if before == "services" {
		return "data"
	}
	if before == "entities" { // of the did:web documents
		return strings.TrimPrefix(h.ids["entity"], "did:ixo:entity:")
	}
	if id, ok := h.ids[before]; ok {
		return id
	}
	return h.ids[strings.TrimSuffix(before, "s")]
}

// twin is the twin a route is about.
func (h *house) twin(route, before string) string {
	switch {
	case before != "entities" && h.ids[strings.TrimSuffix(before, "s")] != "":
		return h.ids[strings.TrimSuffix(before, "s")]
	case strings.HasSuffix(route, "/groups"), strings.HasSuffix(route, "/subdomains"):
		return h.ids["organisation"]
	case strings.Contains(route, "/members"):
		return h.ids["group"]
	case strings.HasSuffix(route, "/transitions"): // of a twin that is no draft
		return h.ids["household"]
	case strings.HasSuffix(route, "/diff"), strings.HasSuffix(route, "/confirm"), strings.HasSuffix(route, "}") && !strings.HasSuffix(route, "{did}"): // a part of a twin
		return h.ids["whole"]
	}
	return h.ids["entity"]
}

// query is what some routes cannot do without.
func (h *house) query(r web.Route) string {
	switch {
	case strings.HasSuffix(r.Path, "/replay"):
		return "?from=1"
	case r.Path == "/v1/responses/{responseId}" && r.Method == "DELETE":
		return "?reason=asked"
	case r.Path == "/v1/responses" && r.Method == "GET":
		return "?householdId=" + listed
	case strings.HasSuffix(r.Path, "{version}/diff"):
		return "?to=1.1.0"
	case strings.HasSuffix(r.Path, "/diff"):
		return map[bool]string{true: "?from=1.0.0&to=1.1.0", false: "?from=1&to=2"}[strings.HasPrefix(r.Path, "/v1/protocols")]
	case strings.HasSuffix(r.Path, "/statistics"):
		return "?question=consent/consent_given"
	case r.Path == "/v1/graph/paths":
		return "?from=" + h.ids["entity"] + "&to=" + h.ids["organisation"]
	case r.Path == "/v1/names":
		return "?did=" + h.ids["entity"] + "," + h.ids["household"]
	case r.Path == "/v1/kpt/{kptId}" && r.Method != "GET":
		return "?reason=asked"
	case r.Path == "/v1/sampling/draws", r.Path == "/v1/kpt/analysis":
		return "?projectId=did:ixo:entity:123"
	case r.Path == "/v1/search":
		return "?q=S"
	case r.Path == "/v1/memberships":
		return "?member=did:ixo:person%2Famina"
	case strings.HasSuffix(r.Path, "/imports") && r.Method == "POST":
		return "?format=ndjson"
	}
	return ""
}

// TestOracleStays: nobody can take the server its own oracle, whose DID would
// be gone for good.
func TestOracleStays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.send(t, web.Route{Method: "GET", Path: "/v1/entities"}, "/v1/entities?class=oracle&fields=did", owner)
	var page struct {
		Items []struct {
			DID string `json:"did"`
		} `json:"items"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) == 0 {
		t.Fatalf("oracles: %s, %v; want some", w.Body, err)
	}
	oldest := page.Items[len(page.Items)-1].DID // the server made it before anybody could make another
	w = h.send(t, web.Route{Method: "DELETE", Path: "/v1/entities/{did}"}, "/v1/entities/"+oldest, owner)
	if w.Code != 409 || !strings.Contains(w.Body.String(), "ORACLE_REQUIRED") {
		t.Errorf("deactivate the oracle: %d %s, want ORACLE_REQUIRED", w.Code, w.Body)
	}
}
