package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestSensors finds on the tab of a survey what the API says of answers and
// sensors, with the server's pictures, and compares another question there.
func TestSensors(t *testing.T) {
	d := openDemo(t)
	api := "/v1/surveys/" + monitoring + "/cross-reference"
	before := read[client.Page[client.CrossReference]](d, d.server.Key, api)
	if len(before.Items) != 2 || before.Items[0].Difference == nil || before.Items[1].Agreement == nil {
		t.Fatalf("the demo has the cross-references %+v", before.Items)
	}
	drawn := func(n int) string {
		return fmt.Sprintf(`(() => { const all = [...document.querySelectorAll(".figures img")]; return all.length === %d && all.every((i) => i.complete && i.naturalWidth > 200 && i.alt) })()`, n)
	}
	page := "/console/surveys/" + monitoring + "?tab=sensors"
	d.shots("survey-sensors", page)
	d.run("wait for the pictures", until(drawn(2)))
	hours := before.Items[0]
	for _, want := range []string{hours.Lineage.ReadingsHash, fmt.Sprintf("%.2f", *hours.Difference.Bias), fmt.Sprintf("%.2f – %.2f", *hours.Difference.Low, *hours.Difference.High)} {
		d.see(want)
	}
	for _, whole := range []float64{*hours.Difference.Bias, *hours.Difference.Low, hours.Adjusted.Value} {
		d.see(script[string](d, fmt.Sprintf(`String(%v)`, whole)))
	}
	use := before.Items[1]
	d.shots("survey-sensors-use", page+"&run="+use.ID)
	d.run("wait for the picture", until(drawn(1)))
	d.see(fmt.Sprintf("%.1f %%", 100**use.Agreement.Agreement+1e-9)) // the page rounds 81.25 up, as people do
	d.see(fmt.Sprintf("%d interviews are flagged", use.Mismatches))
	d.run("see the pairs", browser.Tap("details.as-table summary"), until(fmt.Sprintf(`document.querySelectorAll("details.as-table tbody tr").length === %d`, use.Households.Paired)))

	d.visit(page)
	d.choose(".card-head button", "Compare")
	d.until("questions", `document.querySelectorAll("#against option").length > 1`)
	script[any](d, `(() => { const s = document.querySelector("#against"); s.value = "usage/still_uses_old_device"; s.dispatchEvent(new Event("change", {bubbles: true})); return null })()`)
	d.choose("dialog[open] button[type=submit]", "Compare")
	d.until("the result", `[...document.querySelectorAll("main .table-wrap tbody tr")].filter((r) => !r.closest("details")).length === 3`)
	after := read[client.Page[client.CrossReference]](d, d.server.Key, api)
	if len(after.Items) != 3 || after.Items[0].Asked.Question != "usage/still_uses_old_device" || after.Items[0].Asked.Days != 7 {
		t.Errorf("the API has %+v", after.Items)
	}
}

// TestKitchen finds what kitchen tests say as the API does, digit for digit, and
// records a test.
func TestKitchen(t *testing.T) {
	d := openDemo(t)
	project := read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=Project&limit=1").Items[0].DID
	homes := read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=Household&limit=200").Items
	figures := read[client.KitchenTestAnalysis](d, d.server.Key, "/v1/kpt/analysis?projectId="+project)
	d.shots("kitchen", "/console/kpt")
	d.run("wait for the picture", until(`(() => { const i = document.querySelector(".figures img"); return !!i && i.complete && i.naturalWidth > 200 })()`))
	for _, v := range []*float64{figures.Groups[0].Estimate, figures.Groups[1].High, figures.Saving.Low} {
		d.see(script[string](d, fmt.Sprintf(`String(%v)`, *v)))
	}
	d.choose(".page-head button", "Record a test")
	d.run("fill in the test", chromedp.SendKeys("#kpt-household", homes[len(homes)/2].DID, chromedp.ByQuery),
		chromedp.SetValue("#kpt-start", "2024-02-05", chromedp.ByQuery), chromedp.SendKeys("#kpt-logs", "1.5 2 2.5", chromedp.ByQuery), chromedp.SendKeys("#kpt-women", "2", chromedp.ByQuery),
		chromedp.SendKeys("#kpt-document", "draw of the test", chromedp.ByQuery))
	script[any](d, `document.querySelector("#kpt-start").dispatchEvent(new Event("input", {bubbles: true})), null`)
	d.choose("dialog[open] button[type=submit]", "Record a test")
	d.run("wait for the test", chromedp.WaitNotPresent("dialog[open]"), until(settled))
	got := read[client.Page[client.KitchenTest]](d, d.server.Key, "/v1/kpt?limit=1").Items[0]
	if got.FuelMeasurements.Total != 6 || got.TestPeriod.EndDate != "2024-02-07" || got.Selection.Document != "draw of the test" || got.People.Women != 2 || got.ProjectID != project {
		t.Errorf("the API has %+v", got)
	}
	d.see("2024-02-05")
}
