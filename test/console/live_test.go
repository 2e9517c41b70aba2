package console

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

// tab is one more page of the same browser.
func (d *desk) tab() *desk {
	d.t.Helper()
	ctx, cancel := chromedp.NewContext(d.Context)
	d.t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil { // the page lives as long as the context of its first run
		d.t.Fatal(err)
	}
	return &desk{Browser: &browser.Browser{Context: ctx}, t: d.t, server: d.server, base: d.base}
}

// front brings the page before all others.
func (d *desk) front() {
	d.t.Helper()
	d.run("come to the front", cdpage.BringToFront())
}

// streams is how many event streams the server has open.
func (d *desk) streams() string {
	d.t.Helper()
	answer, err := d.server.Client(1).Do(d.t.Context(), "GET", "/metrics", nil, "Authorization", "Bearer "+d.server.Key)
	if err != nil {
		d.t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^hearth_event_streams (\d+)`).FindString(string(answer.Body))
}

// until looks at something again and again until it holds.
func (d *desk) comes(what string, holds func() bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.t.Fatalf("it does not come true that %s", what)
		}
	}
}

// keyNamed makes something happen that the feed shows.
func (d *desk) keyNamed(name string) string {
	d.t.Helper()
	k, err := d.owner().Keys.Create(d.t.Context(), client.KeyDraft{Name: name, Role: "auditor"})
	if err != nil {
		d.t.Fatal(err)
	}
	return k.ID
}

// busy gives the server a programme, so that Today has something to show.
func (d *desk) busy() {
	d.t.Helper()
	draft := client.EntityDraft{Type: "Organisation", Protocol: "did:ixo:protocol/organisation", Properties: map[string]any{"name": "Stoves for Kitui"}}
	if _, err := d.owner().Entities.Create(d.t.Context(), draft); err != nil {
		d.t.Fatal(err)
	}
}

const feedLines = `document.querySelectorAll(".feed li").length`

// TestTabs opens nine tabs: the one that is looked at has the only stream, and one
// that comes to the front shows what happened meanwhile.
func TestTabs(t *testing.T) {
	t.Parallel()
	d := at(t, browser.Host, browser.OpenWhole(t), server.Options{})
	d.busy()
	d.signIn(d.server.Key)
	d.keyNamed("something to begin with")
	tabs := []*desk{d}
	for len(tabs) < 9 {
		next := d.tab()
		next.front()
		next.visit("/console/")
		tabs = append(tabs, next)
	}
	d.comes("one stream is open", func() bool { return d.streams() == "hearth_event_streams 1" })
	visible := 0
	for _, one := range tabs {
		if script[bool](one, `document.visibilityState === "visible"`) {
			visible++
		}
	}
	if visible != 1 {
		t.Skipf("this browser shows %d tabs at once", visible)
	}
	before := script[int](d, feedLines)
	d.keyNamed("made while the first tab was hidden")
	tabs[8].run("see it in the tab at the front", until(`document.querySelector(".feed").innerText.includes("just now")`))
	d.front()
	d.comes("one stream is open", func() bool { return d.streams() == "hearth_event_streams 1" })
	d.run("see it in the first tab", until(fmt.Sprintf(`%s >= %d && document.querySelector(".feed").innerText.includes("just now")`, feedLines, before)))
}

// TestRevokedWhileOpen revokes the key under an open page: it shows the sign-in.
func TestRevokedWhileOpen(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.Expect(func(s string) bool { return strings.Contains(s, "401") || strings.Contains(s, "load failed") }) // of the stream that ends
	k, err := d.owner().Keys.Create(t.Context(), client.KeyDraft{Name: "ends soon", Role: "auditor"})
	if err != nil {
		t.Fatal(err)
	}
	d.signIn(k.Text)
	d.comes("the stream is open", func() bool { return d.streams() == "hearth_event_streams 1" })
	if _, err := d.owner().Keys.Revoke(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	d.run("see the sign-in", chromedp.WaitVisible("#key"))
}

// TestServerStops stops the server under an open page: old content stays, the page says
// so once, and what was typed is not lost; when the server is back the page and its feed
// go on without a click and without a gap.
func TestServerStops(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.Expect(func(s string) bool { return strings.Contains(s, "load failed") || strings.Contains(s, "ERR_") })
	d.busy()
	d.signIn(d.server.Key)
	d.keyNamed("before")
	d.visit("/console/chat")
	d.visit("/console/keys")
	d.visit("/console/")
	d.run("see the feed", chromedp.WaitVisible(".feed li"))
	lines := script[int](d, feedLines)
	if err := d.server.Stop(patience); err != nil {
		t.Fatal(err)
	}
	d.run("see that the stream is gone", until(`document.querySelector(".live").innerText === "reconnecting"`))
	d.run("be told on any page", chromedp.WaitVisible(".offline"))
	d.run("go on to another page", browser.Tap(`nav.side a[href="/console/keys"]`), chromedp.WaitVisible("main .skeleton"))
	if n := script[int](d, `document.querySelectorAll("main .failure").length`); n != 0 {
		t.Errorf("the page says %d times more that the server is gone", n)
	}
	const question = "How many households are there?"
	d.run("say something", browser.Tap(`nav.side a[href="/console/chat"]`), chromedp.WaitVisible("#say"), chromedp.SendKeys("#say", question), browser.Tap(".say button.primary"), chromedp.WaitVisible(".talk-main .failure"))
	d.run("still have it", until(fmt.Sprintf(`document.querySelector("#say").value === %q`, question)))
	d.run("go back to the feed", browser.Tap(`nav.side .brand`), chromedp.WaitVisible("main .skeleton, .feed"))
	d.server = server.Run(t, server.Options{Dir: d.server.Dir, Env: []string{fmt.Sprintf("PORT=%d", d.server.Port)}})
	d.keyNamed("after")
	d.run("see the feed go on by itself", until(fmt.Sprintf(`!document.querySelector(".offline") && %s >= %d && document.querySelector(".live").innerText === "live"`, feedLines, lines)))
}
