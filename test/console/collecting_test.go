package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

const cleanCooking = "did:ixo:protocol/clean-cooking"

// TestCollections makes a collection on the page, pauses, opens and closes it; each is
// what the API says then.
func TestCollections(t *testing.T) {
	d := openDemo(t)
	d.Expect(func(s string) bool { return strings.Contains(s, "400") }) // what the form is told
	d.visit("/console/claims?tab=collections")
	d.click("New collection")
	d.fill("Name", "Fuel of 2041")
	d.run("wait for the protocols", until(`!!document.querySelector('dialog option[value="`+cleanCooking+`"]')`))
	d.fill("Protocol that decides", cleanCooking)
	d.run("wait for the versions", until(`!!document.querySelector('dialog option[value="1.1.0"]')`))
	d.fill("Version", "1.1.0")
	d.fill("At most", "40")
	d.fill("Takes claims from", "2041-01-01")
	d.fill("and before", "2041-01-01")
	d.Shot(t, "collection-new")
	d.click("Make the collection")
	d.see("The end must be after the start.")
	d.fill("and before", "2042-01-01")
	d.click("Make the collection")
	d.see("2041-01-01 – 2042-01-01")
	c := d.collection("Fuel of 2041")
	if c.Protocol != cleanCooking || c.Version != "1.1.0" || c.Quota != 40 || c.State != "open" || c.StartsAt.Year() != 2041 || c.EndsAt.Year() != 2042 {
		t.Errorf("the collection is %+v, want what the form said", c)
	}
	row := `[...document.querySelectorAll("tbody tr")].find((r) => r.innerText.includes("Fuel of 2041"))`
	step := func(button, state string) {
		t.Helper()
		find := fmt.Sprintf(`[...%s.querySelectorAll("button")].find((b) => b.innerText === %q && !b.disabled)`, row, button)
		d.run("press "+button, until(`!!(`+find+`)`), chromedp.Evaluate(`void `+find+`.click()`, nil), until(fmt.Sprintf(`!!%s.querySelector(".badge") && %s.querySelector(".badge").innerText === %q`, row, row, state)))
		if got := d.collection("Fuel of 2041").State; got != state {
			t.Errorf("after %s the collection is %s, want %s", button, got, state)
		}
	}
	step("Pause", "paused")
	step("Open", "open")
	d.shots("collections", "/console/claims?tab=collections")
	d.run("refuse", chromedp.Evaluate(`void (window.confirm = () => false)`, nil), chromedp.Evaluate(`void [...`+row+`.querySelectorAll("button")].find((b) => b.innerText === "Close").click()`, nil))
	if got := d.collection("Fuel of 2041").State; got != "open" {
		t.Errorf("the collection is %s though nobody was sure, want it open", got)
	}
	d.agree()
	step("Close", "closed")
	if n := script[int](d, row+`.querySelectorAll("button").length`); n != 0 {
		t.Errorf("a closed collection has %d buttons, want none: that is final", n)
	}
	d.run("sign out", browser.Tap(".who button.link"), chromedp.WaitVisible("#key"))
	d.signIn(d.keyOf("auditor"))
	d.visit("/console/claims?tab=collections")
	d.see("Fuel of 2041")
	if n := script[int](d, `document.querySelectorAll("main button:not(.pager button, .curl button)").length`); n != 0 {
		t.Errorf("who may only read has %d buttons", n)
	}
}

// collection is the one of a name, as the API has it.
func (d *desk) collection(name string) client.Collection {
	d.t.Helper()
	for c, err := range d.owner().Collections.List(d.t.Context(), "") {
		if err != nil {
			d.t.Fatal(err)
		}
		if c.Name == name {
			return c
		}
	}
	d.t.Fatalf("no collection is called %q", name)
	return client.Collection{}
}

// TestTryRules tries the rules of a version on the claims of the demo, and then stricter
// ones: the page says what the API says, and nothing happens to the claims.
func TestTryRules(t *testing.T) {
	d := openDemo(t)
	d.Expect(func(s string) bool { return strings.Contains(s, "400") }) // what the form is told
	d.visit("/console/claims?tab=rules")
	d.run("wait for the protocols", until(`!!document.querySelector('[name="protocol"] option[value="`+cleanCooking+`"]')`))
	d.put(`[name="protocol"]`, cleanCooking)
	d.run("wait for the kinds", until(`!!document.querySelector('[name="kind"] option[value="fuel-saved"]')`))
	d.put(`[name="kind"]`, "fuel-saved")
	d.click("Try them")
	d.see("What fuel-saved would have come to")
	d.see("0 of ")
	same := d.simulated()
	if same.Counts.Claims == 0 || same.Counts.Changed != 0 || same.Protocol != cleanCooking {
		t.Fatalf("the rules themselves: %+v, want that they change nothing", same)
	}
	rules := script[string](d, `document.querySelector('textarea[name="rules"]').value`)
	d.choose("main form summary", "Change the rules before you try them")
	d.put(`textarea[name="rules"]`, "{nothing")
	d.see("This is not JSON.")
	d.put(`textarea[name="rules"]`, strings.Replace(rules, `"stage": "approval"`, `"stage": "nowhere"`, 1))
	d.click("Try them")
	d.see("SIMULATION_INVALID")
	d.put(`textarea[name="rules"]`, strings.Replace(rules, `"rubric": [`, `"rubric": [{"id":"all","stage":"veto","when":"true","then":{"outcome":"rejected","reasonCode":"NOBODY"}},`, 1))
	d.click("Try them")
	d.see("Claims that would differ")
	d.run("wait for the list", until(settled))
	strict := d.simulated()
	if strict.Counts.Changed == 0 || strict.RubricHash == same.RubricHash || strict.Counts.Claims != same.Counts.Claims {
		t.Fatalf("stricter rules: %+v, want that claims differ", strict)
	}
	d.see(fmt.Sprintf("%d of %d claims would have come to something else.", strict.Counts.Changed, strict.Counts.Claims))
	for c, err := range d.owner().Claims.Simulated(t.Context(), strict.ID) {
		if err != nil {
			t.Fatal(err)
		}
		d.see(c.Claim)
		if c.After != "rejected" || c.AfterReason != "NOBODY" {
			t.Errorf("%+v, want it rejected", c)
		}
	}
	d.shots("claim-rules", "/console/claims?tab=rules&run="+strict.ID)
}

// simulated is the dry run that the address names, as the API has it.
func (d *desk) simulated() *client.ClaimSimulation {
	d.t.Helper()
	d.run("wait for the end", until(`[...document.querySelectorAll(".card-head .badge")].some((b) => b.innerText === "done")`))
	out, err := d.owner().Claims.Simulation(d.t.Context(), script[string](d, `new URLSearchParams(location.search).get("run")`))
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}
