package console

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

// answer types an answer on the handset and waits for the next screen.
func (d *desk) answer(text string) {
	d.t.Helper()
	before := script[int](d, `document.querySelectorAll(".script > li").length`)
	d.run("answer "+text, chromedp.SendKeys("#reply", text, chromedp.ByID), chromedp.Click(".reply button"),
		chromedp.Poll(fmt.Sprintf(`document.querySelectorAll(".script > li").length === %d`, before+1), nil, chromedp.WithPollingTimeout(patience)))
}

// screen is what the handset shows.
func (d *desk) screen() string {
	return script[string](d, `document.querySelector(".screen").innerText`)
}

// TestHandset walks the shipped menu to an account on the page, by keyboard and
// keypad. The PIN is dots wherever it was typed, and the message is shown.
func TestHandset(t *testing.T) {
	eachHost(t, func(t *testing.T, d *desk) {
		d.signIn(d.server.Key)
		d.visit("/console/handset?phone=%2B254700000001")
		d.Expect(func(s string) bool { return strings.Contains(s, "422") || strings.Contains(s, "400") })
		d.run("dial a real number", chromedp.Click(".dial-button"))
		d.see("NUMBER_NOT_SIMULATED")
		d.visit("/console/handset?phone=%2B999000007")
		d.Shot(t, "handset-before")
		d.run("dial", chromedp.Click(".dial-button"), chromedp.WaitVisible("#reply"))
		for _, key := range []string{"2", "2"} {
			d.run("press "+key, chromedp.Click(fmt.Sprintf(`//div[@class="keypad"]/button[.=%q]`, key)))
			d.answerTyped()
		}
		d.answer("Asha Page")
		d.answer("00")
		d.answer("48213")
		d.answer("48213")
		shown := d.screen()
		id := regexp.MustCompile(`C[A-Z0-9]{8}`).FindString(shown)
		if id == "" {
			t.Fatalf("the screen is %q, want a Customer ID", shown)
		}
		if sms := script[string](d, `document.querySelector(".sms pre").innerText`); !strings.Contains(sms, id) {
			t.Errorf("the message is %q, want %s in it", sms, id)
		}
		d.answer("1")
		if kind := script[string](d, `document.querySelector("#reply").type`); kind != "password" {
			t.Errorf("the PIN is typed into a field of type %s", kind)
		}
		d.answer("48213")
		d.see("Hello")
		d.Shot(t, "handset-account")
		if all := script[string](d, `document.documentElement.outerHTML`); strings.Contains(all, "48213") {
			t.Error("the PIN stands in the page")
		}
		if n := script[int](d, `[...document.querySelectorAll(".script kbd")].filter((k) => k.innerText === "•••••").length`); n != 3 {
			t.Errorf("%d answers are dots, want 3", n)
		}
		d.sameInAPI()
	})
}

// answerTyped sends what stands in the field of the handset.
func (d *desk) answerTyped() {
	d.t.Helper()
	before := script[int](d, `document.querySelectorAll(".script > li").length`)
	d.run("send", chromedp.Click(".reply button"),
		chromedp.Poll(fmt.Sprintf(`document.querySelectorAll(".script > li").length === %d`, before+1), nil, chromedp.WithPollingTimeout(patience)))
}

// sameInAPI finds the call of the page in the API: its screen, where it stands, and
// the file it can be saved as, which has what was typed and no PIN.
func (d *desk) sameInAPI() {
	d.t.Helper()
	session := script[string](d, `document.querySelector("[data-session]").dataset.session`)
	got, err := d.owner().Line.Simulate(d.t.Context(), client.Press{SessionID: session, Turn: 8, Input: "48213"}) // the last press once more
	if err != nil {
		d.t.Fatal(err)
	}
	if shown := d.screen(); strings.TrimSpace(shown) != got.Screen || !got.Authenticated {
		d.t.Errorf("the page shows %q, the API gave %+v", shown, got)
	}
	if node := script[string](d, `document.querySelector("[data-state] code").innerText`); node != got.Node {
		d.t.Errorf("the page stands at %s, the API at %s", node, got.Node)
	}
	if name := script[string](d, `document.querySelector("a[download][href^='blob:']").download`); !strings.HasSuffix(name, ".dialog") {
		d.t.Errorf("the call is saved as %s", name)
	}
	for _, want := range []string{"> 2\n", "> Asha Page\n", "> {pin}\n", "needs: pin"} {
		if !strings.Contains(got.Dialog, want) {
			d.t.Errorf("the dialog is %q, want %q in it", got.Dialog, want)
		}
	}
	if strings.Contains(got.Dialog, "48213") {
		d.t.Errorf("the dialog is %q", got.Dialog)
	}
}
