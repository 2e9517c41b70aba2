package console

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// twins makes many twins of a project and returns its DID.
func (d *desk) twins(n int) string {
	d.t.Helper()
	c := d.owner()
	project, err := c.Entities.Create(d.t.Context(), client.EntityDraft{Type: "Project", Protocol: "did:ixo:protocol/project", Properties: client.Object{"name": "Many"}})
	if err != nil {
		d.t.Fatal(err)
	}
	for done := 0; done < n; {
		var b client.Batch
		for ; len(b.Operations) < 1000 && done < n; done++ {
			b.Operations = append(b.Operations, client.Operation{Op: "create", Entity: &client.EntityDraft{
				Type: "Household", Protocol: "did:ixo:protocol/household", Properties: client.Object{"name": fmt.Sprintf("Household %d", done)},
				Relationships: []client.RelationshipDraft{{Role: "project", Target: project.DID}},
			}})
		}
		if results, err := c.Entities.Batch(d.t.Context(), b); err != nil || results.Failed > 0 {
			d.t.Fatalf("make twins: %+v, %v", results, err)
		}
	}
	return project.DID
}

// heap is how many bytes the page holds after it has let go of what it can.
func (d *desk) heap() float64 {
	d.t.Helper()
	var used float64
	d.run("collect garbage", heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		used, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
		return err
	}))
	return used
}

// TestManyTwins walks 20 pages (50 in make test-all) forward and back through a long
// list: one request a page, the page stays small, and nothing piles up.
func TestManyTwins(t *testing.T) {
	many, pages := 1_000, 20
	if dbtest.Everything() {
		many, pages = 100_000, 50
	}
	d := open(t, "127.0.0.1")
	d.twins(many)
	d.signIn(d.server.Key)
	start := time.Now()
	d.visit("/console/twins?type=Household")
	t.Logf("%d twins, the first page after %v", many, time.Since(start))
	var first float64
	walk := func(key string, from, to int) {
		d.press(key)
		d.run(fmt.Sprintf("page %d", to), until(fmt.Sprintf(`document.querySelector(".pager span").innerText.startsWith("page %d") && !document.querySelector(".stale")`, to)))
		if n := script[int](d, `document.querySelectorAll("*").length`); n > 1500 {
			t.Errorf("page %d has %d nodes", to, n)
		}
		if from == 5 && to == 6 {
			first = d.heap()
		}
	}
	d.run("count requests", chromedp.Evaluate(`performance.setResourceTimingBufferSize(1000), performance.clearResourceTimings()`, nil))
	start = time.Now()
	for n := 1; n <= pages; n++ {
		walk("n", n, n+1)
	}
	for n := pages + 1; n > 1; n-- {
		walk("p", n, n-1)
	}
	t.Logf("%d pages forward and back in %v", pages, time.Since(start))
	asked := script[[]string](d, `performance.getEntriesByType("resource").map((e) => new URL(e.name)).filter((u) => u.pathname === "/v1/entities").map((u) => u.search)`)
	if len(asked) != 2*pages {
		t.Errorf("%d pages took %d requests", 2*pages, len(asked))
	}
	if last := d.heap(); last > 1.1*first+1_000_000 {
		t.Errorf("the page holds %.0f bytes, and %.0f after six pages", last, first)
	} else {
		t.Logf("heap %.0f bytes after six pages, %.0f at the end", first, last)
	}
}

// TestLargeGraph draws the most a graph shows: it says that it is a part, and the
// table has the same twins.
func TestLargeGraph(t *testing.T) {
	d := open(t, "127.0.0.1")
	project := d.twins(400)
	d.signIn(d.server.Key)
	start := time.Now()
	d.visit("/console/twins/" + url.PathEscape(project))
	d.run("wait for the graph", chromedp.WaitVisible(".graph svg"))
	took := time.Since(start)
	drawn := script[int](d, `document.querySelectorAll(".graph svg g.node, .graph svg a").length`)
	t.Logf("%d twins drawn after %v", drawn, took)
	if took > 25*time.Second {
		t.Errorf("the graph took %v", took)
	}
	text := script[string](d, `document.querySelector("main").innerText`)
	if !strings.Contains(text, "Only the first 300 twins are drawn") {
		t.Errorf("the page does not say that the graph is a part: %.300s", text)
	}
	d.run("open the table", chromedp.Evaluate(`document.querySelectorAll("main details").forEach((e) => { e.open = true })`, nil))
	if rows := script[int](d, `Math.max(...[...document.querySelectorAll("main details table")].map((e) => e.tBodies[0].rows.length))`); rows != 300 && rows != 299 {
		t.Errorf("the table has %d twins, the graph %d", rows, drawn)
	}
}

// TestQuotas wants the figures of a survey on the page to the digit.
func TestQuotas(t *testing.T) {
	d := openDemo(t)
	for s, err := range d.owner().Surveys.List(t.Context(), client.SurveyQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		report, err := d.owner().Surveys.Progress(t.Context(), s.SurveyID, 0)
		if err != nil {
			t.Fatal(err)
		}
		d.visit("/console/surveys/" + url.PathEscape(s.SurveyID))
		labels := script[[]string](d, `[...document.querySelectorAll(".quotas [role=img]")].map((e) => e.getAttribute("aria-label"))`)
		for name, tally := range report.ByStratum {
			want := fmt.Sprintf("%s: %d verified,", name, tally.Verified)
			refused := fmt.Sprintf(" %d rejected, %d refused,", tally.Rejected, tally.Refused)
			found := false
			for _, l := range labels {
				found = found || strings.HasPrefix(l, want) && strings.Contains(l, refused)
			}
			if !found {
				t.Errorf("%s: no bar says %q and %q: %q", s.SurveyID, want, refused, labels)
			}
		}
		days := script[string](d, `document.querySelector(".curve svg")?.getAttribute("aria-label") || ""`)
		for _, day := range report.Days {
			if want := fmt.Sprintf("%s %d", day.Day, day.Completed+day.Partial); !strings.Contains(days, want) {
				t.Errorf("%s: the curve does not say %q: %q", s.SurveyID, want, days)
			}
		}
	}
}
