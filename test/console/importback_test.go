package console

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestImportBack goes from the dry run back to the columns and on again, and
// follows a row that was taken to its twin.
func TestImportBack(t *testing.T) {
	d := open(t, "127.0.0.1")
	d.signIn(d.server.Key)
	file := filepath.Join(t.TempDir(), "two.csv")
	if err := os.WriteFile(file, []byte("Household ID,Name,District\nHH-1,Amina Otieno,Kitui\nHH-2,Brian Mwangi,Machakos\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.visit("/console/import")
	d.run("choose the file", chromedp.SetUploadFiles("#file", []string{file}, chromedp.ByQuery))
	d.see("Columns of two.csv")
	d.choose("button.primary", "Check all rows")
	d.until("the dry run", `!!new URLSearchParams(location.search).get("run")`)
	d.see("Back to the columns")
	d.choose("button", "Back to the columns")
	d.see("Columns of two.csv")
	d.choose("button.primary", "Check all rows")
	d.see("Import the 2 good rows")
	d.choose("button.primary", "Import the 2 good rows")
	d.until("the rows that were taken", `[...document.querySelectorAll("main td a")].filter((a) => a.textContent === "taken").length === 2`)
	d.Shot(t, "import-taken")
	d.run("follow the first", chromedp.Evaluate(`[...document.querySelectorAll("main td a")].find((a) => a.textContent === "taken").click()`, nil), until(`location.pathname.startsWith("/console/twins/")`))
	d.see("Amina Otieno")
}
