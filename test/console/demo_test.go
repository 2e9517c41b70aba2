package console

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

// press sends a key to the page as a person does, not to a field.
func (d *desk) press(key string) {
	d.t.Helper()
	d.run("press "+key,
		input.DispatchKeyEvent(input.KeyRawDown).WithKey(key).WithText(key).WithWindowsVirtualKeyCode(int64(key[0])),
		input.DispatchKeyEvent(input.KeyUp).WithKey(key))
}

// openDemo opens the console as the owner at a server that has the demo
// programme, with settings of its own.
func openDemo(t *testing.T, env ...string) *desk {
	t.Helper()
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(loaded(t))); err != nil {
		t.Fatal(err)
	}
	d := serve(t, "127.0.0.1", server.Options{Dir: dir, Env: env})
	d.signIn(d.server.Key)
	return d
}

// demoStore is the data folder of a server that has loaded the demo programme and
// ended. Loading takes seconds, copying does not.
var demoStore struct {
	sync.Mutex
	dir string // once it is loaded
}

// loaded gives demoStore, which the first test fills.
func loaded(t *testing.T) string {
	t.Helper()
	demoStore.Lock()
	defer demoStore.Unlock()
	if demoStore.dir != "" {
		return demoStore.dir
	}
	dir, err := os.MkdirTemp("", "hearth-demo-")
	if err != nil {
		t.Fatal(err)
	}
	s := server.Run(t, server.Options{Dir: dir})
	d := &desk{t: t, server: s}
	if _, err := d.owner().Demo.Load(t.Context(), client.DemoDraft{}); err != nil {
		t.Fatal(err)
	}
	d.demoIs("ready")
	if err := s.Stop(patience); err != nil {
		t.Fatal(err)
	}
	demoStore.dir = dir
	return dir
}

// dropDemo removes demoStore when the tests have ended.
func dropDemo() { _ = os.RemoveAll(demoStore.dir) }

// TestDemoButton loads the demo programme by the button of the first page; make
// test-all waits for its end.
func TestDemoButton(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	d.see("This server is empty")
	d.run("load the demo", browser.Tap(".start button.primary"))
	d.see("Loading the demo programme")
	if dbtest.Everything() {
		d.demoIs("ready")
		d.see("You are looking at the demo programme.")
	}
}

// demoIs waits until the demo programme is in a state.
func (d *desk) demoIs(status string) {
	d.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		state, err := d.owner().Demo.Get(d.t.Context())
		if err != nil {
			d.t.Fatal(err)
		}
		if state.Status == status {
			return
		}
		select {
		case <-tick.C:
		case <-d.t.Context().Done():
			d.t.Fatalf("the demo is %s, want %s", state.Status, status)
		}
	}
}

// TestDemo loads the demo programme, finds its figures on the pages, decides ten
// interviews by keyboard, and removes it again.
func TestDemo(t *testing.T) {
	d := openDemo(t)
	d.Expect(func(s string) bool { return strings.Contains(s, "401") }) // what was under way when a session ended
	d.see("You are looking at the demo programme.")
	ctx, c := t.Context(), d.owner()
	d.load("/console/")
	d.see("Active surveys")
	asked := script[[]string](d, `performance.getEntriesByType("resource").map((e) => new URL(e.name).pathname).filter((p) => !p.startsWith("/console/"))`)
	if len(asked) > 10 {
		t.Errorf("Today asks %d times: %q", len(asked), asked)
	}
	t.Logf("Today asks %d times: %q", len(asked), asked)
	d.Shot(t, "demo-today")

	households, err := c.Entities.Page(ctx, client.EntityQuery{Type: "Household", Limit: 25})
	if err != nil {
		t.Fatal(err)
	}
	d.visit("/console/twins?type=Household")
	if n := script[int](d, `document.querySelectorAll("main tbody tr").length`); n != len(households.Items) {
		t.Errorf("the page has %d households, the API gave %d", n, len(households.Items))
	}
	d.Shot(t, "demo-twins")
	d.visit("/console/twins/" + url.PathEscape(households.Items[0].DID))
	d.run("wait for the graph", chromedp.WaitVisible(".graph svg"))
	d.Shot(t, "demo-twin")
	for _, tab := range []string{"history", "document"} {
		d.visit("/console/twins/" + url.PathEscape(households.Items[0].DID) + "?tab=" + tab)
		d.Shot(t, "demo-twin-"+tab)
	}

	for s, err := range c.Surveys.List(ctx, client.SurveyQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		d.visit("/console/surveys/" + s.SurveyID)
		d.see(fmt.Sprintf("%d", s.Progress.Verified))
		d.Shot(t, "demo-survey-"+s.SurveyID)
		d.visit("/console/surveys/" + s.SurveyID + "?tab=interviews")
		d.visit("/console/surveys/" + s.SurveyID + "?tab=households")
	}
	d.run("sign out", browser.Tap(".who button.link"), chromedp.WaitVisible("#key"))
	d.decideTen()
	if _, err := c.Demo.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	d.demoIs("none")
	d.run("sign out", browser.Tap(".who button.link"), chromedp.WaitVisible("#key"))
	d.signIn(d.server.Key)
	d.see("This server is empty")
}

// decideTen has a verifier decide ten interviews without a mouse, and finds the
// decisions in the API.
func (d *desk) decideTen() {
	d.t.Helper()
	d.signIn(d.keyOf("verifier"))
	d.visit("/console/desk")
	d.Shot(d.t, "demo-desk")
	began := time.Now()
	for i := range 10 {
		d.run("wait for an interview", chromedp.WaitVisible(".desk"), until(settled))
		id := script[string](d, `document.querySelector(".desk").dataset.response`)
		want := "verified"
		if i%5 == 4 || script[bool](d, `document.querySelector(".desk button.primary").disabled`) {
			want = "rejected"
			d.press("c")
			d.run("write why", chromedp.SendKeys(".desk textarea", "The photo shows another stove."))
			d.run("leave the comment", chromedp.Evaluate(`document.activeElement.blur()`, nil))
			d.press("x")
		} else {
			d.press("v")
		}
		d.run("wait for the next", until(fmt.Sprintf(`document.querySelector(".desk")?.dataset.response !== %q`, id)))
		r, err := d.owner().Responses.Get(d.t.Context(), id)
		if err != nil {
			d.t.Fatal(err)
		}
		if r.Verification.Status != want {
			d.t.Errorf("%s is %s, want %s", id, r.Verification.Status, want)
		}
	}
	d.t.Logf("ten decisions in %v", time.Since(began).Round(time.Millisecond))
}

// examples fills the places of a path in with ids of the demo.
func (d *desk) examples() *strings.Replacer {
	d.t.Helper()
	c, ctx := d.owner(), d.t.Context()
	households, err := c.Entities.Page(ctx, client.EntityQuery{Type: "Household", Limit: 50})
	if err != nil || len(households.Items) == 0 {
		d.t.Fatalf("households of the demo: %v", err)
	}
	one := households.Items[0] // and rather one with a name
	for _, e := range households.Items {
		if e.Properties["name"] != nil {
			one = e
			break
		}
	}
	surveys, err := c.Surveys.Page(ctx, client.SurveyQuery{Status: "active", Limit: 1})
	if err != nil || len(surveys.Items) == 0 {
		d.t.Fatalf("surveys of the demo: %v", err)
	}
	return strings.NewReplacer("$HOUSEHOLD", url.PathEscape(one.DID), "$SURVEY", url.PathEscape(surveys.Items[0].SurveyID))
}
