package console

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestNumbersAreWhole holds what pages show against what the server says: no digit is
// rounded away, and one thing is no plural, however the number came.
func TestNumbersAreWhole(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.visit("/console/")
	d.run("load the words", chromedp.Evaluate(`void import(document.querySelector('script[type=module]').src.replace("main.js", "lib/words.js")).then((m) => { window.words = m })`, nil),
		until(`!!window.words`))
	for expression, want := range map[string]string{
		`words.number(6.123456789)`:                            "6.123456789",
		`words.number(0.84257223730908)`:                       "0.84257223730908",
		`words.number(33.1)`:                                   "33.1",
		`words.number(12345.5)`:                                "12,345.5",
		`words.number(undefined)`:                              "–",
		`words.t("import.of", { n: words.number(1) })`:         "of 1 row",
		`words.t("survey.refusedSmall", { n: 1 })`:             "1 household contacted",
		`words.t("unit.people", { n: 1 })`:                     "person",
		`words.t("unit.people", { n: 2 })`:                     "people",
		`words.t("import.of", { n: words.number(1200) })`:      "of 1,200 rows",
		`words.t("today.someTarget", { done: 120, n: "137" })`: "in active surveys; 120 of the 137 wanted",
	} {
		if got := script[string](d, expression); got != want {
			t.Errorf("%s = %q, want %q", expression, got, want)
		}
	}
}
