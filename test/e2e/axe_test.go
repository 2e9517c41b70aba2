package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/browser"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestDocsForEveryone has axe-core look at the pages of the reference, wide and
// narrow, but for the first, which TestDocsInBrowser has open.
func TestDocsForEveryone(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	s := server.Run(t, server.Options{})
	w := browser.Open(t)
	ctx := w.Context
	for page, ready := range map[string]string{"/docs/errors": "table", "/docs/configuration": "table", "/docs/events": "h1"} {
		for _, width := range []int64{1280, 390} {
			err := chromedp.Run(ctx,
				emulation.SetDeviceMetricsOverride(width, 1000, 1, false),
				chromedp.Navigate(s.URL+page), chromedp.WaitVisible(ready, chromedp.ByQuery),
			)
			if err != nil {
				t.Fatalf("open %s: %v", page, err)
			}
			w.Accessible(t, fmt.Sprintf("%s at %d", page, width))
			w.Shot(t, fmt.Sprintf("axe%s-%d", strings.ReplaceAll(page, "/", "-"), width))
		}
	}
	w.Check(t, s.URL)
}
