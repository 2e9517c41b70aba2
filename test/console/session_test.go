package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestSignIn signs in with a wrong key and with a right one, and out again: the
// back button shows nothing of before.
func TestSignIn(t *testing.T) {
	eachHost(t, func(t *testing.T, d *desk) {
		d.Expect(func(s string) bool { return strings.Contains(s, "401") }) // the wrong one, and what was under way when it ended
		d.visit("/console/")
		d.run("try a wrong key", chromedp.SendKeys("#key", "hearth_wrong"), browser.Tap("form button.primary"), chromedp.WaitVisible(".failure"))
		d.see("The API key is not valid.")
		d.signIn(d.server.Key)
		d.Shot(t, "today-"+strings.ReplaceAll(t.Name(), "/", "-"))
		d.run("open the audit", browser.Tap(`nav.side a[href="/console/audit"]`))
		d.see("An API key was made")
		d.run("sign out", browser.Tap(".who button.link"), chromedp.WaitVisible("#key"))
		d.run("go back", chromedp.NavigateBack(), chromedp.WaitVisible("#key"))
	})
}

// TestPrintedLink opens the link that the server prints: it signs in once.
func TestPrintedLink(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.Expect(func(s string) bool { return strings.Contains(s, "401") }) // the wrong one, and what was under way when it ended
	link := regexp.MustCompile(`/console/#enter=\S+`).FindString(d.server.Output())
	if link == "" {
		t.Fatalf("the server printed no link: %s", d.server.Output())
	}
	d.visit(link)
	d.run("be signed in", chromedp.WaitVisible("nav.side"))
	if at := script[string](d, `location.href`); strings.Contains(at, "enter") {
		t.Errorf("the code stays in the address: %s", at)
	}
	d.run("sign out", browser.Tap(".who button.link"), chromedp.WaitVisible("#key"))
	d.run("leave", chromedp.Navigate("about:blank"))
	d.visit(link)
	d.see("This link was used")
}

// TestNoSecretInPage looks for the key where a script could find it.
func TestNoSecretInPage(t *testing.T) {
	eachHost(t, func(t *testing.T, d *desk) {
		d.signIn(d.server.Key)
		for _, page := range []string{"/console/", "/console/keys", "/console/help", "/console/twins"} {
			d.visit(page)
			all := script[string](d, `document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML + location.href`)
			if strings.Contains(all, d.server.Key) {
				t.Errorf("%s holds the key", page)
			}
			if c := script[string](d, `document.cookie`); c != "" {
				t.Errorf("%s: a script reads the cookie %q", page, c)
			}
		}
	})
}

// TestOtherSites has pages of other ports, hosts and origins try what a person
// who is signed in may do. The browser attaches the cookie to some of it.
func TestOtherSites(t *testing.T) {
	eachHost(t, func(t *testing.T, d *desk) {
		d.elsewhere = true
		d.signIn(d.server.Key)
		attack := fmt.Sprintf(`<!doctype html><title>other</title><iframe name="sink"></iframe><form id="f" target="sink" method="post" enctype="text/plain" action="%[1]s/v1/api-keys"><input name='{"name":"stolen","role":"owner","x":"' value='"}'></form><script>
			window.seen = [];
			const note = (p) => p.then((r) => r.text().then((t) => seen.push(r.type + " " + r.status + " " + t)), (e) => seen.push("" + e));
			const all = { credentials: "include" }, body = '{"name":"stolen","role":"owner"}';
			Promise.all([
				note(fetch("%[1]s/v1/api-keys", all)),
				note(fetch("%[1]s/v1/api-keys", { ...all, mode: "no-cors" })),
				note(fetch("%[1]s/v1/api-keys", { ...all, method: "POST", body, headers: { "Content-Type": "application/json" } })),
				note(fetch("%[1]s/v1/api-keys", { ...all, method: "POST", body, headers: { "Content-Type": "application/json", "X-Hearth-Console": "1" } })),
				note(fetch("%[1]s/v1/api-keys", { ...all, method: "POST", body, mode: "no-cors" })),
				note(fetch("%[1]s/console/session", all)),
			]).then(() => { document.title = "tried"; parent.postMessage(seen, "*"); });
		</script>`, d.base)
		page := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.URL.Path == "/frame" { // its origin is null
				fmt.Fprintf(w, `<!doctype html><title>other</title><iframe sandbox="allow-scripts allow-forms" src="/"></iframe><script>addEventListener("message", (e) => { window.seen = e.data; document.title = "tried"; })</script>`)
				return
			}
			_, _ = w.Write([]byte(attack))
		}
		other := httptest.NewServer(http.HandlerFunc(page))
		defer other.Close()
		port := other.URL[strings.LastIndexByte(other.URL, ':'):]
		for _, from := range []string{"http://127.0.0.1" + port, "http://" + browser.Host + port, "http://localhost" + port, other.URL + "/frame"} {
			d.run("open "+from, chromedp.Navigate(from), until(`document.title === "tried"`))
			for _, s := range script[[]string](d, `window.seen || []`) {
				if strings.Contains(s, "hearth_") || strings.Contains(s, `"items"`) || strings.Contains(s, `"signedIn":true`) {
					t.Errorf("a page of %s reads %.200s", from, s)
				}
			}
			if !strings.HasSuffix(from, "/frame") {
				d.run("post the form", chromedp.Evaluate(`document.querySelector("iframe").onload = () => { document.title = "posted" }, document.getElementById("f").submit()`, nil),
					until(`document.title === "posted"`))
			}
		}
		for k, err := range d.owner().Keys.List(t.Context(), client.PageQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if k.Name == "stolen" {
				t.Error("a page of another site made a key")
			}
		}
	})
}
