package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestConflicts decides on the tab of a survey about an interview that two devices sent
// with different answers, and about one that came after the end.
func TestConflicts(t *testing.T) {
	d := openDemo(t)
	ctx, owner := t.Context(), d.owner()
	draft := client.SurveyDraft{SurveyID: "offline", Type: "MonitoringSurvey", ProjectID: "did:ixo:entity:123"}
	draft.Template, draft.Sampling = &client.SurveyFlags{EligibilityCriteria: true}, &client.SurveySampling{Method: "census"}
	draft.Collectors = []client.Collector{{DID: "did:ixo:agent/7", Name: "Asha"}}
	s, err := owner.Surveys.Create(ctx, draft)
	if err != nil {
		t.Fatal(err)
	}
	d.must(d.server.Key, "POST", "/v1/surveys/offline/activate", `{}`, 200)
	send := func(id string, household, inUse string) string {
		t.Helper()
		body := fmt.Sprintf(`{"items":[{"responseId":%q,"surveyId":"offline","householdId":%q,"collector":"did:ixo:agent/7","timestamp":%q,"partial":true,"responses":%s}]}`,
			id, household, time.Now().UTC().Format(time.RFC3339), inUse)
		return string(d.must(d.server.Key, "POST", "/v1/responses:batch", body, 200))
	}
	first := s.Sections[0]
	send("off-1", "did:ixo:household/1", `{"`+first+`":{"consent_given":true}}`)
	send("off-1", "did:ixo:household/1", `{"`+first+`":{"consent_given":false}}`)
	d.visit("/console/surveys/offline?tab=conflicts")
	d.see("Other answers of the same interview")
	d.shots("survey-conflicts", "/console/surveys/offline?tab=conflicts")
	d.choose("main article button", "Decide")
	d.run("choose each", browser.Tap("dialog[open] input[value=merged]"), browser.Tap(`dialog[open] input[type=radio][name^="/responses/"][value=sent]`))
	d.Shot(t, "survey-conflict-decide")
	d.choose("dialog[open] button.primary", "Decide")
	d.see("No conflicts")
	d.run("look at the decided", chromedp.SetValue("#resolved", "true", chromedp.ByQuery), chromedp.Evaluate(`void document.querySelector("#resolved").dispatchEvent(new Event("change", {bubbles: true}))`, nil))
	d.see("both together")

	d.must(d.server.Key, "POST", "/v1/surveys/offline/close", `{}`, 200)
	send("off-2", "did:ixo:household/2", `{"`+first+`":{"consent_given":true}}`)
	d.visit("/console/surveys/offline?tab=conflicts")
	d.see("Came after the survey was closed")
	d.choose("main article button", "Decide")
	d.choose("dialog[open] button.primary", "Decide")
	d.see("No conflicts")
	kept := map[string]string{}
	for c, err := range owner.Responses.Conflicts(ctx, "offline", true, client.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		kept[c.SentResponseID] = c.Resolution
	}
	if fmt.Sprint(kept) != "map[off-1:merged off-2:sent]" {
		t.Errorf("the API has %v", kept)
	}
}
