package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
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

// Accessible has axe-core look at the page that is open, as a person without a
// mouse or with a screen reader would have to use it.
func (w *Browser) Accessible(t *testing.T, page string) {
	t.Helper()
	var there bool
	if err := chromedp.Run(w.Context, chromedp.Evaluate(`!!window.axe`, &there)); err != nil {
		t.Fatalf("axe-core on %s: %v", page, err)
	}
	if !there {
		script, err := os.ReadFile(clienttest.Package(t, "axe-core/axe.min.js"))
		if err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Run(w.Context, chromedp.Evaluate(string(script)+";0", nil)); err != nil {
			t.Fatalf("axe-core on %s: %v", page, err)
		}
	}
	var found []violation
	err := chromedp.Run(w.Context,
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
