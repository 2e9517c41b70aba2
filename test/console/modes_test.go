package console

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestModes changes on the page of a survey how it is asked, finds it in the API,
// and finds there what a census wants.
func TestModes(t *testing.T) {
	d := openDemo(t)
	draft := client.SurveyDraft{SurveyID: "modes", Type: "MonitoringSurvey", ProjectID: "did:ixo:entity:123"}
	draft.Template, draft.Sampling = &client.SurveyFlags{EligibilityCriteria: true}, &client.SurveySampling{Method: "census"}
	s, err := d.owner().Surveys.Create(t.Context(), draft)
	if err != nil {
		t.Fatal(err)
	}
	d.visit("/console/surveys/" + s.SurveyID)
	d.see("of all households")
	d.run("open the dialog", browser.Tap(`//button[text()="How it is asked"]`), chromedp.WaitVisible(`dialog[open] input[value=phone]`))
	d.Shot(t, "survey-modes")
	d.run("choose", browser.Tap(`dialog[open] input[value=phone]`), browser.Tap(`dialog[open] button.primary`), chromedp.WaitNotPresent(`dialog[open]`))
	d.see("phone call") // also stood in the dialog
	got, err := d.owner().Surveys.Get(t.Context(), s.SurveyID)
	if err != nil || !slices.Equal(got.Modes, []string{"visit", "phone"}) {
		t.Errorf("modes %v, %v", got.Modes, err)
	}
	d.visit("/console/surveys/" + monitoring)
	d.see("asked by")
	if script[bool](d, `[...document.querySelectorAll("main button")].some((b) => b.textContent === "How it is asked")`) {
		t.Error("a survey that has begun can be changed")
	}
}
