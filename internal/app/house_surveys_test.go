package app_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// listed is a household on the lists of the surveys in the house.
const listed = "did:ixo:household/123"

// houseSurvey is a survey that can be started at once: one of the baseline, for
// responses that name the template only, and follow-ups.
const houseSurvey = `{"surveyId":"%","type":"FollowUpSurvey","projectId":"did:ixo:entity:123","template":{"stovePerceptions":true},` +
	`"sampling":{"method":"simple_random","size":100,"confidence":0.95,"enrolment":"open"},"collectors":["did:ixo:agent/123"]}`

// steps are the surveys that routes need in a state of their own: by the end of
// the route, how a draft gets there.
func steps() map[string][]string {
	return map[string][]string{
		"ready": nil, "activate": nil, "pause": {"activate"}, "close": {"activate"}, "rounds": {"activate"}, "outcome": {"activate"},
		"resume": {"activate", "pause"}, "reopen": {"activate", "close"}, "archive": {"activate", "close"}, "responses": {"activate"},
	}
}

// furnishSurveys puts a template, surveys in every state and a response into
// the house, through the routes themselves.
func (h *house) furnishSurveys(t *testing.T) {
	t.Helper()
	made := func(path, body string) {
		t.Helper()
		if w := h.post(path, body); w.Code >= 300 {
			t.Fatalf("POST %s: %d %s", path, w.Code, w.Body)
		}
	}
	made("/v1/templates", `{"templateId":"zq.template","sections":[{"id":"consent","questions":[{"id":"agreed","type":"consent"}]}]}`)
	made("/v1/templates/zq.template/publish", `{}`)
	if w := h.put("/v1/templates/zq.template", `{"sections":[{"id":"consent","questions":[{"id":"agreed","type":"consent"},{"id":"note","type":"text"}]}]}`); w.Code >= 300 {
		t.Fatalf("PUT a template: %d %s", w.Code, w.Body)
	}
	h.ids["template"] = "zq.template"
	survey := func(id string, moves ...string) {
		t.Helper()
		draft := strings.ReplaceAll(houseSurvey, "%", id)
		if id == "zq.responses" {
			draft = strings.Replace(strings.Replace(draft, "FollowUp", "Baseline", 1), `"stovePerceptions":true`, `"eligibilityCriteria":true,"socioEconomicData":true`, 1)
		}
		made("/v1/surveys", draft)
		made("/v1/surveys/"+id+"/households", `{"items":[{"householdId":"`+listed+`"}]}`)
		for _, m := range moves {
			made("/v1/surveys/"+id+"/"+m, `{"reason":"as planned"}`)
		}
	}
	survey("zq.survey")
	h.ids["survey"] = "zq.survey"
	for name, moves := range steps() {
		h.ids["survey to "+name] = "zq." + name
		survey("zq."+name, moves...)
	}
	h.furnishResponses(t)
}

// picture is a file of a response, and otherPicture what the example sends.
const (
	picture      = "a stove\n"
	otherPicture = "another stove\n"
)

func sendsPicture(r web.Route) bool {
	return strings.HasPrefix(r.Path, "/v1/attachments") && r.Method == http.MethodPut
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// interview is what a household says that has agreed to it, of the sections that
// the survey of the responses has.
const interview = `{"consent":{"consent_given":true,"respondent_is_main_cook":true,"language":"sw","carbon_rights_waiver":true},` +
	`"eligibility":{"current_cooking":["wood"],"target_area":true,"household_in_other_programme":false,"owns_target_device":false,` +
	`"baseline_stove_type":"three_stone","willing_to_participate":true},` +
	`"socio_economic":{"household_size":5,"children_under_5":1,"income_band":"low","housing_type":"mud","head_education":"primary","density":"low"}}`

// furnishResponses puts a response, a picture and a conflict into the house.
func (h *house) furnishResponses(t *testing.T) {
	t.Helper()
	h.ids["response"] = "zq.answer"
	h.ids["attachment"] = hashOf(picture)
	answer := `{"responseId":"zq.answer","householdId":"did:ixo:household/7","timestamp":"2024-02-20T10:00:00Z","collector":"did:ixo:agent/123",` +
		`"responses":` + interview + `,"attachments":[{"sha256":"` + h.ids["attachment"] + `"}]}`
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	tablet, err := h.Auth.Create(ctx, auth.Draft{Name: "tablet", Principal: "did:ixo:agent/123", Role: "collector"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*httptest.ResponseRecorder{
		h.as(tablet.Text, "POST", "/v1/surveys/zq.responses/responses", answer),
		h.as(owner, "PUT", "/v1/surveys/zq.responses/drafts/zq.draft", `{"householdId":"did:ixo:household/123","responses":{}}`),
		h.put("/v1/attachments/"+h.ids["attachment"], picture),
		h.post("/v1/surveys/zq.responses/back-checks:draw", `{"size":1,"seed":"house"}`),
	} {
		if w.Code >= 300 {
			t.Fatalf("send a response: %d %s", w.Code, w.Body)
		}
	}
	var export struct {
		ID string `json:"id"`
	}
	w := h.post("/v1/surveys/zq.responses/exports", `{"format":"csv"}`)
	if err := json.Unmarshal(w.Body.Bytes(), &export); err != nil || export.ID == "" {
		t.Fatalf("ask for an export: %d %s, %v", w.Code, w.Body, err)
	}
	h.ids["survey export"] = export.ID
	w = h.post("/v1/surveys/zq.responses/imports", importedResponse)
	if err := json.Unmarshal(w.Body.Bytes(), &export); err != nil || w.Code != 202 {
		t.Fatalf("ask for an import: %d %s, %v", w.Code, w.Body, err)
	}
	h.ids["survey import"] = export.ID
	h.ids["back-check"] = h.firstOf(t, "/v1/surveys/zq.responses/back-checks", "backCheckId")
	w = h.post("/v1/responses:batch", `{"items":[`+strings.ReplaceAll(strings.Replace(answer, "{", `{"surveyId":"zq.responses",`, 1), "wood", "lpg")+`]}`)
	var out struct {
		Results []struct {
			ConflictID string `json:"conflictId"`
		} `json:"results"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || len(out.Results) != 1 || out.Results[0].ConflictID == "" {
		t.Fatalf("send a conflict: %d %s, %v", w.Code, w.Body, err)
	}
	h.ids["conflict"] = out.Results[0].ConflictID
	h.ids["proposal"] = "prp_78" // a form with a sheet of entities makes one; the household of this one is erased
	h.exec(t, `INSERT INTO twin_proposals (nid, ws, survey, response_id, household, list, action, twin, base, trunk, branch, at, status, sealed)
		SELECT 78, ws, nid, 'zq.answer', 'did:ixo:household/erased', 'stoves', 'create', '', 0, 0, '', 1, 'open', $1 FROM surveys WHERE survey_id = 'zq.responses'`, []byte{1})
	h.ids["cross-reference"] = "xrf_77" // a job makes one
	_, err = h.DB.Exec(t.Context(), `INSERT INTO cross_references (nid, survey, round, question, actor, at, body)
		SELECT 77, nid, 1, 'consent/consent_given', 'did:ixo:agent/123', 1, '{}' FROM surveys WHERE survey_id = 'zq.responses'`)
	if err != nil {
		t.Fatal(err)
	}
}

// firstOf gives a member of the first item of a list.
func (h *house) firstOf(t *testing.T, path, member string) string {
	t.Helper()
	w := h.as(owner, "GET", path, "")
	var page struct {
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) == 0 {
		t.Fatalf("GET %s: %d %s, %v", path, w.Code, w.Body, err)
	}
	id, _ := page.Items[0][member].(string)
	return id
}

// surveyPart is what stands for a parameter in a path of area B, "" elsewhere.
func (h *house) surveyPart(route, name string) string {
	if strings.Contains(route, "/proposals/{proposalId}") && name == "{surveyId}" {
		return "zq.responses"
	}
	if strings.HasSuffix(route, "/drafts/{responseId}") {
		return map[string]string{"{surveyId}": "zq.responses", "{responseId}": "zq.draft"}[name]
	}
	switch name {
	case "{templateId}":
		return h.ids["template"]
	case "{responseId}":
		return h.ids["response"]
	case "{sha256}":
		return h.ids["attachment"]
	case "{conflictId}":
		return h.ids["conflict"]
	case "{proposalId}":
		return h.ids["proposal"]
	case "{reportId}":
		return h.ids["report"]
	case "{exportId}":
		return h.ids["survey export"]
	case "{importId}":
		return h.ids["survey import"]
	case "{kptId}":
		return h.ids["kpt"]
	case "{designId}":
		return designPart(route)
	case "{table}":
		return "Submissions"
	case "{drawId}":
		return h.ids["draw"]
	case "{backCheckId}":
		return h.ids["back-check"]
	case "{crossReferenceId}":
		return h.ids["cross-reference"]
	case "{version}":
		if strings.HasPrefix(route, "/v1/templates") {
			return "1"
		}
	case "{did}":
		if strings.HasPrefix(route, "/v1/surveys") {
			return listed
		}
		if strings.HasSuffix(route, "/indicators") {
			return h.ids["surveyed project"]
		}
	case "{surveyId}":
		last := route[strings.LastIndex(route, "/")+1:]
		if strings.Contains(route, "/conflicts") || strings.Contains(route, "/back-checks/") || strings.Contains(route, "/cross-reference") || strings.Contains(route, "/exports/") || strings.Contains(route, "/imports/") || last == "back-checks:draw" || last == "flags:settle" {
			last = "responses"
		}
		if _, ok := steps()[last]; ok {
			return "zq." + last
		}
		return h.ids["survey"]
	}
	return ""
}

// settledFlag settles the flag that the response of the house has.
const settledFlag = `{"responseId":"zq.answer","rule":"outside_window","outcome":"explained","note":"It was sent on paper first."}`

// importedResponse is a file of one response.
const importedResponse = `{"responseId":"zq.imported","householdId":"did:ixo:household/zq","timestamp":"2026-02-20T12:00:00.000Z","responses":{}}` + "\n"
