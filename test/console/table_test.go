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

Every page of the console, as the tests find it in a browser (` + "`go test ./test/console -run TestTable -update`" + ` writes this page). Letters are
pressed after <kbd>g</kbd>. Filters stand in the address, so that a page can be sent to somebody as it is. For each page the tests also hold: every role
sees it or reads which scope is missing; it is there in English and Kiswahili, in light and dark, and no wider than a phone of 390 pixels; axe-core
finds nothing on it; no text that somebody else has written runs as a script; and nothing is asked of another host.

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
What one thing is about has a page of its own behind these: a twin with its graph, relationships, history and time line; a survey with quotas, figures and their
intervals, what sensors say, interviews, households, back-checks and flags; an interview with its evidence and decisions; a run of the oracle with its steps; a webhook with its deliveries;
an MCP server with its tools; a sample with its frame, draw, replacements and proof; a claim with its evaluations, the rules, and what its credential rests on.
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
