package console

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestSettleFlag settles a flag of the demo on the tab of the survey, finds it in
// the API, and opens it again on the page of its interview.
func TestSettleFlag(t *testing.T) {
	d := openDemo(t)
	const survey = "demo-monitoring"
	first := func() client.QualityFlag {
		t.Helper()
		p, err := d.owner().Quality.FlagPage(t.Context(), survey, client.FlagQuery{Limit: 1})
		if err != nil || len(p.Items) == 0 {
			t.Fatalf("flags = %+v, %v", p, err)
		}
		return p.Items[0]
	}
	d.visit("/console/surveys/" + survey + "?tab=flags")
	d.run("settle the first", browser.Tap(".flag-end button"), chromedp.SendKeys("dialog[open] textarea", "The clock was wrong.", chromedp.ByQuery), browser.Tap("dialog[open] button.primary"))
	d.see("The clock was wrong.")
	d.Shot(t, "settled")
	f := first()
	if f.Settled == nil || f.Settled.Outcome != "explained" || f.Settled.Note != "The clock was wrong." {
		t.Fatalf("the API has %+v", f.Settled)
	}
	d.visit("/console/responses/" + f.ResponseID)
	d.see("The clock was wrong.")
	d.Shot(t, "settled-interview")
	d.run("open it again", chromedp.Evaluate(`[...document.querySelectorAll(".flags .done button")].find((b) => b.textContent === "Change").click()`, nil), chromedp.WaitVisible("dialog[open] form", chromedp.ByQuery),
		chromedp.Evaluate(`[...document.querySelectorAll("dialog[open] button")].find((b) => b.textContent === "Open it again").click()`, nil))
	d.until("the note is gone", `!document.querySelector(".flags .done")`)
	if f := first(); f.Settled != nil {
		t.Errorf("the API still has %+v", f.Settled)
	}
}
