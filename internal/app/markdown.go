package app

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

const pageHead = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
	`<title>%s</title><link rel="icon" type="image/png" href="/docs/favicon-32x32.png">` +
	`<style>body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}` +
	`td{border:1px solid #ccc;padding:.3rem .6rem;vertical-align:top}tr:first-child td{font-weight:600;background:#f8f8f8}` +
	`tr:target td{background:#fff6d6}code,pre{background:#f3f3f3}pre{padding:.6rem;overflow:auto}</style><main>`

// markdownPage shows one of our own generated pages. It knows what they use,
// headings, paragraphs, lists, tables and code, and escapes everything.
func markdownPage(title string, text []byte) []byte {
	p := &page{ids: map[string]bool{}}
	fmt.Fprintf(&p.out, pageHead, html.EscapeString(title))
	for line := range strings.Lines(string(text)) {
		p.line(strings.TrimRight(line, "\r\n"))
	}
	p.enter("")
	p.out.WriteString("</main>")
	return p.out.Bytes()
}

// page is HTML in the making. block is the element that is open.
type page struct {
	out   bytes.Buffer
	block string
	ids   map[string]bool // of rows; an id stands once in a page
}

// enter closes the open block and opens another, unless it is the same.
func (p *page) enter(block string) {
	if p.block == block {
		return
	}
	if p.block != "" {
		p.out.WriteString("</" + p.block + ">")
	}
	switch p.block = block; block {
	case "":
	case "pre": // it must be scrollable without a mouse
		p.out.WriteString(`<pre tabindex="0">`)
	default:
		p.out.WriteString("<" + block + ">")
	}
}

func (p *page) line(raw string) {
	line := strings.TrimSpace(raw)
	fence := strings.HasPrefix(line, "```")
	switch {
	case fence && p.block == "pre":
		p.enter("")
	case fence:
		p.enter("pre")
	case p.block == "pre":
		p.out.WriteString(html.EscapeString(raw) + "\n")
	case strings.HasPrefix(line, "<!--"): // for those who edit the file
	case line == "":
		p.enter("")
	case strings.HasPrefix(line, "#"):
		p.enter("")
		level := len(line) - len(strings.TrimLeft(line, "#"))
		fmt.Fprintf(&p.out, "<h%d>%s</h%d>", level, inline(strings.TrimSpace(line[level:])), level)
	case strings.HasPrefix(line, "|"):
		p.enter("table")
		p.row(line)
	case strings.HasPrefix(line, "- "):
		p.enter("ul")
		p.out.WriteString("<li>" + inline(line[2:]))
	default:
		if p.block != "ul" { // a line of its own continues an item
			p.enter("p")
		}
		p.out.WriteString(" " + inline(line))
	}
}

// row writes one row of a table; its first cell's code is what a link's
// fragment names.
func (p *page) row(line string) {
	cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
	if strings.Trim(cells[0], " -:") == "" {
		return // the line between head and body
	}
	if id := strings.Trim(cells[0], " `"); !p.ids[id] {
		p.ids[id] = true
		fmt.Fprintf(&p.out, "<tr id=\"%s\">", html.EscapeString(id))
	} else {
		p.out.WriteString("<tr>")
	}
	for _, c := range cells {
		fmt.Fprintf(&p.out, "<td>%s</td>", inline(strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|")))
	}
	p.out.WriteString("</tr>")
}

// inline escapes text and shows `code` as code.
func inline(s string) string {
	parts := strings.Split(html.EscapeString(html.UnescapeString(s)), "`")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return strings.Join(parts, "")
}
