package console

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestMembers adds somebody to a group of the demo by name and removes them again.
func TestMembers(t *testing.T) {
	d := openDemo(t)
	k, err := d.owner().Keys.Create(t.Context(), client.KeyDraft{Name: "Zawadi Member", Role: "member"})
	if err != nil {
		t.Fatal(err)
	}
	groups := read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=MembershipGroup&status=active&limit=1")
	if len(groups.Items) == 0 {
		t.Fatal("the demo has no group")
	}
	group := groups.Items[0].DID
	isMember := func() bool {
		t.Helper()
		for m, err := range d.owner().Groups.Members(t.Context(), group, client.PageQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Member == k.Principal {
				return true
			}
		}
		return false
	}
	d.visit("/console/people?tab=groups&group=" + url.QueryEscape(group))
	d.see("Members may:")
	d.run("look for her", chromedp.SendKeys(".add-member input", "zawadi", chromedp.ByQuery))
	d.see("Zawadi Member")
	d.run("add her", browser.Tap(".people-found button"))
	row := fmt.Sprintf(`[...document.querySelectorAll(".members tbody tr")].find((r) => r.innerText.includes(%q))`, "Zawadi Member")
	d.until("her row", "!!"+row)
	d.Shot(t, "members")
	if !isMember() {
		t.Error("the API does not know the new member")
	}
	d.run("remove her", chromedp.Evaluate(`window.confirm = () => true; `+row+`.querySelector("button").click()`, nil))
	d.until("her row is gone", "!"+row)
	if isMember() {
		t.Error("the API still has the member")
	}
}
