package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// violation is a rule of axe-core that a page breaks.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Failure string `json:"failureSummary"`
	} `json:"nodes"`
}

func (v *violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d times", v.ID, v.Help, len(v.Nodes))
	said := map[string]bool{} // each failure once: a page breaks a rule many times in the same way
	for _, n := range v.Nodes {
		if !said[n.Failure] {
			fmt.Fprintf(&b, "\n  %.300s\n  %s", n.HTML, n.Failure)
		}
		said[n.Failure] = true
	}
	return b.String()
}

// accessible has axe-core look at the page that is open, as a person without a
// mouse or with a screen reader would have to use it.
func accessible(t *testing.T, ctx context.Context, page string) {
	t.Helper()
	script, err := os.ReadFile(clienttest.Package(t, "axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	var found []violation
	err = chromedp.Run(ctx,
		chromedp.Evaluate(string(script)+";0", nil),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)`, &found, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
			return p.WithAwaitPromise(true)
		}),
	)
	if err != nil {
		t.Fatalf("axe-core on %s: %v", page, err)
	}
	for i := range found {
		t.Errorf("%s: %s", page, found[i].String())
	}
}

// TestDocsForEveryone has axe-core look at the pages of the reference, wide and
// narrow.
func TestDocsForEveryone(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	s := server.Run(t, server.Options{})
	ctx, w := browser(t)
	for page, ready := range map[string]string{
		"/docs": `.opblock [data-path="/health"]`, "/docs/errors": "table", "/docs/configuration": "table", "/docs/events": "h1",
	} {
		widths := []int64{1280, 390}
		if page == "/docs" { // the same at any width, and half a minute of work on a busy machine
			widths = widths[:1]
		}
		for _, width := range widths {
			err := chromedp.Run(ctx,
				emulation.SetDeviceMetricsOverride(width, 1000, 1, false),
				chromedp.Navigate(s.URL+page), chromedp.WaitVisible(ready, chromedp.ByQuery),
			)
			if err != nil {
				t.Fatalf("open %s: %v", page, err)
			}
			accessible(t, ctx, fmt.Sprintf("%s at %d", page, width))
			shot(t, ctx, fmt.Sprintf("axe%s-%d", strings.ReplaceAll(page, "/", "-"), width))
		}
	}
	w.check(t, s.URL)
}
