package menu

import (
	"strings"
	"unicode/utf8"
)

// longestLabel is how many characters of a text a graph shows.
const longestLabel = 32

// Mermaid draws the pack as a Mermaid flowchart: menus are boxes, inputs are
// slanted, actions have six corners and closing screens are round. Dotted
// arrows lead back; exit is left out, because it is everywhere.
func Mermaid(p *Pack, lang string) string {
	names := mermaidNames(p)
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, n := range p.List {
		b.WriteString("  " + names[n.ID] + mermaidShape(n, p, lang) + "\n")
	}
	for _, n := range p.List {
		for _, e := range n.edges() {
			arrow := " -->"
			if e.back {
				arrow = " -.->"
			}
			if e.key != "" {
				arrow += `|"` + mermaidText(e.key) + `"|`
			}
			b.WriteString("  " + names[n.ID] + arrow + " " + names[e.to] + "\n")
		}
	}
	return b.String()
}

// mermaidNames gives each node a name of letters, digits and underscores that
// is not a keyword of Mermaid.
func mermaidNames(p *Pack) map[string]string {
	names := map[string]string{}
	taken := map[string]bool{"end": true, "graph": true, "subgraph": true, "style": true, "class": true, "click": true, "default": true}
	for _, n := range p.List {
		name := strings.Map(func(r rune) rune {
			if r == '.' || r == '-' {
				return '_'
			}
			return r
		}, n.ID)
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		names[n.ID] = name
	}
	return names
}

func mermaidShape(n *Node, p *Pack, lang string) string {
	label := `"` + mermaidText(n.ID) + "<br/>" + mermaidText(n.label(p, lang)) + `"`
	switch n.Kind() {
	case KindInput:
		return "[/" + label + "/]"
	case KindDo:
		return "{{" + label + "}}"
	case KindEnd:
		return "([" + label + "])"
	}
	return "[" + label + "]"
}

// mermaidText writes what Mermaid would read as its own.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "|", "#124;").Replace(s)
}

// label is what a graph says about n: its action, or the first line of its text.
func (n *Node) label(p *Pack, lang string) string {
	if n.Do != "" {
		return n.Do
	}
	text := fold(n.Text.In(lang, p.Default()), p.Title.In(lang, p.Default()))
	return short(firstLine(text))
}

func short(s string) string {
	if utf8.RuneCountInString(s) <= longestLabel {
		return s
	}
	return string([]rune(s)[:longestLabel-3]) + "..."
}
