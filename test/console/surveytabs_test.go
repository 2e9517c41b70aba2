package console

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

const monitoring = "demo-monitoring"

// shots takes a picture of a page, wide and as a phone shows it, which it must
// fit.
func (d *desk) shots(name, path string) {
	d.t.Helper()
	for _, width := range []int64{390, 1280} {
		d.size(width, 900)
		d.visit(path)
		d.fits(width)
		d.Shot(d.t, fmt.Sprintf("%s-%d", name, width))
	}
}

// TestSurveyTabs finds on each tab of a survey what the API gives, and does there
// what it is for.
func TestSurveyTabs(t *testing.T) {
	d := openDemo(t)
	d.submissions()
	d.assignments()
	d.backChecks()
	d.flagged()
	d.decideMany()
}

// submissions are the same interviews as a table, on a map and by their pictures.
func (d *desk) submissions() {
	d.t.Helper()
	page := "/console/surveys/" + monitoring + "?tab=interviews&verification=rejected&stratum=Kitui"
	got := read[client.Page[client.Response]](d, d.server.Key, "/v1/surveys/"+monitoring+"/responses?limit=200&verification=rejected&filter="+url.QueryEscape("eq(stratum,Kitui)"))
	if len(got.Items) == 0 {
		d.t.Fatal("the demo has no rejected interview in Kitui")
	}
	d.shots("survey-interviews", page)
	if n := script[int](d, `document.querySelectorAll("main tbody tr").length`); n != len(got.Items) {
		d.t.Errorf("the table has %d interviews, the API gave %d", n, len(got.Items))
	}
	d.shots("survey-map", page+"&view=map")
	if n := script[int](d, `document.querySelectorAll(".map circle.place.bad").length`); n != len(got.Items) {
		d.t.Errorf("the map has %d interviews, the API gave %d", n, len(got.Items))
	}
	d.shots("survey-media", "/console/surveys/demo-follow-up?tab=interviews&view=media")
	d.run("wait for a picture", until(`[...document.querySelectorAll(".gallery img")].some((i) => i.complete && i.naturalWidth > 0)`))
	d.visit("/console/responses/" + got.Items[0].ResponseID)
	d.see("Is the project stove in good working condition?") // the words of the template, not the id of the question
}

// assignments gives two households to the first collector of the survey.
func (d *desk) assignments() {
	d.t.Helper()
	d.shots("survey-households", "/console/surveys/"+monitoring+"?tab=households&outcome=listed")
	ids := script[[]string](d, `[...document.querySelectorAll("td input[type=checkbox]")].slice(0, 2).map((x) => { x.click(); return x.getAttribute("aria-label").split(" ").pop() })`)
	to := script[string](d, `(() => { const s = document.querySelector(".assign select"); s.value = s.options[1].value; s.dispatchEvent(new Event("change", {bubbles: true})); return s.value })()`)
	d.choose(".assign button.primary", "Assign 2")
	d.see("2 households assigned.")
	for _, id := range ids {
		if h := read[client.ListedHousehold](d, d.server.Key, "/v1/surveys/"+monitoring+"/households/"+id); h.Collector != to {
			d.t.Errorf("%s is assigned to %s, want %s", id, h.Collector, to)
		}
	}
}

// backChecks draws some more, and finds them in the API.
func (d *desk) backChecks() {
	d.t.Helper()
	path := "/v1/surveys/" + monitoring + "/back-checks?limit=200"
	before := read[client.Page[client.BackCheck]](d, d.server.Key, path)
	d.shots("survey-backchecks", "/console/surveys/"+monitoring+"?tab=backchecks")
	d.see(fmt.Sprintf("%d/%d", 2, 2))
	d.choose("button.primary", "Draw back-checks")
	d.run("fill in the draw", chromedp.SendKeys("dialog[open] input:not([type=number])", "lottery of the test"))
	d.choose("dialog[open] button[type=submit]", "Draw back-checks")
	d.run("wait for the draw", chromedp.WaitNotPresent("dialog[open]"))
	if after := read[client.Page[client.BackCheck]](d, d.server.Key, path); len(after.Items) <= len(before.Items) {
		d.t.Errorf("%d back-checks after the draw, %d before", len(after.Items), len(before.Items))
	}
}

// flagged counts flags as the API does, and starts the checks.
func (d *desk) flagged() {
	d.t.Helper()
	report := read[client.QualityReport](d, d.server.Key, "/v1/surveys/"+monitoring+"/quality")
	d.shots("survey-flags", "/console/surveys/"+monitoring+"?tab=flags")
	for rule, n := range report.Flags {
		d.until(fmt.Sprintf("%d flags of %s", n, rule), fmt.Sprintf(`document.querySelector(".chips")?.innerText.includes("%d")`, n))
	}
	d.choose("button", "Run the checks now")
	d.see("Begun: see the job")
	jobs := read[client.Page[client.Job]](d, d.server.Key, "/v1/jobs?limit=5")
	if jobs.Items[0].Kind != "survey.quality" {
		d.t.Errorf("jobs = %+v, want a run of the checks first", jobs.Items)
	}
}

// decideMany verifies what waits and has no flag, in one go.
func (d *desk) decideMany() {
	d.t.Helper()
	waiting := func(flagged bool) (n int) {
		list := read[client.Page[client.Response]](d, d.server.Key, "/v1/surveys/"+monitoring+"/responses?limit=500&verification=pending")
		for _, r := range list.Items {
			if (len(r.Flags) > 0) == flagged {
				n++
			}
		}
		return n
	}
	n, flagged := waiting(false), waiting(true)
	d.shots("desk-many", "/console/desk?mode=many&survey="+monitoring+"&flagged=no")
	d.see(fmt.Sprintf("%d interviews wait", n))
	if shown := script[int](d, `document.querySelectorAll("a.visit").length`); shown != 5 {
		d.t.Errorf("%d of them are shown, want 5", shown)
	}
	d.choose("form.card button.primary", fmt.Sprintf("Decide about %d", n))
	d.see("decided,")
	if left, still := waiting(false), waiting(true); left != 0 || still != flagged {
		d.t.Errorf("%d without a flag still wait, and %d with one; want 0 and %d", left, still, flagged)
	}
}
