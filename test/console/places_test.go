package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// TestPlaces finds the households of the demo on the map: as many as the API
// gives, and a click leads to one of them.
func TestPlaces(t *testing.T) {
	d := openDemo(t)
	homes, err := d.owner().Entities.Points(t.Context(), client.PointQuery{Type: "Household"})
	if err != nil || len(homes.Items) < 20 || homes.Truncated || homes.Rounded {
		t.Fatalf("the API gives %+v, error %v; want the households of the demo", homes, err)
	}
	d.visit("/console/places?type=Household")
	d.see(fmt.Sprintf("Places: %d", len(homes.Items)))
	if got := script[int](d, `document.querySelectorAll('.places .mark').length`); got != len(homes.Items) {
		t.Errorf("%d marks, the API has %d", got, len(homes.Items))
	}
	d.Shot(t, "places")
	d.until("the size of the map", `(() => { const s = document.querySelector('.places svg'); return s.viewBox.baseVal.width === s.clientWidth })()`)
	d.clickOn(".places .mark")
	d.run("the picked place", chromedp.WaitVisible(".picked-place a[href*='/twins/']"))
	d.until("its name", `document.querySelector('.picked-place strong a')?.textContent.trim().length > 2`)
	name := script[string](d, `document.querySelector('.picked-place strong a').textContent`)
	d.Shot(t, "places-picked")
	d.run("open the twin", browser.Tap(".picked-place .actions a"), until(`location.pathname.startsWith('/console/twins/')`))
	d.see(name)

	// A part of the map is a filter of the API.
	d.visit("/console/places?type=Household")
	d.run("closer", chromedp.Focus(".places svg", chromedp.ByQuery), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.ArrowLeft))
	d.run("only this part", browser.Tap(".places .part"))
	d.until("the box in the address", `new URLSearchParams(location.search).get('bbox')?.split(',').length === 4`)
	part, err := d.owner().Entities.Points(t.Context(), client.PointQuery{Type: "Household", BBox: script[string](d, `new URLSearchParams(location.search).get('bbox')`)})
	if err != nil || len(part.Items) >= len(homes.Items) {
		t.Fatalf("the part has %d of %d places, error %v", len(part.Items), len(homes.Items), err)
	}
	d.until("the part", fmt.Sprintf(`(%d === 0 && !!document.querySelector('main .empty')) || document.querySelectorAll('.places .mark').length === %d`, len(part.Items), len(part.Items)))

	d.size(390, 844)
	d.run("choose dark", emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	for _, view := range []string{"map", "table"} {
		d.visit("/console/places?type=Household&view=" + view)
		d.Shot(t, "places-phone-"+view)
		if wide := script[int](d, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("the %s is %d pixels wide on a phone", view, wide)
		}
	}
	if got, want := script[int](d, `document.querySelectorAll('tbody tr').length`), min(50, len(homes.Items)); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	if href := script[string](d, `document.querySelector('tbody a').getAttribute('href')`); href != "/console/twins/"+url.QueryEscape(homes.Items[0].DID) {
		t.Errorf("the first row leads to %s, want %s", href, homes.Items[0].DID)
	}
}

// clickOn clicks the middle of an element where a pointer would find it. The page
// itself measures and clicks, in one go: between two calls of the driver what is
// above a drawing may still grow and move it away.
func (d *desk) clickOn(selector string) {
	d.t.Helper()
	if hit := script[string](d, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q); e.scrollIntoView({block: 'center'});
		const r = e.getBoundingClientRect(), clientX = r.x + r.width / 2, clientY = r.y + r.height / 2, at = document.elementFromPoint(clientX, clientY);
		if (!at?.closest('svg')?.contains(e)) return 'covered by ' + at?.outerHTML.slice(0, 200);
		at.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX, clientY})); return ''
	})()`, selector)); hit != "" {
		d.t.Fatalf("%s is %s", selector, hit)
	}
}

// TestPlacesMove moves the map by mouse, and shows a reader
// rounded places.
func TestPlacesMove(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	d.visit("/console/places")
	d.see("No place yet")
	_, err := d.owner().Entities.Create(t.Context(), client.EntityDraft{
		Type: "Household", Protocol: "did:ixo:protocol/household",
		Properties: client.Object{"name": "Achieng", "location": client.Object{"lat": -0.09123, "lon": 34.76789}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.visit("/console/places?bbox=34,-1,36,1")
	shift := func() []float64 {
		text := script[string](d, `document.querySelector('.places .marks').getAttribute('transform')`)
		x, y, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "translate("), ")"), ",")
		a, _ := strconv.ParseFloat(x, 64)
		b, _ := strconv.ParseFloat(y, 64)
		return []float64{a, b}
	}
	d.until("the size of the map", `(() => { const s = document.querySelector('.places svg'); return s.viewBox.baseVal.width === s.clientWidth })()`)
	before := shift()
	box := script[[]float64](d, `(() => { const r = document.querySelector('.places svg').getBoundingClientRect(); return [r.x + 200, r.y + 200] })()`)
	d.run("drag", chromedp.MouseEvent(input.MousePressed, box[0], box[1], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, box[0]+30, box[1]+20, chromedp.ButtonLeft), chromedp.MouseEvent(input.MouseMoved, box[0]+80, box[1]+50, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseReleased, box[0]+80, box[1]+50, chromedp.ButtonLeft))
	if after := shift(); after[0]-before[0] < 79 || after[0]-before[0] > 81 || after[1]-before[1] < 49 || after[1]-before[1] > 51 {
		t.Errorf("dragged by 80, 50 the map moved from %v to %v", before, after)
	}
	if script[bool](d, `!!document.querySelector('.picked-place')`) {
		t.Error("dragging has picked a place")
	}
	k, err := d.owner().Keys.Create(t.Context(), client.KeyDraft{Name: "reader", Scopes: []string{"entities:read"}})
	if err != nil {
		t.Fatal(err)
	}
	d.run("sign out", network.ClearBrowserCookies())
	d.signIn(k.Text)
	d.visit("/console/places?view=table")
	d.see("Rounded to about 1 km")
	d.see("-0.09")
	if script[bool](d, `document.body.innerText.includes('0.09123')`) {
		t.Error("a key without entities:pii sees the exact place")
	}
}
