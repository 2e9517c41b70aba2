package console

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/console.md anew")

const tablePage = "../../docs/console.md"

// TestTable writes down what pages there are, from the pages themselves, and
// holds docs/console.md to it.
func TestTable(t *testing.T) {
	d := openDemo(t)
	var b strings.Builder
	b.WriteString(`# The console

These are the pages of the console, as a test finds them in a browser (` + "`go test ./test/console -run TestTable -update`" + ` writes this page). Press
<kbd>g</kbd> and then the letter. Filters are in the address, so that you can send somebody a page as you see it. Tests also check that every role sees each page,
or reads which scope is missing; that it exists in English and Kiswahili, in light and dark, and fits a phone of 390 pixels; that axe-core finds nothing;
that no text written by somebody else runs as a script; and that the page asks no other host.

| Page | Address | Letter | Needs | Filters | The call behind it |
|---|---|---|---|---|---|
`)
	for _, p := range listed(d.pages()) {
		d.turn("/console" + p.Path)
		title := script[string](d, `document.querySelector("main h1")?.innerText || ""`)
		filters := script[[]string](d, `[...document.querySelectorAll(".filters label span:first-child")].map((e) => e.innerText)`)
		call := script[string](d, `(document.querySelector(".curl code")?.textContent || "").match(/"https?:\/\/[^/]+([^"?]*)/)?.[1] || ""`)
		if call == "" && p.Name != "help" {
			t.Errorf("%s does not show the call behind it", p.Path)
		}
		fmt.Fprintf(&b, "| %s | `/console%s` | %s | %s | %s | %s |\n", title, p.Path, p.Key, code(p.Scope), strings.Join(filters, ", "), code(call))
	}
	b.WriteString(`
Rows of these pages lead to a page of their own: a twin with its graph, relationships, history and time line; a survey with quotas, figures and their intervals,
comparisons with sensors, interviews, households, back-checks, flags and conflicts; an interview with its evidence and decisions; a run of the oracle with its steps; a webhook
with its deliveries; an MCP server with its tools; a sample with its frame, draw, replacements and proof; a claim with its evaluations, the rules, and the evidence
behind its credential.
`)
	if *update {
		if err := os.WriteFile(tablePage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(tablePage)
	if err != nil || string(text) != b.String() {
		t.Errorf("docs/console.md is not what the pages are (%v); with -update this test writes it anew:\n%s", err, b.String())
	}
}

// code sets a text apart, if there is one.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
