package console

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

// TestTemplates finds templates and protocols as the API gives them, copies one,
// changes it in the editor, sees it as a phone shows it, and publishes it.
func TestTemplates(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	d.shots("templates", "/console/templates")
	list := read[client.Page[client.TemplateSummary]](d, d.server.Key, "/v1/templates")
	if n := script[int](d, `document.querySelectorAll("main tbody tr").length`); n != len(list.Items) || n == 0 {
		t.Errorf("the page has %d templates, the API gave %d", n, len(list.Items))
	}
	d.shots("template", "/console/templates/monitoring-v1")
	d.see("Is the project stove in good working condition?")
	d.shots("template-versions", "/console/templates/monitoring-v1?tab=versions")
	d.see("The completion threshold went from 0 to 0.6.")
	d.shots("template-phone", "/console/templates/monitoring-v1?tab=phone")
	d.run("wait for the phone", chromedp.WaitVisible(".handy .question"))
	d.choose(".handy .seg button", "sw")
	d.see("Mapishi na nishati")
	d.editTemplate()
	d.importTemplate()

	d.shots("protocols", "/console/protocols")
	d.see("Household")
	d.shots("protocol", "/console/protocols/did:ixo:protocol%2Fhousehold")
	p := read[client.Protocol](d, d.server.Key, "/v1/protocols/did:ixo:protocol%2Fhousehold")
	for name := range p.Properties {
		if !script[bool](d, `document.body.innerText.includes("`+name+`")`) {
			t.Errorf("the page does not show the property %s", name)
		}
	}
}

// editTemplate copies a template, adds a question to it and publishes it.
func (d *desk) editTemplate() {
	d.t.Helper()
	d.visit("/console/templates/baseline-v1")
	d.choose(".page-head button", "Copy it")
	d.run("name the copy", chromedp.SendKeys("dialog[open] input", "ours"))
	d.choose("dialog[open] button[type=submit]", "Copy it")
	d.run("wait for the editor", chromedp.WaitVisible(`.edit-section[data-section=consent]`))
	d.run("ask something new", chromedp.SendKeys(`.edit-section[data-section=consent] .edit-add input`, "Is this a test?"))
	d.choose(".edit-section[data-section=consent] .edit-add button", "Add the question")
	d.run("change a label", chromedp.SendKeys(`.edit-section[data-section=consent] .edit-question input`, " Really?"))
	d.choose("button.primary", "Save the draft")
	d.run("see it on the phone", until(`document.querySelector(".handy")?.innerText.includes("Is this a test?")`))
	d.Shot(d.t, "template-edit")
	d.choose(".card-head button", "Publish version 1")
	d.see("published")
	got := read[client.Template](d, d.server.Key, "/v1/templates/ours")
	last := got.Sections[0].Questions[len(got.Sections[0].Questions)-1]
	if got.Status != "published" || last.ID != "is_this_a_test" || !strings.Contains(fmt.Sprint(got.Sections[0].Questions[0].Label), " Really?") {
		d.t.Errorf("ours = %s, its last question %+v, its first label %v", got.Status, last, got.Sections[0].Questions[0].Label)
	}
}

// importTemplate reads a file, shows its report, and stores it.
func (d *desk) importTemplate() {
	d.t.Helper()
	d.visit("/console/templates")
	d.choose(".page-head button", "Import an XLSForm")
	d.run("choose a file", chromedp.SetUploadFiles("dialog[open] input[type=file]", []string{d.file("visit.json", visitTemplate)}, chromedp.ByQuery))
	d.choose("dialog[open] button[type=submit]", "Read it")
	d.see("Everything could be carried over.")
	d.must(d.server.Key, http.MethodGet, "/v1/templates/visit", "", http.StatusNotFound)
	d.choose("dialog[open] button[type=submit]", "Store it as a draft")
	d.see("Main fuel")
	d.must(d.server.Key, http.MethodGet, "/v1/templates/visit", "", http.StatusOK)
}

// file writes a file of the test and gives its path.
func (d *desk) file(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}
