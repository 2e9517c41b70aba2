package console

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/browser"
)

const (
	visitTemplate = `{"templateId":"visit","title":{"en":"Visit","sw":"Ziara"},"languages":["en","sw"],"defaultLanguage":"en","sections":[
		{"id":"consent","title":{"en":"Consent","sw":"Idhini"},"questions":[{"id":"agreed","type":"consent","required":true,"label":{"en":"May we ask?","sw":"Tunaweza kuuliza?"}}]},
		{"id":"home","title":{"en":"Home","sw":"Nyumbani"},"questions":[
			{"id":"fuel","type":"single_choice","required":true,"label":{"en":"Main fuel","sw":"Nishati kuu"},"options":[{"value":"wood","label":{"en":"Wood","sw":"Kuni"}},{"value":"gas","label":{"en":"Gas","sw":"Gesi"}}]},
			{"id":"bundles","type":"integer","label":{"en":"Bundles a week","sw":"Mizigo kwa wiki"},"relevant":"fuel == 'wood'","validation":{"min":0,"max":50}},
			{"id":"people","type":"repeat","label":{"en":"People","sw":"Watu"},"questions":[
				{"id":"age","type":"integer","required":true,"label":{"en":"Age","sw":"Umri"}},
				{"id":"school","type":"boolean","label":{"en":"Goes to school","sw":"Anasoma"},"relevant":"age < 18"}]},
			{"id":"stove","type":"photo","label":{"en":"The stove","sw":"Jiko"}}]}]}`
	visitSurvey = `{"surveyId":"visits","name":"Visits","type":"BaselineSurvey","projectId":"did:ixo:project/one","templateId":"visit","sampling":{"method":"census"},
		"collectors":["%s","%s"]}`
	visited = "did:ixo:household/123"
)

// must calls the server with a key and gives the answer; want is the status.
func (d *desk) must(key, method, path, body string, want int) []byte {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.server.URL+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		d.t.Fatalf("%s %s = %d %s, %v; want %d", method, path, answer.StatusCode, text, err, want)
	}
	return text
}

// read decodes what a GET is answered with.
func read[T any](d *desk, key, path string) T {
	d.t.Helper()
	var v T
	if err := json.Unmarshal(d.must(key, http.MethodGet, path, "", http.StatusOK), &v); err != nil {
		d.t.Fatal(err)
	}
	return v
}

// visits makes an active survey with a household that a collector is to visit,
// and keys of two collectors.
func (d *desk) visits() (ann, bob *client.IssuedKey) {
	d.t.Helper()
	var keys [2]*client.IssuedKey
	for i, name := range []string{"Ann", "Bob"} {
		k, err := d.owner().Keys.Create(d.t.Context(), client.KeyDraft{Name: name, Role: "collector"})
		if err != nil {
			d.t.Fatal(err)
		}
		keys[i] = k
	}
	for _, one := range [][2]string{
		{"/v1/templates", visitTemplate},
		{"/v1/surveys", fmt.Sprintf(visitSurvey, keys[0].Principal, keys[1].Principal)},
		{"/v1/surveys/visits/households", `{"items":[{"householdId":"` + visited + `","area":"Kibera","collector":"` + keys[0].Principal + `","location":{"lat":-1.3,"lon":36.8}}]}`},
	} {
		want := http.StatusCreated
		if strings.HasSuffix(one[0], "households") {
			want = http.StatusOK
		}
		d.must(d.server.Key, http.MethodPost, one[0], one[1], want)
		if one[0] == "/v1/templates" {
			d.must(d.server.Key, http.MethodPost, "/v1/templates/visit/publish", `{}`, http.StatusOK)
		}
	}
	d.must(d.server.Key, http.MethodPost, "/v1/surveys/visits/activate", `{}`, http.StatusOK)
	return keys[0], keys[1]
}

// photo is a picture that says it was taken at 1° 18' S, 36° 48' E.
func photo(t *testing.T) string {
	t.Helper()
	var plain bytes.Buffer
	if err := jpeg.Encode(&plain, image.NewGray(image.Rect(0, 0, 64, 48)), nil); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	put := func(list ...any) {
		for _, v := range list {
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	put([]byte("II"), uint16(42), uint32(8), uint16(1), uint16(0x8825), uint16(4), uint32(1), uint32(26), uint32(0)) // one entry: where GPS is
	put(uint16(4), uint16(1), uint16(2), uint32(2), []byte("S\x00\x00\x00"), uint16(2), uint16(5), uint32(3), uint32(80),
		uint16(3), uint16(2), uint32(2), []byte("E\x00\x00\x00"), uint16(4), uint16(5), uint32(3), uint32(104), uint32(0))
	put(uint32(1), uint32(1), uint32(18), uint32(1), uint32(0), uint32(1), uint32(36), uint32(1), uint32(48), uint32(1), uint32(0), uint32(1))
	part := append([]byte("Exif\x00\x00"), b.Bytes()...)
	whole := append([]byte{0xff, 0xd8, 0xff, 0xe1, byte((len(part) + 2) >> 8), byte(len(part) + 2)}, part...)
	path := filepath.Join(t.TempDir(), "stove.jpg")
	if err := os.WriteFile(path, append(whole, plain.Bytes()[2:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// choose clicks on what has a text, within a selector.
func (d *desk) choose(selector, text string) {
	d.t.Helper()
	found := `[...document.querySelectorAll("` + selector + `")].find((x) => x.innerText.trim().startsWith("` + text + `"))`
	d.run("wait for "+text, until("!!"+found))
	d.run("choose "+text, chromedp.Evaluate("void "+found+".click()", nil))
}

// TestInterview fills in an interview as a collector does on a phone: skip logic,
// a repeat, a photo; it goes on after a reload, is sent twice and stored once, and
// nobody else reads it before.
func TestInterview(t *testing.T) {
	fieldHost(t, func(t *testing.T, d *desk) {
		d.Expect(func(s string) bool { return strings.Contains(s, "404") }) // whether there is a draft is asked for
		ann, bob := d.visits()
		d.size(390, 800)
		d.signIn(ann.Text)
		d.see("Visits")
		d.Shot(t, "interviews-390")
		d.choose("button.visit", "did:ixo")
		d.see("May we ask?")
		d.nobodyHome()
		d.choose("button.visit", "did:ixo")
		d.see("May we ask?")
		d.choose(".fill-nav button", "Next")
		d.see("An answer is required.")
		d.choose(".choice", "Agrees")
		d.choose(".fill-nav button", "Go on anyway")
		d.fillHome()
		d.run("take a photo", chromedp.SetUploadFiles(`input[type=file]`, []string{photo(t)}, chromedp.ByQuery), chromedp.WaitVisible("img.taken"))
		d.see("The photo says where it was taken")
		d.run("wait until it is saved", until(`/^saved \d/.test(document.querySelector(".saved").innerText)`))
		d.Shot(t, "fill-390")
		d.fits(390)
		d.goesOn(ann.Text, bob.Text)
		d.sendTwice(ann.Text)
	})
}

// nobodyHome notes that nobody was there, and finds that in the API. The household
// stays on the list.
func (d *desk) nobodyHome() {
	d.t.Helper()
	d.run("open the rest", chromedp.Evaluate(`void (document.querySelector("details.more").open = true)`, nil))
	d.choose(".no-interview button", "Note it")
	d.see("Visits")
	d.run("be back", chromedp.Poll(`location.pathname === "/console/interviews"`, nil, chromedp.WithPollingTimeout(patience)))
	if h := read[client.ListedHousehold](d, d.server.Key, "/v1/surveys/visits/households/"+visited); h.Outcome != "unreachable" {
		d.t.Errorf("the household is %q, want unreachable", h.Outcome)
	}
}

// fits wants the page no wider than its window.
func (d *desk) fits(width int64) {
	d.t.Helper()
	if wide := script[int64](d, `document.documentElement.scrollWidth`); wide > width {
		d.t.Errorf("the page is %d wide", wide)
	}
}

// fillHome answers the second part: what is asked follows from the answers.
func (d *desk) fillHome() {
	d.t.Helper()
	d.see("Main fuel")
	if script[bool](d, `document.body.innerText.includes("Bundles a week")`) {
		d.t.Error("bundles of wood are asked for before the fuel is known")
	}
	d.choose(".choice", "Wood")
	d.see("Bundles a week")
	d.run("too many", chromedp.SendKeys("#q-responses-home-bundles", "99"))
	d.run("wait for the bound", chromedp.WaitVisible(`[data-at="/responses/home/bundles"] .wrong-text`))
	d.run("fewer", chromedp.SendKeys("#q-responses-home-bundles", kb.Backspace+kb.Backspace+"7"), chromedp.WaitNotPresent(`[data-at="/responses/home/bundles"] .wrong-text`))
	for i, age := range []string{"40", "9"} {
		d.choose(".repeat > button", "Add one")
		d.run("age", chromedp.SendKeys("#q-responses-home-people-"+string(rune('0'+i))+"-age", age))
	}
	d.run("wait for the child", chromedp.WaitVisible(`[data-at="/responses/home/people/1/school"]`))
	if script[bool](d, `!!document.querySelector('[data-at="/responses/home/people/0/school"]')`) {
		d.t.Error("a grown-up is asked about school")
	}
	d.choose(`[data-at='/responses/home/people/1/school'] .choice`, "yes")
}

// goesOn reloads the page, and asks for the draft as somebody else.
func (d *desk) goesOn(ann, bob string) {
	d.t.Helper()
	list := read[client.Page[client.DraftSummary]](d, ann, "/v1/drafts")
	if len(list.Items) != 1 || list.Items[0].HouseholdID != visited {
		d.t.Fatalf("drafts = %+v", list.Items)
	}
	self := list.Items[0].Links.Self
	for _, key := range []string{bob, d.server.Key} {
		d.must(key, http.MethodGet, self, "", http.StatusNotFound)
	}
	d.run("reload", chromedp.Reload(), chromedp.WaitVisible("#q-responses-home-bundles"))
	if got := script[string](d, `document.querySelector("#q-responses-home-bundles").value + " " + document.querySelector("#q-responses-home-people-1-age").value`); got != "7 9" {
		d.t.Errorf("after a reload the answers are %q", got)
	}
	d.run("in Kiswahili", chromedp.Evaluate(`(() => { document.querySelector("details.more").open = true; const s = document.querySelector(".language-of select"); s.value = "sw"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil))
	d.see("Mizigo kwa wiki")
}

// sendTwice sends the interview by two clicks, and finds it once.
func (d *desk) sendTwice(ann string) {
	d.t.Helper()
	d.choose(".fill-nav button", "Next")
	d.see("Nothing is missing.")
	if note := script[bool](d, `document.body.innerText.includes("gives no GPS")`); note == strings.Contains(d.base, "127.0.0.1") {
		d.t.Errorf("that there is no GPS is said = %v at %s", note, d.base)
	} else if note && !strings.Contains(d.base, browser.Host) {
		d.t.Errorf("base = %s", d.base)
	}
	d.Shot(d.t, "fill-review-390")
	d.run("send", chromedp.Evaluate(`(() => { const b = [...document.querySelectorAll("button.primary")].find((x) => x.innerText === "Send the interview"); b.click(); b.click(); })()`, nil))
	d.see("The interview is stored.")
	stored := read[client.Page[client.Response]](d, d.server.Key, "/v1/surveys/visits/responses")
	if len(stored.Items) != 1 {
		d.t.Fatalf("%d responses are stored, want 1", len(stored.Items))
	}
	r := stored.Items[0]
	if r.Status != "complete" || r.Responses["home"]["bundles"] != 7.0 || len(r.Responses["home"]["people"].([]any)) != 2 || len(r.MissingAttachments) != 0 || r.Location == nil || r.Location.Lat != -1.3 || r.Language != "sw" {
		d.t.Errorf("stored = %+v", r)
	}
	if left := read[client.Page[client.DraftSummary]](d, ann, "/v1/drafts"); len(left.Items) != 0 {
		d.t.Errorf("the draft is still there: %+v", left.Items)
	}
	d.run("reload", chromedp.Reload())
	d.see("The interview is stored.")
}
