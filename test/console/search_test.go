package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

// TestSearch finds two households of one name by a later word of it, tells them
// apart by their places, and opens the one with a telephone number.
func TestSearch(t *testing.T) {
	d := open(t, "127.0.0.1")
	for _, p := range []client.Object{
		{"name": "Amina Wanjiru", "district": "Kitui", "phone": "+254712000111"},
		{"name": "Amina Wanjiru", "district": "Machakos"},
	} {
		if _, err := d.owner().Entities.Create(t.Context(), client.EntityDraft{Type: "Household", Protocol: "did:ixo:protocol/household", Properties: p}); err != nil {
			t.Fatal(err)
		}
	}
	d.signIn(d.server.Key)
	look := func(text string) []string {
		t.Helper()
		d.run("search "+text, chromedp.SendKeys(".search input", text, chromedp.ByQuery))
		d.until("hits of "+text, `document.querySelectorAll('#hits li strong').length > 0`)
		return script[[]string](d, `[...document.querySelectorAll('#hits li')].map(e => e.innerText)`)
	}
	hits := strings.Join(look("wanj"), "|")
	for _, want := range []string{"Household · Kitui", "Household · Machakos"} {
		if !strings.Contains(hits, want) {
			t.Errorf("hits = %s, want %q among them", hits, want)
		}
	}
	d.Shot(t, "search")
	d.visit("/console/")
	if hits := look("0712 000"); len(hits) != 1 || !strings.Contains(hits[0], "Kitui") {
		t.Errorf("hits of the number = %q, want the household in Kitui", hits)
	}
	d.run("open it", chromedp.KeyEvent("\r"), until(`location.pathname.startsWith('/console/twins/')`))
	d.see("Kitui")
}
