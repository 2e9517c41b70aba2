package menu_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func TestMermaid(t *testing.T) {
	t.Parallel()
	want := `flowchart TD
  home["home<br/>Welcome to Demo"]
  ask[/"ask<br/>Your name?"/]
  ask_pin[/"ask.pin<br/>PIN?"/]
  save{{"save<br/>store"}}
  thanks(["thanks<br/>Thanks, {name}. {{done}"])
  home -->|"1"| ask
  home -->|"3"| home
  home -->|"9"| home
  ask --> ask_pin
  ask -.->|"0"| home
  ask_pin --> save
  ask_pin -.->|"0"| ask
  save -->|"no"| home
  save -->|"ok"| thanks
`
	if got := menu.Mermaid(parse(t), "en"); got != want {
		t.Errorf("Mermaid =\n%s\nwant\n%s", got, want)
	}
}

func TestMermaidEscapes(t *testing.T) {
	t.Parallel()
	p := parse(t, "  thanks: {", `  end: {text: 'a "b" <c> & #1', end: true}
  end_: {text: x, end: true}
  thanks: {`, "      no: home", "      no: end", `text: PIN?`, `text: `+strings.Repeat("long ", 10))
	got := menu.Mermaid(p, "sw")
	for _, want := range []string{
		`  end_(["end<br/>a #quot;b#quot; #lt;c#gt; #amp; #35;1"])`,
		`  end__(["end_<br/>x"])`,
		`  save -->|"no"| end_` + "\n",
		`"ask.pin<br/>long long long long long long..."`,
		`"home<br/>Karibu Onyesho"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Mermaid has no %s:\n%s", want, got)
		}
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	packs := []*menu.Pack{parse(t, "  thanks: {", "  lost: {text: 'a <b> & c', end: true}\n  thanks: {"), open(t, "hearth"), open(t, "classic")}
	for _, p := range packs {
		got := menu.SVG(p, "en")
		if n := elements(t, got, "rect"); n != len(p.Nodes())+1 {
			t.Errorf("%s: %d rectangles, want one for each of %d nodes and one below", p.Name, n, len(p.Nodes()))
		}
		for _, n := range p.Nodes() {
			if !strings.Contains(string(got), ">"+n.ID+"</text>") {
				t.Errorf("%s: no node %s", p.Name, n.ID)
			}
		}
	}
	got := string(menu.SVG(packs[0], "en"))
	for _, want := range []string{
		`<svg xmlns="http://www.w3.org/2000/svg" width="298" height="774"`,
		`<rect x="24" y="24" width="250" height="46" rx="4" fill="#eef4ff" stroke="#333"/><text x="149" y="43" text-anchor="middle" font-weight="bold">home</text>`,
		`>a &lt;b&gt; &amp; c</text>`,
		`stroke-dasharray`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("SVG has no %s:\n%s", want, got)
		}
	}
}

// elements counts elements of a name in an XML document.
func elements(t *testing.T, doc []byte, name string) int {
	t.Helper()
	dec, n := xml.NewDecoder(strings.NewReader(string(doc))), 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return n
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == name {
			n++
		}
	}
}
