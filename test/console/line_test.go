package console

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// answer types an answer on the handset and waits for the next screen.
func (d *desk) answer(text string) {
	d.t.Helper()
	before := script[int](d, `document.querySelectorAll(".script > li").length`)
	d.run("answer "+text, chromedp.SendKeys("#reply", text, chromedp.ByID), browser.Tap(".reply button"),
		until(fmt.Sprintf(`document.querySelectorAll(".script > li").length === %d`, before+1)))
}

// screen is what the handset shows.
func (d *desk) screen() string {
	return script[string](d, `document.querySelector(".screen").innerText`)
}

// TestHandset walks the shipped menu to an account on the page, by keyboard and
// keypad. The PIN is dots wherever it was typed, and the message is shown.
func TestHandset(t *testing.T) {
	fieldHost(t, func(t *testing.T, d *desk) {
		d.signIn(d.server.Key)
		d.visit("/console/handset?phone=%2B254700000001")
		d.Expect(func(s string) bool { return strings.Contains(s, "422") || strings.Contains(s, "400") })
		d.run("dial a real number", browser.Tap(".dial-button"))
		d.see("NUMBER_NOT_SIMULATED")
		d.visit("/console/handset?phone=%2B999000007")
		d.Shot(t, "handset-before")
		d.run("dial", browser.Tap(".dial-button"), chromedp.WaitVisible("#reply"))
		for _, key := range []string{"2", "2"} {
			d.run("press "+key, browser.Tap(fmt.Sprintf(`//div[@class="keypad"]/button[.=%q]`, key)))
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
	d.run("send", browser.Tap(".reply button"),
		until(fmt.Sprintf(`document.querySelectorAll(".script > li").length === %d`, before+1)))
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

// lineOf gives a server a customer who has called: an account, a call that was
// ended and one that was hung up.
func (d *desk) lineOf() (customer string) {
	d.t.Helper()
	dial := func(session, text string) string {
		body := fmt.Sprintf(`{"sessionId":%q,"serviceCode":"*2233#","phoneNumber":"+254711000111","text":%q}`, session, text)
		r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.server.URL+"/api/ussd", strings.NewReader(body))
		if err != nil {
			d.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			d.t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err = textOf(answer)
		if err != nil {
			d.t.Fatal(err)
		}
		return text
	}
	made := dial("s1", "2*2*Zawadi Line*00*48213*48213")
	dial("s1", "2*2*Zawadi Line*00*48213*48213**")
	dial("s2", "1")
	dial("s2", "1**")
	return regexp.MustCompile(`C[A-Z0-9]{8}`).FindString(made)
}

func textOf(answer *http.Response) (string, error) {
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// TestLinePages finds what the API says of the menu, of calls and of customers on
// their pages, checks a menu, and holds the number of a customer.
func TestLinePages(t *testing.T) {
	d := open(t, "127.0.0.1")
	customer := d.lineOf()
	ctx, line := t.Context(), d.owner().Line
	d.signIn(d.server.Key)

	menu, err := line.Menu(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	d.visit("/console/menu?node=" + menu.Start)
	if n := script[int](d, `document.querySelectorAll(".stop").length`); n != len(menu.Nodes) {
		t.Errorf("the page draws %d nodes, the API gave %d", n, len(menu.Nodes))
	}
	if n := script[int](d, `document.querySelectorAll(".as-table tbody tr").length`); n != len(menu.Nodes) {
		t.Errorf("the table has %d rows, the API gave %d nodes", n, len(menu.Nodes))
	}
	d.Shot(t, "line-menu")
	d.run("check a menu", chromedp.SendKeys("#pack", "pack: mine\n", chromedp.ByID), browser.Tap(".form button.primary"), chromedp.WaitVisible(`.checked[data-ok="false"]`))
	checked, err := line.CheckMenu(ctx, "pack: mine\n")
	if err != nil || len(checked.Problems) == 0 {
		t.Fatalf("check = %+v, %v", checked, err)
	}
	d.see(checked.Problems[0].Text)
	d.Shot(t, "line-menu-check")

	calls, err := line.CallPage(ctx, client.CallQuery{})
	if err != nil || len(calls.Items) != 2 {
		t.Fatalf("calls = %+v, %v", calls, err)
	}
	d.visit("/console/calls")
	if n := script[int](d, `document.querySelectorAll("main .table-wrap tbody tr a").length`); n != len(calls.Items) {
		t.Errorf("the page has %d calls, the API gave %d", n, len(calls.Items))
	}
	d.Shot(t, "line-calls")
	d.visit("/console/calls/" + calls.Items[1].ID)
	whole, err := line.Call(ctx, calls.Items[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	if n := script[int](d, `document.querySelectorAll(".strip li").length`); n != len(whole.Steps) || n < 7 {
		t.Errorf("the strip has %d steps, the API gave %d", n, len(whole.Steps))
	}
	if html := script[string](d, `document.documentElement.outerHTML`); strings.Contains(html, "48213") || strings.Count(html, "<kbd>•••••</kbd>") != 2 {
		t.Errorf("the call shows its PIN, or not as dots")
	}
	d.Shot(t, "line-call")
	d.holdOnPage(customer)
}

// holdOnPage holds the number of a customer on the page and finds that in the API.
func (d *desk) holdOnPage(customer string) {
	d.t.Helper()
	d.visit("/console/accounts")
	d.see(customer)
	d.Shot(d.t, "line-accounts")
	d.run("say yes", chromedp.Evaluate(`window.confirm = () => true; 0`, nil), browser.Tap(`[data-action="hold"]`), chromedp.WaitVisible(`[data-action="release"]`))
	a, err := d.owner().Line.Account(d.t.Context(), customer)
	if err != nil || !a.Held {
		d.t.Errorf("the account is %+v, %v; want its number held", a, err)
	}
	d.see(fmt.Sprintf("The number of %s is held.", customer))
	for _, tab := range []string{"numbers", "messages"} {
		d.visit("/console/accounts?tab=" + tab)
		d.Shot(d.t, "line-"+tab)
	}
}
