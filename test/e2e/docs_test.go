package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestDocsInBrowser opens the API reference as a developer does, and runs an
// operation from it.
func TestDocsInBrowser(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	w := browser.Open(t)
	ctx := w.Context
	const health = `.opblock-get:has([data-path="/health"])`
	var title string
	var paths []string
	err := chromedp.Run(ctx,
		chromedp.Navigate(s.URL+"/docs"),
		openGroups("system", "keys", "events", "webhooks", "jobs", "workspaces"),
		chromedp.Text(`.info .title`, &title),
		chromedp.Evaluate(`[...document.querySelectorAll('.opblock-summary-path')].map(e => e.dataset.path)`, &paths),
	)
	if err != nil {
		t.Fatalf("open /docs: %v (the browser: %v)", err, w.Trouble())
	}
	w.Shot(t, "docs")
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
		browser.Tap(health+` .opblock-summary-control`),
		chromedp.WaitVisible(health+` .execute`, chromedp.ByQuery),
		browser.Tap(health+` .execute`),
		chromedp.WaitVisible(health+` .live-responses-table .response-col_status`, chromedp.ByQuery),
		chromedp.Text(health+` .live-responses-table tbody .response-col_status`, &status, chromedp.ByQuery),
		chromedp.Text(health+` .live-responses-table .highlight-code`, &body, chromedp.ByQuery),
		chromedp.ScrollIntoView(health+` .live-responses-table`, chromedp.ByQuery),
	)
	if err != nil {
		t.Fatalf("try GET /health out: %v (the browser: %v)", err, w.Trouble())
	}
	w.Shot(t, "docs-tried")
	if !strings.HasPrefix(strings.TrimSpace(status), "200") || !strings.Contains(body, `"connected"`) {
		t.Errorf("GET /health from the page = %q %q, want 200 and the answer", status, body)
	}
	w.Check(t, s.URL)
	t.Run("for everyone", func(t *testing.T) {
		clienttest.Need(t)
		// The hundreds of operations are made alike: three groups of them are enough but
		// for make test-all.
		wanted := `["system", "keys", "jobs"].includes(e.dataset.tag)`
		if dbtest.Everything() {
			wanted = "true"
		}
		err := chromedp.Run(ctx, browser.Tap(health+` .opblock-summary-control`), chromedp.WaitNotPresent(health+` .execute`, chromedp.ByQuery),
			chromedp.Evaluate(`document.querySelectorAll(".opblock-tag").forEach((e) => { if ((e.dataset.isOpen === "true") !== (`+wanted+`)) e.click() })`, nil))
		if err != nil {
			t.Fatal(err)
		}
		w.Accessible(t, "/docs")
		w.Shot(t, "axe-docs")
	})
}

// openGroups opens groups of operations on the page of the reference.
func openGroups(names ...string) chromedp.Action {
	var all chromedp.Tasks
	for _, name := range names {
		tag := "#operations-tag-" + name
		all = append(all, browser.Tap(tag), chromedp.WaitVisible(tag+" + * .opblock", chromedp.ByQuery))
	}
	return all
}

// TestDocPagesInBrowser opens the two generated pages of the reference.
func TestDocPagesInBrowser(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	w := browser.Open(t)
	ctx := w.Context
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
		w.Shot(t, "docs-"+page)
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
	w.Check(t, s.URL)
}
