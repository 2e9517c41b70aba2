package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

// openWith is open for a server with settings of its own.
func openWith(t *testing.T, o server.Options) *desk {
	t.Helper()
	t.Parallel()
	s := server.Run(t, o)
	d := &desk{Browser: browser.Open(t), t: t, server: s, base: fmt.Sprintf("http://127.0.0.1:%d", s.Port)}
	t.Cleanup(func() { d.Check(t, d.base) })
	return d
}

// click presses the first button with a text.
func (d *desk) click(text string) {
	d.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('main button, main a, dialog button')].find((b) => b.innerText.trim() === %q && !b.disabled && b.offsetParent)`, text)
	d.run("press "+text, until(`!!(`+find+`)`), chromedp.Evaluate(`void `+find+`.click()`, nil))
}

// fill types into the field with a label, as a person would.
func (d *desk) fill(label, text string) {
	d.t.Helper()
	at := fmt.Sprintf(`[...(document.querySelector('dialog[open]') || document).querySelectorAll('label')].find((l) => l.innerText.trim().startsWith(%q))?.querySelector('input,textarea,select')`, label)
	d.run("fill in "+label, until(`!!(`+at+`)`),
		chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); e.dispatchEvent(new Event("change", {bubbles: true})); })()`, at, text), nil))
}

// agree answers every question of the page with yes.
func (d *desk) agree() {
	d.t.Helper()
	d.run("agree", chromedp.Evaluate(`void (window.confirm = () => true)`, nil))
}

// TestWebhooks makes a webhook on the page, sees why a delivery failed, sends it
// again and deletes the webhook: each is what the API says.
func TestWebhooks(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("the <b>queue</b> is full"))
		}
	}))
	defer receiver.Close()
	d := openWith(t, server.Options{Env: []string{"HEARTH_OUTBOUND_ALLOW=127.0.0.1"}})
	d.signIn(d.server.Key)
	d.visit("/console/webhooks")
	d.see("No webhook yet")
	d.click("New webhook")
	d.fill("Address", receiver.URL)
	d.fill("Events", "key.*")
	d.click("Make the webhook")
	d.see("It is shown once")
	hooks, err := d.owner().Webhooks.Page(t.Context(), client.PageQuery{})
	if err != nil || len(hooks.Items) != 1 || hooks.Items[0].URL != receiver.URL {
		t.Fatalf("webhooks = %+v, %v; want the one the page made", hooks, err)
	}
	id := hooks.Items[0].ID
	d.keyOf("auditor") // an event
	d.visit("/console/webhooks/" + id)
	d.see("HTTP 503")
	list, err := d.owner().Webhooks.DeliveryPage(t.Context(), id, client.DeliveryQuery{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("deliveries = %+v, %v; want one", list, err)
	}
	seq := list.Items[0].Seq
	d.visit(fmt.Sprintf("/console/webhooks/%s?delivery=%d", id, seq))
	d.see("the <b>queue</b> is full")
	d.see(`"type": "key.created"`)
	d.Shot(t, "webhook")
	broken.Store(false)
	d.click("Send again")
	d.run("see it delivered", chromedp.WaitVisible("td .badge.good"))
	if one, err := d.owner().Webhooks.Delivery(t.Context(), id, seq); err != nil || one.Status != "delivered" || !strings.Contains(one.Request, "key.created") {
		t.Errorf("the delivery = %+v, %v; want it delivered", one, err)
	}
	d.click("Ping")
	d.see("HTTP 200 after")
	d.agree()
	d.click("Delete")
	d.see("No webhook yet")
	if hooks, err := d.owner().Webhooks.Page(t.Context(), client.PageQuery{}); err != nil || len(hooks.Items) != 0 {
		t.Errorf("webhooks = %+v, %v; want none", hooks, err)
	}
}
