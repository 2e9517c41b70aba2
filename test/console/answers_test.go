package console

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

// TestAnswersInWords: an interview shows the labels of its choices in the language
// of the page, numbers with their unit, and questions as they were asked. What the
// chat suggests in that language is answered.
func TestAnswersInWords(t *testing.T) {
	d := openDemo(t)
	list := read[client.Page[client.Response]](d, d.server.Key, "/v1/surveys/demo-follow-up/responses?limit=1&filter=eq(status,complete)")
	if len(list.Items) == 0 {
		t.Fatal("the demo has no complete interview")
	}
	r := list.Items[0]
	label := map[any]string{"good": "Nzuri", "minor_damage": "Uharibifu mdogo"}[r.Responses["installation"]["condition"]]
	d.run("choose Kiswahili", chromedp.Evaluate(`localStorage.setItem("hearth.language", "sw")`, nil))
	d.load("/console/responses/" + r.ResponseID)
	d.see("Jiko lipo katika hali gani?")
	if r.Mode != "visit" {
		t.Fatalf("the demo asked by %q, want a visit", r.Mode)
	}
	d.see("kwa njia ya ziara")
	d.until("the label "+label, `[...document.querySelectorAll("dl.answers dd")].some((x) => x.textContent === "`+label+`")`)
	d.until("a number with its unit", `[...document.querySelectorAll("dl.answers dd")].some((x) => /Kwenye jiko la mradi: (1 mlo|\d+ milo)/.test(x.textContent))`)
	if first := script[string](d, `document.querySelector("dl.answers dt").title`); first != "consent_given" {
		t.Errorf("the first answer is to %s, want what was asked first", first)
	}
	if narrow := script[int](d, `Math.min(...[...document.querySelectorAll("dl.answers dd")].map((x) => x.clientWidth))`); narrow < 120 {
		t.Errorf("an answer has %d pixels, too few to read", narrow)
	}
	d.Shot(t, "answers-sw")

	// The oracle understands what the page suggests, and answers with a table.
	d.visit("/console/chat")
	d.click("Orodhesha tafiti")
	d.answered(1)
	d.until("a table", `[...document.querySelectorAll(".answer th")].some((x) => x.textContent === "Jina") && document.querySelectorAll(".answer tbody tr").length === 4`)
	d.see("Baseline, before the stoves")
}
