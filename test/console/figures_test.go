package console

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

// TestFigures finds the figures of the API on the tab of a survey, digit for
// digit, with the server's picture, and asks there for others.
func TestFigures(t *testing.T) {
	d := openDemo(t)
	api := "/v1/surveys/" + monitoring + "/statistics"
	list := read[client.SurveyQuestions](d, d.server.Key, api+"/questions")
	if len(list.Items) < 2 {
		t.Fatalf("the demo has %d questions with figures", len(list.Items))
	}
	page := "/console/surveys/" + monitoring + "?tab=figures"
	drawn := `(() => { const i = document.querySelector(".figures img"); return !!i && i.complete && i.naturalWidth > 200 })()`
	d.shots("survey-figures", page)
	d.run("wait for the picture", until(drawn))
	d.holds(read[client.SurveyStatistics](d, d.server.Key, api+"?question="+list.Items[0].Question))
	other := list.Items[len(list.Items)-1].Question
	d.run("choose another question", until(`!!document.querySelector("#question")`))
	script[any](d, `(() => { const s = document.querySelector("#question"); s.value = `+strconv.Quote(other)+`; s.dispatchEvent(new Event("change", {bubbles: true})); return null })()`)
	d.run("wait for it in the address", until(`new URLSearchParams(location.search).get("question") === `+strconv.Quote(other)), until(settled))
	d.run("wait for its picture", until(drawn))
	d.holds(read[client.SurveyStatistics](d, d.server.Key, api+"?question="+other))
	if src := script[string](d, `document.querySelector(".figures img").src`); !strings.Contains(src, "format=svg") || script[string](d, `document.querySelector(".figures img").alt`) == "" {
		t.Errorf("the picture comes from %s", src)
	}
	href := script[string](d, `document.querySelector(".figure-report a").getAttribute("href")`)
	if !strings.Contains(string(d.must(d.server.Key, "GET", href, "", 200)), "<h2>Who answered</h2>") {
		t.Errorf("%s is no report", href)
	}
	d.size(390, 900)
	d.run("open the report on a phone", chromedp.Navigate(d.base+href), until(`document.readyState === "complete"`))
	if wide := script[int](d, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("on a phone the report is %d wide", wide)
	}
}

// holds wants every figure of an answer on the page with all its digits, as soon as that
// shows the first of them.
func (d *desk) holds(s client.SurveyStatistics) {
	d.t.Helper()
	if len(s.Estimates) > 0 && s.Estimates[0].Estimate != nil {
		first := strconv.FormatFloat(*s.Estimates[0].Estimate, 'g', -1, 64)
		d.run("wait for the figures", until(`document.querySelector("main").innerText.includes(String(`+first+`))`))
	}
	text := script[string](d, `document.querySelector("main").innerText`)
	seen := 0
	if s.Basis != "drawn" || s.NoInterval != "" {
		d.t.Errorf("%s has no interval: %s, %s", s.Question, s.Basis, s.NoInterval)
	}
	for _, e := range s.Estimates {
		for _, v := range []*float64{e.Estimate, e.Low, e.High} {
			if v == nil {
				continue
			}
			seen++
			if want := script[string](d, `String(`+strconv.FormatFloat(*v, 'g', -1, 64)+`)`); !strings.Contains(text, want) {
				d.t.Errorf("the page of %s has no %s: %s", s.Question, want, text)
			}
		}
	}
	if seen == 0 {
		d.t.Errorf("%s has no figure: %+v", s.Question, s)
	}
}
