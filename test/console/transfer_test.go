package console

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/browser"
)

// mistaken is a table of households; one row in every so many has a mistake.
func mistaken(t *testing.T, rows, every int) (file string, mistakes int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("Full name,People,HH code,District,Remarks\r\n")
	for i := range rows {
		people := fmt.Sprint(i%9 + 1)
		if i%every == 5 {
			people = "many"
			mistakes++
		}
		fmt.Fprintf(&b, "Family %d,%s,H-%05d,Kisumu,\r\n", i, people, i)
	}
	file = filepath.Join(t.TempDir(), "households.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, mistakes
}

// tile reads the number of a tile by what stands over it.
func (d *desk) tile(label string) string {
	d.t.Helper()
	return script[string](d, fmt.Sprintf(`[...document.querySelectorAll('.tile')].find((x) => x.querySelector('span').textContent === %q)?.querySelector('strong').textContent || ''`, label))
}

// until waits for something to hold in the page, as long as a large job may take.
func (d *desk) until(what, expression string) {
	d.t.Helper()
	for range 8 {
		ctx, cancel := timeout(d.Context)
		err := chromedp.Run(ctx, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(patience/2)))
		cancel()
		if err == nil {
			return
		}
	}
	d.t.Fatalf("%s does not come: %.600s", what, script[string](d, `document.body.innerText`))
}

// TestImportOfATable brings 1,000 households (10,000 in make test-all) with 37 mistakes:
// the dry run marks exactly those, the import stores the others, and a second go
// stores nothing twice.
func TestImportOfATable(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	rows, every := 1_000, 27
	if dbtest.Everything() {
		rows, every = 10_000, 271
	}
	file, mistakes := mistaken(t, rows, every)
	if mistakes != 37 {
		t.Fatalf("%d mistakes, want 37", mistakes)
	}
	d.visit("/console/import")
	d.run("choose the file", chromedp.SetUploadFiles("#file", []string{file}, chromedp.ByQuery))
	d.see("Columns of households.csv")
	d.see("Remarks") // nothing is known of it
	if got := script[string](d, `document.querySelector('.mapping tbody tr:nth-child(2) select').value`); got != "properties.size" {
		t.Errorf("People goes to %q, want properties.size", got)
	}
	d.Shot(t, "import-columns")
	d.run("check", browser.Tap(".go button.primary"))
	d.until("the dry run", `!!document.querySelector('.tiles')`)
	if got, want := d.tile("Refused"), fmt.Sprint(mistakes); got != want {
		t.Errorf("refused = %s, want %s", got, want)
	}
	d.load("/console/import?" + script[string](d, `location.search.slice(1)`) + "&ok=false") // a reload loses nothing
	d.until("the marked cells", `!!document.querySelector('.bad-cell')`)
	if got := script[int](d, `document.querySelectorAll('.grid-rows tbody .bad-cell strong').length`); got != min(mistakes, 25) {
		t.Errorf("%d cells are marked on the first page, want 25", got)
	}
	d.run("next page", browser.Tap(".pager button:last-of-type"))
	d.until("the second page", fmt.Sprintf(`document.querySelectorAll('.grid-rows tbody .bad-cell strong').length === %d`, mistakes-25))
	d.Shot(t, "import-check")
	dry := script[string](d, `new URLSearchParams(location.search).get('run')`)
	refused(t, d.owner(), dry, mistakes)
	d.run("go", browser.Tap(".go button.primary"))
	d.until("the result", `document.body.innerText.includes('See the twins')`)
	want := rows - mistakes
	if got := strings.ReplaceAll(d.tile("New"), ",", ""); got != fmt.Sprint(want) {
		t.Errorf("new = %s, want %d", got, want)
	}
	d.Shot(t, "import-done")
	counted(t, d.owner(), want)
	// The same dry run again is the same import.
	d.visit("/console/import?run=" + dry)
	d.run("go again", browser.Tap(".go button.primary"))
	d.until("the result", `document.body.innerText.includes('See the twins')`)
	counted(t, d.owner(), want)
	list, err := d.owner().Imports.Page(t.Context(), client.TransferQuery{})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("%d imports, error %v; want the dry run and one import", len(list.Items), err)
	}
	d.visit("/console/jobs")
	d.see("Import of twins")
	if href := script[string](d, `document.querySelector('tbody a').getAttribute('href')`); !strings.HasPrefix(href, "/console/import?go=") {
		t.Errorf("the job leads to %q", href)
	}
}

// refused reads the table of refused rows.
func refused(t *testing.T, c *client.Client, id string, want int) {
	t.Helper()
	f, err := c.Imports.Refused(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if n := strings.Count(string(text), "\r\n") - 1; err != nil || f.Close() != nil || n != want || !strings.HasPrefix(string(text), "Full name,People,HH code,District,Remarks,_line,_why\r\n") {
		t.Errorf("%d refused rows, error %v, want %d: %.200s", n, err, want, text)
	}
}

// counted wants so many households, by the counters.
func counted(t *testing.T, c *client.Client, want int) {
	t.Helper()
	n, err := c.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got int64
	for _, of := range n.Twins["Household"] {
		got += of
	}
	if got != int64(want) {
		t.Errorf("%d households, want %d", got, want)
	}
}

// TestExportOnThePage makes a file on the page and finds it in the API.
func TestExportOnThePage(t *testing.T) {
	d := open(t, "127.0.0.1")
	_, err := d.owner().Entities.Create(t.Context(), client.EntityDraft{Type: "Household", Protocol: "did:ixo:protocol/household", Properties: map[string]any{"name": "Ouma"}})
	if err != nil {
		t.Fatal(err)
	}
	d.signIn(d.server.Key)
	d.visit("/console/exports")
	d.see("No file yet")
	d.run("make", chromedp.SetValue("#format", "xlsx", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector('#format').dispatchEvent(new Event('change', {bubbles: true}))`, nil), browser.Tap("form.card button.primary"))
	d.until("the file", `!!document.querySelector('tbody a[download]')`)
	list, err := d.owner().Exports.Page(t.Context(), client.TransferQuery{Status: "succeeded"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Format != "xlsx" {
		t.Fatalf("exports = %+v, %v", list, err)
	}
	links := script[[]string](d, `[...document.querySelectorAll('tbody a[download]')].map((a) => a.getAttribute('href'))`)
	if !slices.Equal(links, []string{list.Items[0].Links.File}) {
		t.Errorf("the page leads to %v, want %s", links, list.Items[0].Links.File)
	}
	d.Shot(t, "exports")
}
