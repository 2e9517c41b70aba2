package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestNewSurvey makes a survey on its page, is told all that is missing when it starts,
// adds collectors and households, and takes it through its life.
func TestNewSurvey(t *testing.T) {
	d := openDemo(t)
	d.Expect(func(s string) bool { return strings.Contains(s, "409") }) // starting too early
	d.visit("/console/surveys")
	d.choose("header.page a", "New survey")
	d.shots("survey-new", "/console/surveys/new")
	d.run("name it", chromedp.SendKeys("#name", "Kitui households", chromedp.ByQuery), chromedp.SendKeys("#size", "30", chromedp.ByQuery),
		browser.Tap(`input[name=section][value=stove_perceptions]`), browser.Tap(`input[name=mode][value=phone]`))
	d.choose("button.primary", "Keep as a draft")
	d.see("sample of 30")
	id := strings.TrimPrefix(script[string](d, `location.pathname`), "/console/surveys/")
	s := d.survey(id)
	if s.Name != "Kitui households" || s.Status != "draft" || *s.Sampling.Size != 30 || !slices.Equal(s.Modes, []string{"visit", "phone"}) || slices.Contains(s.Sections, "stove_perceptions") || len(s.Sections) != 4 {
		t.Fatalf("the API has %+v", s)
	}

	d.choose("main button", "Start")
	d.choose("dialog[open] button.primary", "Start")
	d.see("Name at least one collector")
	d.see("households")
	d.Shot(t, "survey-not-ready")
	d.choose("dialog[open] button", "Cancel")
	d.choose("main button", "Collectors")
	d.run("type a collector", chromedp.SendKeys("dialog[open] #others", "did:ixo:agent/7 Asha Mwende", chromedp.ByQuery))
	d.choose("dialog[open] button.primary", "Save")
	d.run("wait for it", chromedp.WaitNotPresent("dialog[open]"))
	if s := d.survey(id); len(s.Collectors) != 1 || s.Collectors[0].DID != "did:ixo:agent/7" || s.Collectors[0].Name != "Asha Mwende" {
		t.Errorf("collectors %+v", s.Collectors)
	}
	d.listed(id)

	for _, step := range []struct{ button, words, status string }{
		{"Start", "", "active"},
		{"Next round", "Second", "active"},
		{"Pause", "rain", "paused"},
		{"Resume", "", "active"},
		{"Close", "", "closed"},
		{"Reopen", "one village is missing", "active"},
		{"Close", "", "closed"},
		{"Archive", "", "archived"},
	} {
		d.take(step.button, step.words)
		d.run("wait for "+step.status, until(fmt.Sprintf(`!document.querySelector("dialog[open]") && document.querySelector("header.page .badge").innerText === %q`, step.status)))
		if s := d.survey(id); s.Status != step.status {
			t.Errorf("after %s it is %s", step.button, s.Status)
		}
	}
	if s := d.survey(id); s.Round != 2 || s.Rounds[1].Name != "Second" {
		t.Errorf("rounds %+v", s.Rounds)
	}
	if n := script[int](d, `document.querySelectorAll("header.page .actions button").length`); n != 0 {
		t.Errorf("an archived survey has %d buttons", n)
	}
}

// survey reads a survey over the API.
func (d *desk) survey(id string) *client.Survey {
	d.t.Helper()
	s, err := d.owner().Surveys.Get(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// take takes a step in the life of the survey of this page.
func (d *desk) take(step, words string) {
	d.t.Helper()
	d.choose("header.page .actions > button", step)
	if words != "" {
		d.run("say why", chromedp.SendKeys("dialog[open] #words", words, chromedp.ByQuery))
	}
	d.choose("dialog[open] button.primary", step)
}

// listed puts households on the list of a survey: one of a table, then those of the
// project.
func (d *desk) listed(id string) {
	d.t.Helper()
	one := read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=Household&limit=1").Items[0].DID
	d.turn("/console/surveys/" + id + "?tab=households")
	d.choose("main button", "Add households")
	d.run("choose a table", browser.Tap("dialog[open] input[value=table]"), chromedp.SetUploadFiles("#households", []string{d.file("list.csv", "Household ID;Area;Remark\n"+one+";\"Kibera; north\";x\n")}, chromedp.ByQuery))
	d.see("One household in the file.")
	d.choose("dialog[open] button.primary", "Add")
	d.see("One household is on the list or up to date.")
	list := read[client.Page[client.ListedHousehold]](d, d.server.Key, "/v1/surveys/"+id+"/households")
	if len(list.Items) != 1 || list.Items[0].HouseholdID != one || list.Items[0].Area != "Kibera; north" {
		d.t.Errorf("the list has %+v", list.Items)
	}
	d.choose("main button", "Add households")
	d.choose("dialog[open] button.primary", "Add")
	d.run("wait for the others", until(`/^\d{2,} households are on the list/.test([...document.querySelectorAll("main [role=status]")].map((x) => x.innerText).join("").trim())`))
	d.Shot(d.t, "survey-listed")
	if all := read[client.Page[client.ListedHousehold]](d, d.server.Key, "/v1/surveys/"+id+"/households?limit=100"); len(all.Items) < 10 {
		d.t.Errorf("the list has %d households", len(all.Items))
	}
}
