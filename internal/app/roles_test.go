package app_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

// TestRolesDoTheirJobs: the shipped roles are enough for the work they are named
// for, and for no more than that.
func TestRolesDoTheirJobs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"owner": owner}
	for _, role := range []string{"collector", "supervisor", "verifier", "evaluator", "manager"} {
		k, err := h.Auth.Create(ctx, auth.Draft{Name: role, Principal: "did:ixo:role/" + role, Role: role})
		if err != nil {
			t.Fatal(err)
		}
		keys[role] = k.Text
	}
	do := func(status int, role, request, body string) map[string]any {
		t.Helper()
		method, path, _ := strings.Cut(request, " ")
		w, out := h.ask(t, keys[role], method, path, body)
		if w.Code != status {
			t.Fatalf("%s: %s = %d %s, want %d", role, request, w.Code, w.Body, status)
		}
		return out
	}
	home, _ := do(201, "owner", "POST /v1/entities", `{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"name":"Amina Otieno","phone":"+254700000001","location":{"district":"Kitui"}}}`)["did"].(string)
	const at = "/v1/surveys/zq.responses"
	do(200, "owner", "POST "+at+"/households", `{"items":[{"householdId":"`+home+`","location":{"lat":-1,"lon":36}},{"householdId":"did:ixo:household/else"}]}`)
	one := at + "/households/" + url.PathEscape(home)
	if w := h.as(keys["collector"], "GET", "/v1/entities/"+home, ""); strings.Contains(w.Body.String(), "Amina") {
		t.Errorf("a collector reads the twin: %s", w.Body)
	}

	// The supervisor assigns, and the collector it is assigned to calls.
	do(403, "collector", "PATCH "+one, `{"collector":"did:ixo:role/collector"}`)
	do(200, "supervisor", "PATCH "+one, `{"collector":"did:ixo:role/collector"}`)
	contacts := "GET " + at + "/households?collector=me&contact=true"
	if got := fmt.Sprint(do(200, "collector", contacts, "")); !strings.Contains(got, "Amina Otieno") || !strings.Contains(got, "+254700000001") || !strings.Contains(got, "Kitui") {
		t.Errorf("contacts = %s", got)
	}
	if got := fmt.Sprint(do(200, "supervisor", contacts, "")); strings.Contains(got, "Amina") {
		t.Errorf("contacts of somebody else = %s", got)
	}
	if got := fmt.Sprint(do(200, "owner", "GET /v1/audit?type=survey.contacts_disclosed", "")); strings.Count(got, "did:ixo:role/collector") != 1 {
		t.Errorf("audit = %s, want the collector once", got)
	}
	do(201, "collector", "POST "+at+"/responses", `{"responseId":"zq.role","householdId":"`+home+`","timestamp":"2024-02-20T10:00:00Z","responses":`+interview+`}`)

	// The supervisor draws, asks again and runs the checks, and judges nothing.
	do(201, "supervisor", "POST "+at+"/back-checks:draw", `{"size":2,"seed":"roles"}`)
	do(403, "collector", "POST "+at+"/back-checks:draw", `{"size":1,"seed":"more"}`)
	do(200, "supervisor", "PATCH "+one, `{"collector":"did:ixo:role/supervisor"}`)
	checks, _ := do(200, "supervisor", "GET "+at+"/back-checks?state=drawn", "")["items"].([]any)
	mine := ""
	for _, c := range checks {
		id, _ := c.(map[string]any)["backCheckId"].(string)
		b := do(200, "supervisor", "GET "+at+"/back-checks/"+id, "")
		if who, _ := b["householdId"].(string); who == home {
			mine = id
		} else if !strings.HasPrefix(who, "hh_") {
			t.Errorf("the household of somebody else = %s", who)
		}
	}
	do(200, "supervisor", "POST "+at+"/back-checks/"+mine, `{"outcome":"unreachable"}`)
	run, _ := do(202, "supervisor", "POST "+at+"/quality/runs", `{}`)["id"].(string)
	do(403, "supervisor", "POST /v1/responses/zq.role/verification", `{"status":"verified","revision":1}`)
	do(403, "supervisor", "GET /v1/responses/zq.role/evidence", "")
	do(403, "supervisor", "POST "+at+"/households", `{"items":[]}`)
	do(403, "supervisor", "POST "+at+"/close", `{}`)
	if got := fmt.Sprint(do(200, "supervisor", "GET /v1/responses/zq.role", "")); strings.Contains(got, home) {
		t.Errorf("a response as a supervisor reads it = %s, want no household", got)
	}

	// A job is for whoever has started it.
	do(200, "supervisor", "GET /v1/jobs/"+run, "")
	ran, _ := do(202, "verifier", "POST "+at+"/quality/runs", `{}`)["id"].(string)
	do(200, "verifier", "GET /v1/jobs/"+ran, "")
	do(403, "evaluator", "GET /v1/jobs/"+ran, "")

	// The evaluator judges claims, and nothing else.
	producer, _ := do(201, "owner", "POST /v1/entities", `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricOne":"value","metricTwo":100}}`)["did"].(string)
	oracle, _ := do(201, "owner", "POST /v1/entities", `{"type":"Oracle","protocol":"did:ixo:protocol/oracle","controllers":["did:ixo:role/evaluator"]}`)["did"].(string)
	claim, _ := do(201, "owner", "POST /v1/claims", `{"subject":"`+producer+`","oracle":"`+oracle+`"}`)["id"].(string)
	do(200, "evaluator", "POST /v1/entities/"+claim+"/verification", `{"status":"rejected","reason":"the stove was sold","revision":1}`)
	do(403, "evaluator", "POST /v1/entities/"+producer+"/verification", `{"status":"verified","revision":1}`)
	do(403, "manager", "POST /v1/entities/"+claim+"/verification", `{"status":"verified","revision":1}`)
}

// TestDocumentedTemplate: the template of the interface document asks for no
// consent. With the one section that the reference names it can be used, and the
// response of the document, which does not answer it, is taken as partial.
func TestDocumentedTemplate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	owner := h.guest(t, owner)
	const template = `{"templateId":"mine-v1","sections":[%s` +
		`{"id":"eligibility","questions":[{"id":"current_cooking","type":"multiple_choice","required":true,"options":["wood","charcoal","lpg","electric"]}]},` +
		`{"id":"socio_economic","questions":[{"id":"household_size","type":"number","validation":{"min":1,"max":20}}]}],` +
		`"validations":{"requiredSections":["eligibility","socio_economic"],"completionThreshold":0.8}}`
	const survey = `{"surveyId":"mine","type":"BaselineSurvey","projectId":"did:ixo:entity:123","templateId":"mine-v1","sampling":{"method":"census"},"collectors":["did:ixo:agent/123"]}`
	owner.wants("as documented", "POST /v1/templates", fmt.Sprintf(template, ""), "201")
	owner.wants("with a question for consent", "PUT /v1/templates/mine-v1", fmt.Sprintf(template, `{"id":"consent","questions":[{"id":"agreed","type":"consent"}]},`), "200")
	owner.wants("publish", "POST /v1/templates/mine-v1/publish", `{}`, "200")
	owner.wants("a survey", "POST /v1/surveys", survey, "201")
	owner.wants("start it", "POST /v1/surveys/mine/activate", `{}`, "200")
	w, r := h.ask(t, owner.credential, "POST", "/v1/responses", `{"responseId":"resp_789","surveyId":"mine-v1","householdId":"did:ixo:household/123","timestamp":"2024-02-20T10:00:00Z",`+
		`"responses":{"eligibility":{"current_cooking":["wood","charcoal"]},"socio_economic":{"household_size":5}},`+
		`"verification":{"status":"verified","verifier":"did:ixo:agent/456","timestamp":"2024-02-20T11:00:00Z"}}`)
	if w.Code != 201 || r["status"] != "partial" || fmt.Sprint(r["missing"]) != "[/responses/consent/agreed]" {
		t.Errorf("the documented response = %d %s, want 201 and partial", w.Code, w.Body)
	}
}
