package console

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m, browser.Close, dropDemo)) }

const patience = browser.Patience

// desk is a browser at a server.
type desk struct {
	*browser.Browser
	t      *testing.T
	server *server.Server
	base   string // of the console, without a slash at the end

	elsewhere bool // the test opens pages of other sites, which fail
}

// open starts a server and a browser that looks at it under a host name.
func open(t *testing.T, host string) *desk {
	t.Helper()
	t.Parallel()
	return serve(t, host, server.Options{})
}

// serve starts a server with options of its own.
func serve(t *testing.T, host string, o server.Options) *desk {
	t.Helper()
	return at(t, host, browser.Open(t), o)
}

// at is serve with a browser.
func at(t *testing.T, host string, b *browser.Browser, o server.Options) *desk {
	t.Helper()
	s := server.Run(t, o)
	d := &desk{Browser: b, t: t, server: s, base: fmt.Sprintf("http://%s:%d", host, s.Port)}
	t.Cleanup(func() {
		if !d.elsewhere {
			d.Check(t, d.base)
		}
	})
	return d
}

// eachHost runs a test at the loopback address, and under a name as a field
// network has: there browsers tell less of where a request comes from.
func eachHost(t *testing.T, f func(t *testing.T, d *desk)) {
	t.Helper()
	atHosts(t, []string{"127.0.0.1", browser.Host}, f)
}

// fieldHost is eachHost for what has nothing to do with signing in: the name that
// is harder is enough but for make test-all.
func fieldHost(t *testing.T, f func(t *testing.T, d *desk)) {
	t.Helper()
	hosts := []string{browser.Host}
	if dbtest.Everything() {
		hosts = append(hosts, "127.0.0.1")
	}
	atHosts(t, hosts, f)
}

func atHosts(t *testing.T, hosts []string, f func(t *testing.T, d *desk)) {
	t.Helper()
	for _, host := range hosts {
		t.Run(host, func(t *testing.T) { f(t, open(t, host)) })
	}
}

// run does something in the browser, or fails with what the browser says.
func (d *desk) run(what string, actions ...chromedp.Action) {
	d.t.Helper()
	for _, a := range actions {
		ctx, cancel := timeout(d.Context)
		err := chromedp.Run(ctx, a)
		for try := 0; try < 5 && err != nil && strings.Contains(err.Error(), "Cannot find context"); try++ {
			err = chromedp.Run(ctx, a) // the driver had not heard of the new page yet
		}
		cancel()
		if err != nil {
			var text string
			_ = chromedp.Run(d.Context, chromedp.Evaluate(`document.body.innerText`, &text)) // for people
			d.Shot(d.t, "failed-"+strings.ReplaceAll(d.t.Name(), "/", "-"))
			d.t.Fatalf("%s: %v (the browser: %v; the page: %.600s)", what, err, d.Trouble(), text)
		}
	}
}

// load opens a page anew and waits until it has loaded what it shows.
func (d *desk) load(path string) {
	d.t.Helper()
	d.run("open "+path, chromedp.Navigate(d.base+path), until(settled))
}

// visit goes to a page: by a link where another page of the console is open and
// somebody is signed in, which is a tenth of the work of load.
func (d *desk) visit(path string) {
	d.t.Helper()
	if script[bool](d, fmt.Sprintf(`location.href.startsWith(%q) && !!document.querySelector("nav.side") && location.href !== %q`, d.base+"/console/", d.base+path)) && !strings.Contains(path, "#") {
		d.turn(path)
		return
	}
	d.load(path)
}

// turn goes to another page as a link does, without loading the console anew.
func (d *desk) turn(path string) {
	d.t.Helper()
	d.run("turn to "+path,
		chromedp.Evaluate(fmt.Sprintf(`history.pushState({}, "", %q); dispatchEvent(new PopStateEvent("popstate")); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, path), nil,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
		until(settled))
}

// until waits for an expression to hold. It asks now and then: at each frame, which
// is the default, a page does little else than answer.
func until(expression string) chromedp.Action {
	return chromedp.Poll(expression, nil, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(patience))
}

// settled holds when the shell or the sign-in is there and nothing is loading.
const settled = `!!document.querySelector('main') && !document.querySelector('.skeleton, .boot, .stale') && !!document.querySelector('main h1, main .failure, main .empty')`

// see waits until the page shows a text.
func (d *desk) see(text string) {
	d.t.Helper()
	d.run(fmt.Sprintf("wait for %q", text), until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text)))
}

// signIn signs in with a key through the page.
func (d *desk) signIn(key string) {
	d.t.Helper()
	if !script[bool](d, fmt.Sprintf(`location.href === %q && document.querySelector("#key")?.value === ""`, d.base+"/console/")) {
		d.load("/console/")
	}
	d.run("sign in", chromedp.SendKeys("#key", key), browser.Tap("form button.primary"), chromedp.WaitVisible("nav.side"),
		until(settled))
}

// size sets the window.
func (d *desk) size(width, height int64) {
	d.t.Helper()
	d.run("resize", emulation.SetDeviceMetricsOverride(width, height, 1, width < 700))
}

// script evaluates an expression in the page.
func script[T any](d *desk, expression string) T {
	d.t.Helper()
	var v T
	d.run(expression, chromedp.Evaluate(expression, &v))
	return v
}

// owner calls the server with the owner key.
func (d *desk) owner() *client.Client {
	d.t.Helper()
	c, err := client.New(client.Config{BaseURL: d.server.URL, Key: d.server.Key})
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// keyOf makes a key with a role.
func (d *desk) keyOf(role string) string {
	d.t.Helper()
	k, err := d.owner().Keys.Create(d.t.Context(), client.KeyDraft{Name: role + " of the test", Role: role})
	if err != nil {
		d.t.Fatal(err)
	}
	return k.Text
}

func timeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, patience)
}
