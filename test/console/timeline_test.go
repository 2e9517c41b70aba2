package console

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestTimeline: the household of an interview has it on its time line, the line leads
// to the interview, and the interview back to the time line.
func TestTimeline(t *testing.T) {
	d := openDemo(t)
	c := d.owner()
	var interview client.TimelineItem
	var household string
	for r, err := range c.Responses.List(t.Context(), "demo-baseline", client.ResponseQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		household = r.HouseholdID
		break
	}
	line, err := c.Entities.Timeline(t.Context(), household, client.TimelineQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range line.Items {
		if i.Source == "interviews" {
			interview = i
		}
	}
	if interview.ID == "" {
		t.Fatalf("no interview on %+v", line)
	}
	d.visit("/console/twins/" + url.PathEscape(household) + "?tab=timeline")
	d.see("Time line")
	to := fmt.Sprintf(`.timeline a[href$=%q]`, "/responses/"+url.PathEscape(interview.ID))
	d.run("open the interview", chromedp.WaitVisible(to))
	if n := script[int](d, `document.querySelectorAll(".timeline .feed li").length`); n != len(line.Items) {
		t.Errorf("the page has %d lines, the API gave %d", n, len(line.Items))
	}
	d.Shot(t, "timeline")
	d.size(390, 800)
	if wide := script[int](d, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d wide at 390", wide)
	}
	d.Shot(t, "timeline-390")
	d.size(1280, 800)
	d.run("open the interview", browser.Tap(to), chromedp.WaitVisible(`main a[href$="?tab=timeline"]`))
	d.see(interview.ID)
	d.run("go back to the time line", browser.Tap(`main a[href$="?tab=timeline"]`), chromedp.WaitVisible(to))
}
