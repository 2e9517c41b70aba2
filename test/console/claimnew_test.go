package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

// TestClaimToCredential submits a claim on its page, has it approved, issues its
// credential, and takes that through its states; another claim is withdrawn.
func TestClaimToCredential(t *testing.T) {
	d := openDemo(t)
	ctx, owner := t.Context(), d.owner()
	k, err := owner.Keys.Create(ctx, client.KeyDraft{Name: "issuer of the test", Scopes: []string{"*"}, Principal: "did:example:issuer"})
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := owner.Entities.Create(ctx, client.EntityDraft{Type: "oracle", Protocol: "did:ixo:protocol/oracle", Controller: k.Principal, Properties: client.Object{"name": "Oracle of the test"}})
	if err != nil {
		t.Fatal(err)
	}
	var stove string
	for c, err := range owner.Claims.List(ctx, client.ClaimQuery{Status: "approved", Kind: "fuel-saved"}) {
		if err != nil {
			t.Fatal(err)
		}
		stove = c.Subject
	}
	d.visit("/console/claims")
	d.choose("header.page a", "New claim")
	submit := func(year string) *client.Claim {
		d.turn("/console/claims/new?subject=" + stove)
		d.run("wait for the kinds", until(`document.querySelector("select#kind")?.value === "fuel-saved" && document.querySelectorAll("#oracle option").length > 1`))
		d.put("#periodStart", year+"-01-01")
		d.put("#periodEnd", year+"-01-31")
		d.put("#value", "12.5")
		d.put("#evidence", "https://example.org/photo\nthe readings of January")
		d.put("#oracle", oracle.DID)
		d.choose("button.primary", "Submit the claim")
		d.run("wait for its page", until(`location.pathname.startsWith("/console/claims/did:") || location.pathname.startsWith("/console/claims/did%3A")`))
		c, err := owner.Claims.Get(ctx, d.path("/console/claims/"))
		if err != nil || c.Subject != stove || c.Amount.Value != 12.5 || c.PeriodEnd != year+"-01-31" || len(c.Document.Evidence) != 2 || c.Status != "pending" {
			t.Fatalf("the API has %+v, %v", c, err)
		}
		return c
	}
	d.shots("claim-new", "/console/claims/new?subject="+stove)
	gone := submit("2041")
	d.choose("header.page button", "Withdraw")
	d.choose("dialog[open] button.primary", "Withdraw")
	d.run("wait for it", until(`!document.querySelector("dialog[open]") && document.querySelector("main .badge").innerText === "withdrawn"`))
	d.claimIs(gone.ID, "withdrawn")

	claim := submit("2042")
	d.must(k.Text, "POST", "/v1/claims/"+claim.ID+"/evaluations", `{"facts":{"usageRate":{"value":0.95}},"decision":"approved","reason":"IN_USE"}`, 201)
	d.turn("/console/help") // what the page of the claim still asks for is not refused
	d.signOut()
	d.signIn(k.Text)
	d.visit("/console/claims/" + claim.ID)
	d.choose("header.page button", "Issue the credential")
	d.choose("dialog[open] button.primary", "Issue the credential")
	d.run("wait for it", until(`!document.querySelector("dialog[open]") && !document.querySelector("header.page .actions button")`))
	d.turn("/console/claims?tab=credentials")
	d.see("2042-01-31")
	d.Shot(t, "credentials")
	row := fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].find((r) => r.innerText.includes(%q))`, "2042-01-31")
	for _, step := range []struct{ button, reason, status string }{{"Suspend", "", "suspended"}, {"Reinstate", "", "active"}, {"Revoke", "counted twice", "revoked"}} {
		d.run(step.button, chromedp.Evaluate(fmt.Sprintf(`void [...%s.querySelectorAll("button")].find((b) => b.innerText === %q).click()`, row, step.button), nil))
		if step.reason != "" {
			d.put("dialog[open] #words", step.reason)
		}
		d.choose("dialog[open] button.primary", step.button)
		d.run("wait for "+step.status, until(fmt.Sprintf(`!document.querySelector("dialog[open]") && %s?.querySelector(".badge").innerText === %q`, row, step.status)))
	}
	for c, err := range owner.Credentials.List(ctx, client.CredentialQuery{Status: "revoked"}) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Claim == claim.ID {
			return
		}
	}
	t.Error("the API knows no revoked credential of the claim")
}

// path is what the address of the page has after a prefix.
func (d *desk) path(prefix string) string {
	d.t.Helper()
	return strings.TrimPrefix(script[string](d, `decodeURIComponent(location.pathname)`), prefix)
}

// signOut ends the session of the page.
func (d *desk) signOut() {
	d.t.Helper()
	d.choose(".who button.link", "Sign out")
	d.run("wait for the sign-in", chromedp.WaitVisible("#key"))
}
