package e2e

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/test/server"
)

// chromium finds a browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{
		os.Getenv("CHROME_PATH"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	if os.Getenv("HEARTH_TEST_REQUIRE") == "all" {
		t.Fatal("Chromium is required and cannot be found")
	}
	t.Skip("SKIPPED: no Chromium to open /docs in")
	return ""
}

// watch is what a browser did while it showed our pages.
type watch struct {
	mu       sync.Mutex
	requests []string
	trouble  []string // console errors, exceptions, violations of the policy
}

// note takes an event of the browser.
func (w *watch) note(ev any) {
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
			w.trouble = append(w.trouble, "answered with an error: "+e.Response.URL)
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

// check wants that nothing went wrong and nothing left the machine.
func (w *watch) check(t *testing.T, base string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.trouble {
		t.Errorf("the browser complains: %s", text)
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
	if len(w.requests) < 3 {
		t.Errorf("requests = %v, want those of the page and its files", w.requests)
	}
}

// browser starts a browser that talks to nobody by itself. Every host but the
// loopback address is made unreachable, so a page that needs one shows it.
func browser(t *testing.T) (context.Context, *watch) {
	t.Helper()
	// Not t.TempDir: processes of the browser still write here for a moment
	// after it has ended, and what is left then is no failure.
	profile, err := os.MkdirTemp("", "hearth-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1280, 1600), chromedp.UserDataDir(profile),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true), chromedp.Flag("no-pings", true), chromedp.Flag("disable-gpu", true),
	)
	// The test's own context ends before the clean-up, which closes the browser.
	// Machines are busy, and pages large.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // closes the browser and waits for it
	w := &watch{}
	chromedp.ListenTarget(ctx, w.note)
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return ctx, w
}

// shot saves a picture of the page under $HEARTH_TEST_SHOTS, for people.
func shot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("HEARTH_TEST_SHOTS")
	if dir == "" {
		return
	}
	var picture []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&picture)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDocsInBrowser opens the API reference as a developer does, and runs an
// operation from it.
func TestDocsInBrowser(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	ctx, w := browser(t)
	const health = `.opblock-get:has([data-path="/health"])`
	var title string
	var paths []string
	err := chromedp.Run(ctx,
		chromedp.Navigate(s.URL+"/docs"),
		chromedp.WaitVisible(`.opblock [data-path="/health"]`),
		chromedp.Text(`.info .title`, &title),
		chromedp.Evaluate(`[...document.querySelectorAll('.opblock-summary-path')].map(e => e.dataset.path)`, &paths),
	)
	if err != nil {
		t.Fatalf("open /docs: %v (the browser: %v)", err, w.trouble)
	}
	shot(t, ctx, "docs")
	if !strings.HasPrefix(title, "Hearth") {
		t.Errorf("title = %q, want Hearth", title)
	}
	for _, want := range []string{"/", "/health", "/v1/api-keys", "/v1/api-keys/{id}/rotate", "/v1/events", "/v1/webhooks/{id}/deliveries", "/v1/jobs/{id}", "/v1/workspaces"} {
		if !slices.Contains(paths, want) {
			t.Errorf("the page lists %d operations, and %s is not one of them", len(paths), want)
		}
	}
	var status, body string
	err = chromedp.Run(ctx,
		chromedp.Click(health+` .opblock-summary-control`, chromedp.ByQuery),
		chromedp.WaitVisible(health+` .execute`, chromedp.ByQuery),
		chromedp.Click(health+` .execute`, chromedp.ByQuery),
		chromedp.WaitVisible(health+` .live-responses-table .response-col_status`, chromedp.ByQuery),
		chromedp.Text(health+` .live-responses-table tbody .response-col_status`, &status, chromedp.ByQuery),
		chromedp.Text(health+` .live-responses-table .highlight-code`, &body, chromedp.ByQuery),
		chromedp.ScrollIntoView(health+` .live-responses-table`, chromedp.ByQuery),
	)
	if err != nil {
		t.Fatalf("try GET /health out: %v (the browser: %v)", err, w.trouble)
	}
	shot(t, ctx, "docs-tried")
	if !strings.HasPrefix(strings.TrimSpace(status), "200") || !strings.Contains(body, `"connected"`) {
		t.Errorf("GET /health from the page = %q %q, want 200 and the answer", status, body)
	}
	w.check(t, s.URL)
}

// TestDocPagesInBrowser opens the two generated pages of the reference.
func TestDocPagesInBrowser(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	ctx, w := browser(t)
	for page, rows := range map[string][]string{
		"errors":        {"ROUTE_NOT_FOUND", "KEY_INVALID", "STORE_UNAVAILABLE"},
		"configuration": {"PORT", "HEARTH_DATA_DIR", "DATABASE_URL"},
	} {
		var heading, text string
		var ids []string
		err := chromedp.Run(ctx,
			chromedp.Navigate(s.URL+"/docs/"+page),
			chromedp.WaitVisible(`table`, chromedp.ByQuery),
			chromedp.Text(`h1`, &heading, chromedp.ByQuery),
			chromedp.Text(`body`, &text, chromedp.ByQuery),
			chromedp.Evaluate(`[...document.querySelectorAll('tr[id]')].map(e => e.id)`, &ids),
		)
		if err != nil {
			t.Fatalf("open /docs/%s: %v", page, err)
		}
		shot(t, ctx, "docs-"+page)
		if heading == "" {
			t.Errorf("/docs/%s has no heading", page)
		}
		for _, raw := range []string{"<!--", "&lt;", "&amp;", "`", "| ---"} {
			if strings.Contains(text, raw) {
				t.Errorf("/docs/%s shows %q, which is for the file and not for people", page, raw)
			}
		}
		for _, want := range rows {
			if !slices.Contains(ids, want) {
				t.Errorf("/docs/%s has no row with the id %s, which links name", page, want)
			}
		}
	}
	w.check(t, s.URL)
}
