package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestInvitation invites a person on the page and opens the link in another
// browser: it signs in with exactly the rights given, once.
func TestInvitation(t *testing.T) {
	eachHost(t, func(t *testing.T, d *desk) {
		d.signIn(d.keyOf("manager"))
		d.visit("/console/people")
		d.see("No invitation yet")
		d.click("Invite a person")
		d.fill("Name", "Achieng <b>Otieno</b>")
		d.fill("Role", "collector")
		d.click("Make the link")
		d.see("This is shown once")
		d.Shot(t, "invitation")
		link := script[string](d, `document.querySelector("dialog .secret").innerText`)
		if path := script[string](d, `document.querySelector("svg.qr path").getAttribute("d")`); !strings.HasPrefix(path, "M4 4h7v1h-7z") {
			t.Errorf("the QR code is drawn as %.60s", path)
		}
		if !strings.HasPrefix(link, d.base+"/console/#invite=") {
			t.Fatalf("the link is %s", link)
		}
		guest := &desk{Browser: browser.Open(t), t: t, server: d.server, base: d.base}
		guest.visit(strings.TrimPrefix(link, d.base))
		guest.see("Achieng <b>Otieno</b>, you are invited")
		if at := script[string](guest, `location.href`); strings.Contains(at, "invite") {
			t.Errorf("the code stays in the address: %s", at)
		}
		guest.click("Accept the invitation")
		guest.see("This is your key")
		key := script[string](guest, `document.querySelector(".secret").innerText`)
		guest.click("I have kept it, open the console")
		guest.run("be signed in", chromedp.WaitVisible("nav.side"))
		c, err := client.New(client.Config{BaseURL: d.server.URL, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		k, err := c.Keys.Current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		role, err := d.owner().Keys.Create(t.Context(), client.KeyDraft{Name: "to compare", Role: "collector"})
		if err != nil || !slices.Equal(k.Scopes, role.Scopes) || k.Name != "Achieng <b>Otieno</b>" {
			t.Errorf("the key = %+v, want the scopes of a collector: %+v, %v", k, role, err)
		}
		if script[bool](guest, `!!document.querySelector('nav.side a[href="/console/people"]')`) {
			t.Error("a collector is shown the people")
		}
		guest.Expect(func(s string) bool { return strings.Contains(s, "409") })
		guest.run("leave", chromedp.Navigate("about:blank"))
		guest.visit(strings.TrimPrefix(link, d.base))
		guest.see("This invitation was used already")
		d.visit("/console/people")
		d.see("used")
		for v, err := range d.owner().Keys.Invites(t.Context(), client.PageQuery{}) {
			if err != nil || v.Status != "used" || v.Key != k.ID {
				t.Errorf("the invitation = %+v, %v; want it used by %s", v, err, k.ID)
			}
		}
	})
}

// TestKeysPage renames a key on the page and looks for it by its state.
func TestKeysPage(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.keyOf("auditor")
	d.signIn(d.server.Key)
	d.visit("/console/keys?status=revoked")
	d.see("Nothing fits")
	d.visit("/console/keys?status=active")
	d.see("auditor of the test")
	d.run("open the dialog", chromedp.Evaluate(`void [...document.querySelectorAll("tr")].find((r) => r.innerText.includes("auditor of the test")).querySelector("button").click()`, nil))
	d.fill("What it is for", "Wanjiku, who looks at the books")
	d.click("Save")
	d.see("Wanjiku, who looks at the books")
	found := false
	for k, err := range d.owner().Keys.List(t.Context(), client.PageQuery{}) {
		found = found || err == nil && k.Name == "Wanjiku, who looks at the books"
	}
	if !found {
		t.Error("the key has not the name that the page gave it")
	}
}
