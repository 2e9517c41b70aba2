package console

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestClaims finds the claims of the demo, and of one with a credential the chain down to
// the draw as the API gives it, which is then drawn again on the page.
func TestClaims(t *testing.T) {
	d := openDemo(t)
	d.shots("claims", "/console/claims")
	d.see("fuel-saved")
	var claim client.Claim
	for c, err := range d.owner().Claims.List(t.Context(), client.ClaimQuery{Status: "approved"}) {
		if err != nil {
			t.Fatal(err)
		}
		claim = c // the oldest has a credential that is good
	}
	chain, err := d.owner().Claims.Chain(t.Context(), claim.ID)
	if err != nil || !chain.Holds {
		t.Fatalf("chain = %+v, %v", chain, err)
	}
	d.visit("/console/claims/" + claim.ID)
	ticks, draws := 0, 0
	for _, step := range chain.Steps {
		d.see(step.Detail)
		if step.State == "checked" {
			ticks++
		}
		if step.Step == "draw" {
			draws++
		}
	}
	if draws == 0 {
		t.Error("the chain ends before the draw")
	}
	ticked := `document.querySelectorAll(".chain-steps .badge.good").length === %d`
	d.run("wait for the ticks", until(fmt.Sprintf(ticked, ticks)))
	d.shots("claim", "/console/claims/"+claim.ID)
	d.choose(".chain-steps button", "Draw it again")
	d.run("wait for the draw", until(fmt.Sprintf(ticked, ticks+1)))
	d.see("The rules, in the order in which they are asked")

	d.run("choose Kiswahili", chromedp.Evaluate(`localStorage.setItem("hearth.language", "sw")`, nil))
	d.load("/console/claims/" + claim.ID)
	d.run("wait for the chain", until(fmt.Sprintf(ticked, ticks)))
	said := script[string](d, `document.querySelector(".chain-steps").innerText`)
	for _, step := range chain.Steps {
		if step.Code == "" || strings.Contains(said, step.Detail) {
			t.Errorf("in Kiswahili the step %s (%s) says %q", step.Step, step.Code, step.Detail)
		}
	}
}

// TestClaimQueue has an evaluator take a claim that waits, enter facts, decide what the rules
// leave to people, and then dispute it, all on the pages; the API gives the same.
func TestClaimQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(loaded(t))); err != nil {
		t.Fatal(err)
	}
	d := serve(t, "127.0.0.1", server.Options{Dir: dir})
	judge, id := d.waiting()
	d.signIn(judge)
	d.shots("claim-queue", "/console/claims?tab=queue")
	d.see("12 kg")
	d.visit("/console/claims/" + id)
	d.choose("main button", "Take it to decide")
	d.see("It is yours.")
	d.put(`[name="fact-usageRate"]`, "0.95")
	d.Shot(t, "claim-decide")
	d.put(`[name="decision"]`, "approved") // its days are to come, which the rules leave to people
	d.put(`[name="reason"]`, "IN_USE")
	d.choose("main button", "Send")
	d.see("Decided by")
	d.claimIs(id, "approved")
	for e, err := range d.owner().Claims.Evaluations(t.Context(), id) {
		if err != nil || e.Facts["usageRate"].Value != 0.95 || e.Amount != 12 {
			t.Errorf("the evaluation is %+v, %v", e, err)
		}
	}
	d.see("What is wrong with it")
	d.put(".card:has(h2) .form input[maxlength]", "The stove was cold.")
	d.choose("main button:enabled", "Dispute it")
	d.see("The stove was cold.")
	d.claimIs(id, "disputed")
	d.shots("claim-decided", "/console/claims/"+id)
	d.shots("claim-collections", "/console/claims?tab=collections")
	d.see("Fuel of 2036")
	d.see("1 / 500")
}

// put has a field of the page say something, as if somebody had typed it.
func (d *desk) put(selector, value string) {
	d.t.Helper()
	d.run("fill in "+selector, chromedp.WaitVisible(selector), chromedp.Evaluate(fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.value = %q;
		e.dispatchEvent(new Event(e.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
	})()`, selector, value), nil))
}

// claimIs wants a claim to have a status.
func (d *desk) claimIs(id, status string) {
	d.t.Helper()
	c, err := d.owner().Claims.Get(d.t.Context(), id)
	if err != nil || c.Status != status {
		d.t.Errorf("the claim is %+v, %v, want it %s", c, err, status)
	}
}

// waiting makes an evaluator with an oracle, and a claim that waits for them.
func (d *desk) waiting() (key, claim string) {
	d.t.Helper()
	ctx, owner := d.t.Context(), d.owner()
	k, err := owner.Keys.Create(ctx, client.KeyDraft{Name: "evaluator of the test", Role: "evaluator"})
	if err != nil {
		d.t.Fatal(err)
	}
	oracle, err := owner.Entities.Create(ctx, client.EntityDraft{Type: "oracle", Protocol: "did:ixo:protocol/oracle", Controller: k.Principal})
	if err != nil {
		d.t.Fatal(err)
	}
	for c, err := range owner.Claims.List(ctx, client.ClaimQuery{Status: "approved", Kind: "fuel-saved"}) {
		if err != nil {
			d.t.Fatal(err)
		}
		in, err := owner.Collections.Create(ctx, client.CollectionDraft{Name: "Fuel of 2036", Protocol: "did:ixo:protocol/clean-cooking", Quota: 500})
		if err != nil {
			d.t.Fatal(err)
		}
		made, err := owner.Claims.Submit(ctx, client.ClaimDraft{
			Collection: in.ID,
			Kind:       c.Kind, Subject: c.Subject, PeriodStart: "2036-01-01", PeriodEnd: "2036-01-31", Amount: &client.ClaimAmount{Value: 12, Unit: "kg"}, Oracle: oracle.DID,
		})
		if err != nil {
			d.t.Fatal(err)
		}
		return k.Text, made.ID
	}
	d.t.Fatal("the demo has no approved claim")
	return "", ""
}
