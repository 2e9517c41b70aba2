// Package browser drives a real Chromium through this server's pages in tests, and
// records everything that goes wrong there.
package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Patience is how long a page may take on a busy machine before the test gives up.
const Patience = 90 * time.Second

// whole lists browsers with windows; bare lists the same engine without windows, which
// takes two thirds of the work and shows every tab at once.
var (
	whole = []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	}
	bare = []string{"chromium-headless-shell", "headless-shell"}
)

// find returns the first browser that is installed, or skips the test.
func find(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	if os.Getenv("HEARTH_TEST_REQUIRE") == "all" {
		t.Fatal("Chromium is required and cannot be found")
	}
	t.Skip("SKIPPED: no Chromium to open pages in")
	return ""
}

// Browser is a browser and a record of what it did while it showed pages.
type Browser struct {
	Context context.Context // of the open page, for chromedp.Run

	mu       sync.Mutex
	requests []string
	trouble  []string // console errors, exceptions, violations of the policy
	expected func(trouble string) bool
}

// Trouble returns what has gone wrong so far.
func (w *Browser) Trouble() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.trouble)
}

// Expect sets which trouble a test causes on purpose.
func (w *Browser) Expect(f func(trouble string) bool) { w.expected = f }

// note records an event of the browser.
func (w *Browser) note(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		w.requests = append(w.requests, e.URL)
	case *network.EventLoadingFailed:
		if !e.Canceled {
			w.trouble = append(w.trouble, "load failed: "+e.ErrorText)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			w.trouble = append(w.trouble, fmt.Sprintf("answered with %d: %s", e.Response.Status, e.Response.URL))
		}
	case *runtime.EventExceptionThrown:
		w.trouble = append(w.trouble, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeAssert {
			w.trouble = append(w.trouble, "console: "+consoleText(e))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Source == log.SourceSecurity {
			w.trouble = append(w.trouble, "log: "+e.Entry.Text)
		}
	}
}

func consoleText(e *runtime.EventConsoleAPICalled) string {
	var parts []string
	for _, a := range e.Args {
		parts = append(parts, string(a.Value)+a.Description)
	}
	return strings.Join(parts, " ")
}

// Check fails the test if anything went wrong or if a request went to an address
// other than base.
func (w *Browser) Check(t *testing.T, base string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.trouble {
		if w.expected == nil || !w.expected(text) {
			t.Errorf("the browser complains: %s", text)
		}
	}
	for _, text := range w.requests {
		u, err := url.Parse(text)
		if err != nil {
			t.Errorf("a request to %q: %v", text, err)
			continue
		}
		if u.Scheme != "data" && u.Scheme != "blob" && !strings.HasPrefix(text, base+"/") {
			t.Errorf("a request left for %s", text)
		}
	}
	if len(w.requests) < 2 {
		t.Errorf("requests = %v, want those of the pages", w.requests)
	}
}

// Host is a name for this machine that works like a name in a field network: over
// plain HTTP, and not one that browsers trust.
const Host = "field.test"

// processes holds the browsers of a test program by path. The first test that needs
// one starts it and Close ends it; a process for each test would cost more than most
// tests do.
var processes = struct {
	sync.Mutex
	running map[string]process
}{running: map[string]process{}}

type process struct {
	context context.Context
	end     func()
}

// start returns the context of a browser process, and starts one if none runs.
func start(t *testing.T, path string) context.Context {
	t.Helper()
	processes.Lock()
	defer processes.Unlock()
	if p, ok := processes.running[path]; ok && p.context.Err() == nil {
		return p.context
	}
	profile, err := os.MkdirTemp("", "hearth-browser-")
	if err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 1600), chromedp.UserDataDir(profile),
		chromedp.Flag("host-resolver-rules", "MAP "+Host+" 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("no-pings", true), chromedp.Flag("disable-gpu", true), chromedp.Flag("force-prefers-reduced-motion", true),
	)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, leave := chromedp.NewContext(alloc)
	end := func() {
		_ = chromedp.Cancel(ctx) // closes the browser and waits for it
		leave()
		stop()
		_ = os.RemoveAll(profile) // what its processes still write is no failure
	}
	if err := chromedp.Run(ctx); err != nil {
		end()
		t.Fatalf("start the browser: %v", err)
	}
	processes.running[path] = process{ctx, end}
	return ctx
}

// Close ends the browsers that tests have started:
//
//	func TestMain(m *testing.M) { os.Exit(server.Main(m, browser.Close)) }
func Close() {
	processes.Lock()
	defer processes.Unlock()
	for path, p := range processes.running {
		p.end()
		delete(processes.running, path)
	}
}

// window opens an empty window with its own storage, and closes it after the test.
func window(t *testing.T, process context.Context) (context.Context, error) {
	t.Helper()
	browser := cdp.WithExecutor(process, chromedp.FromContext(process).Browser)
	store, err := target.CreateBrowserContext().Do(browser)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = target.DisposeBrowserContext(store).Do(browser) }) // with all that is open in it
	// A store begins without a window, and tabs open in windows only.
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(store).WithNewWindow(true).WithWidth(1280).WithHeight(1600).Do(browser)
	if err != nil {
		return nil, err
	}
	ctx, cancel := chromedp.NewContext(process, chromedp.WithTargetID(id))
	t.Cleanup(cancel)
	chromedp.FromContext(ctx).BrowserContextID = store // of the tabs a test opens beside it
	return ctx, nil
}

// Open returns a window for one test, with its own cookies and storage, in a
// browser that sends no requests on its own. It can reach only the loopback
// address, so a page that needs another host fails visibly.
func Open(t *testing.T) *Browser {
	t.Helper()
	return open(t, find(t, slices.Concat([]string{os.Getenv("CHROME_PATH")}, bare, whole)...))
}

// OpenWhole is Open for a test that needs tabs behind others, which only a browser
// with windows has.
func OpenWhole(t *testing.T) *Browser {
	t.Helper()
	return open(t, find(t, slices.Concat(whole, []string{os.Getenv("CHROME_PATH")})...))
}

func open(t *testing.T, path string) *Browser {
	t.Helper()
	ctx, err := window(t, start(t, path))
	if err != nil {
		t.Fatalf("open a window: %v", err)
	}
	w := &Browser{Context: ctx}
	chromedp.ListenTarget(ctx, w.note)
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	// Machines are busy and pages are large, but a test that hangs must end. The
	// limit counts from the first use: the window lives as long as its context.
	limited, stop := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(stop)
	w.Context = limited
	return w
}

// Tap clicks the first element that a selector finds (CSS, or XPath from //), once a person
// could click it: nothing covers it. It looks and clicks in one step, so the page cannot
// move the element in between, as it can with the driver's own clicks.
func Tap(selector string) chromedp.Action {
	find := fmt.Sprintf(`document.querySelector(%q)`, selector)
	if strings.HasPrefix(selector, "//") {
		find = fmt.Sprintf(`document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue`, selector)
	}
	return chromedp.Poll(`((e) => {
		if (!e || e.disabled) return false;
		e.scrollIntoView({block: "center"});
		const [r] = e.getClientRects();
		const there = r && document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
		if (!there || !e.contains(there) && there.closest("label")?.control !== e) return false;
		e.focus();
		e.click();
		return true;
	})(`+find+`)`, nil, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(Patience))
}

// Shot saves a picture of the page in $HEARTH_TEST_SHOTS, for people to look at.
func (w *Browser) Shot(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("HEARTH_TEST_SHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	if err := chromedp.Run(w.Context, chromedp.CaptureScreenshot(&picture)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}
