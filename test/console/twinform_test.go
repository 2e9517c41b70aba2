package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hearth-dmrv/hearth/client"
)

// TestTwinForm makes a household from the schema of its protocol, learns what is
// wrong with a value, and changes it.
func TestTwinForm(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.Expect(func(s string) bool { return strings.Contains(s, "400") || strings.Contains(s, "422") }) // a value that is refused on purpose
	d.signIn(d.server.Key)
	d.size(390, 900)
	d.visit("/console/twins?type=Household")
	field := func(label string) string {
		return `//dialog[@open]//label[contains(@class, "field")][span[starts-with(text(), "` + label + `")]]//*[self::input or self::select or self::textarea]`
	}
	d.choose(".page-head button", "New twin")
	d.run("fill it in", chromedp.WaitVisible(field("phone")), chromedp.SendKeys(field("name"), "Family Mutua"), chromedp.SendKeys(field("People"), "5000"),
		chromedp.SendKeys(field("Kind of number"), "plot"), chromedp.SendKeys(field("Number it is known by"), "P-17"))
	d.Shot(t, "twinform-390")
	d.choose("dialog[open] button[type=submit]", "Make it")
	d.see("/properties/size")
	d.run("fewer people", chromedp.SendKeys(field("People"), kb.Backspace+kb.Backspace+kb.Backspace))
	d.choose("dialog[open] button[type=submit]", "Make it")
	d.see("Family Mutua")
	list := read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=Household")
	if len(list.Items) != 1 || list.Items[0].ExternalIDs["plot"] != "P-17" {
		t.Fatalf("households = %+v", list.Items)
	}
	d.visit("/console/twins/" + url.PathEscape(list.Items[0].DID))
	d.choose(".page-head button", "Edit")
	d.run("move", chromedp.WaitVisible(field("district")), chromedp.SendKeys(field("district"), "Kitui"))
	d.choose("dialog[open] button[type=submit]", "Save")
	d.see("Kitui")
	if e := read[map[string]any](d, d.server.Key, "/v1/entities/"+url.PathEscape(list.Items[0].DID)); e["properties"].(map[string]any)["district"] != "Kitui" || e["properties"].(map[string]any)["name"] != "Family Mutua" {
		t.Errorf("properties = %v", e["properties"])
	}
}
