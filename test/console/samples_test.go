package console

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
)

const drawnSample = "/v1/sampling/designs/demo-monitoring-sample"

// TestSample finds the sample of the demo with its proof as the API gives it, and
// replaces a household there.
func TestSample(t *testing.T) {
	d := openDemo(t)
	d.shots("samples", "/console/sampling")
	d.see("Monitoring, 90/10 by district")
	d.shots("sample", "/console/sampling/demo-monitoring-sample")
	draw := read[client.SampleDraw](d, d.server.Key, drawnSample+"/draw")
	check := read[client.SampleCheck](d, d.server.Key, drawnSample+"/verify")
	if !check.Verified || draw.Seed == "" {
		t.Fatalf("draw = %+v, proof = %+v", draw, check)
	}
	d.run("wait for the proof", until(fmt.Sprintf(`document.querySelectorAll(".proof-steps li.ok").length === %d && !document.querySelector(".proof-steps li.broken")`, len(check.Checks))))
	for _, want := range append([]string{draw.Seed, draw.FrameHash, draw.Commitment, "hearth sample verify " + draw.DrawID + ".json"}, check.Remarks...) {
		d.see(want)
	}
	record := script[string](d, `document.querySelector(".proof a[download]").getAttribute("href")`)
	if text := string(d.must(d.server.Key, "GET", record, "", 200)); !strings.Contains(text, draw.Seed) {
		t.Errorf("%s is no record of the draw: %.200s", record, text)
	}

	d.choose("td button", "Replace")
	d.run("say why", chromedp.SendKeys("dialog[open] input", "Moved away; the chief confirms.", chromedp.ByQuery))
	d.choose("dialog[open] button[type=submit]", "Replace")
	d.see("Moved away; the chief confirms.")
	found := 0
	for u, err := range d.owner().Sampling.Units(t.Context(), "demo-monitoring-sample", "replaced") {
		if err != nil {
			t.Fatal(err)
		}
		if u.Reason == "Moved away; the chief confirms." {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d households are replaced for this reason, want 1", found)
	}
}

// TestNewSample has the server compute a size while somebody types, keeps the
// design, and leads it through frame, commitment and second part to a draw.
func TestNewSample(t *testing.T) {
	d := openDemo(t)
	d.Expect(func(s string) bool { return strings.Contains(s, "404") }) // a new design has no frame and no draw
	d.shots("sample-new", "/console/sampling/new?name=Households+of+Kitui&confidence=95")
	d.see("Say how many households there are in all")
	d.run("say how many there are", chromedp.SendKeys("#population", "40", chromedp.ByQuery))
	project := script[string](d, `document.querySelector("#projectId").value`)
	of := func(v float64) *float64 { return &v }
	draft := client.SampleDesignDraft{ProjectID: project, Population: of(40), Confidence: of(0.95), Precision: of(0.1), ExpectedMean: of(0.5), DropoutRate: of(0.1)}
	d.sized(draft)
	d.put("#expected", "150") // the server is not asked: its answer would be trouble
	d.see("From 0.0001 to 99.9999")
	d.see("Put the number right that is marked.")
	d.run("expect more", chromedp.SetValue("#expected", "", chromedp.ByQuery), chromedp.SendKeys("#expected", "90", chromedp.ByQuery))
	draft.ExpectedMean = of(0.9)
	d.sized(draft)
	d.Shot(t, "sample-sized")
	d.choose("button.primary", "Keep this design")
	d.see("The list of all households there are to choose from is not frozen yet.")
	id := strings.TrimPrefix(script[string](d, `location.pathname`), "/console/sampling/")
	made, err := d.owner().Sampling.Get(t.Context(), id, 0)
	if err != nil || made.Name != "Households of Kitui" || *made.ExpectedMean != 0.9 {
		t.Fatalf("the API has %+v, %v", made, err)
	}
	d.drawn(id)
}

// sized wants the sizes on the page that the server computes for a draft.
func (d *desk) sized(draft client.SampleDesignDraft) {
	d.t.Helper()
	want, err := d.owner().Sampling.Size(d.t.Context(), draft)
	if err != nil {
		d.t.Fatal(err)
	}
	d.until("the size", fmt.Sprintf(`[...document.querySelectorAll(".tiles.pair strong")].map((x) => x.innerText).join() === %q && !document.querySelector("main .stale") && document.querySelector("tr.chosen strong")?.innerText === %q`,
		fmt.Sprintf("%d,%d", want.Parameters.CalculatedSize, want.Parameters.DrawnSize), strconv.Itoa(want.Parameters.DrawnSize)))
}

// drawn leads a design on its page to a draw that the API can make again.
func (d *desk) drawn(id string) {
	d.t.Helper()
	ctx := d.t.Context()
	var frame strings.Builder
	frame.WriteString("household\n")
	for _, h := range read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=Household&limit=40&fields=did").Items {
		frame.WriteString(h.DID + "\n")
	}
	d.choose(".card button", "Freeze the frame")
	d.run("choose the file", chromedp.SetUploadFiles("dialog[open] input[type=file]", []string{d.file("frame.csv", frame.String())}, chromedp.ByQuery))
	d.choose("dialog[open] button[type=submit]", "Freeze the frame")
	d.see("Nothing is drawn yet.")
	d.choose(".card button", "Commit to the draw")
	d.choose("dialog[open] button[type=submit]", "Commit to the draw")
	d.see("The second part comes from somebody else than you.")
	k, err := d.owner().Keys.Create(ctx, client.KeyDraft{Name: "auditor", Role: "auditor", Principal: "did:example:auditor"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.must(k.Text, "POST", "/v1/sampling/designs/"+id+"/contribute", `{"part":"6 14 22 31 40 45"}`, 200)
	d.visit("/console/sampling")
	d.visit("/console/sampling/" + id)
	d.choose(".card button", "Draw the sample")
	d.run("wait for the proof", until(`document.querySelectorAll(".proof-steps li.ok").length > 5`))
	if c, err := d.owner().Sampling.Verify(ctx, id); err != nil || !c.Verified || c.SoleSeed {
		d.t.Errorf("proof of the draw = %+v, %v", c, err)
	}
}
