package app_test

import (
	"strings"
	"testing"
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
	made("/v1/surveys/zq.responses/responses", `{"responseId":"zq.answer","householdId":"did:ixo:household/7","timestamp":"2026-01-31T10:00:00Z",`+
		`"collector":"did:ixo:agent/123","responses":{"eligibility":{"current_cooking":["wood"]}}}`)
	h.ids["response"] = "zq.answer"
}

// surveyPart is what stands for a parameter in a path of area B, "" elsewhere.
func (h *house) surveyPart(route, name string) string {
	switch name {
	case "{templateId}":
		return h.ids["template"]
	case "{responseId}":
		return h.ids["response"]
	case "{version}":
		if strings.HasPrefix(route, "/v1/templates") {
			return "1"
		}
	case "{did}":
		if strings.HasPrefix(route, "/v1/surveys") {
			return listed
		}
	case "{surveyId}":
		last := route[strings.LastIndex(route, "/")+1:]
		if _, ok := steps()[last]; ok {
			return "zq." + last
		}
		return h.ids["survey"]
	}
	return ""
}
