package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestOperate walks over the pages of operators: they show what the API gives, a
// backup is made and checked on its page, and a person is erased.
func TestOperate(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	health, err := d.owner().Operations.Health(t.Context())
	if err != nil || health.Status != "ready" {
		t.Fatalf("health = %+v, %v", health, err)
	}
	d.visit("/console/health")
	d.see(health.Durability)
	d.see("Nothing has failed")
	d.see("there is none")
	d.Shot(t, "health")

	d.visit("/console/settings")
	d.see("HEARTH_DATA_DIR")
	for s, err := range d.owner().Operations.Settings(t.Context(), client.PageQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Name == "HEARTH_DATA_DIR" {
			d.see(s.Value)
		}
	}
	if all := script[string](d, `document.documentElement.outerHTML`); strings.Contains(all, d.server.Key) {
		t.Error("the settings hold the owner key")
	}

	d.visit("/console/backups")
	d.see("No backup yet")
	d.click("Make a backup")
	d.run("see it", chromedp.WaitVisible("td code"))
	d.click("Check")
	d.run("see it whole", chromedp.WaitVisible("td .badge.good"))
	for b, err := range d.owner().Operations.Backups(t.Context(), client.PageQuery{}) {
		if err != nil || b.VerifiedAt.IsZero() || b.Bytes == 0 {
			t.Errorf("the backup = %+v, %v; want it checked", b, err)
		}
		d.see(b.ID)
	}
	d.Shot(t, "backups")
}

// TestErasurePage erases a household on the page, whose certificate is the API's.
func TestErasurePage(t *testing.T) {
	d := open(t, "127.0.0.1")
	home, err := d.owner().Households.Create(t.Context(), client.HouseholdDraft{Name: "Achieng"})
	if err != nil {
		t.Fatal(err)
	}
	d.signIn(d.server.Key)
	d.visit("/console/erasure")
	d.see("Nobody was erased yet")
	d.click("Erase a person")
	d.fill("Subject", home.DID)
	d.fill("Reason", "asked for it")
	d.run("be sure", browser.Tap("dialog[open] input[type=checkbox]"))
	d.click("Erase")
	d.see("What stays")
	for c, err := range d.owner().Erasures.List(t.Context(), client.PageQuery{}) {
		if err != nil || c.Subject != home.DID {
			t.Errorf("the erasure = %+v, %v; want that of %s", c, err, home.DID)
		}
		d.see(c.ID)
		for _, s := range c.Stays {
			d.see(s)
		}
	}
}
