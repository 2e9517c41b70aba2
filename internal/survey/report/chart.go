package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// mediaType is the media type of the pictures.
const mediaType = "image/svg+xml"

// Widths of a picture in units of CSS pixels.
const (
	minWidth     = 300
	defaultWidth = 640
	maxWidth     = 1400
)

// pictureStyle is the style that a page needs to show pictures of Frame.Inline. Other
// pictures contain it. Colours are plain, because programs that read a saved
// picture do not know variables.
const pictureStyle = `.hc{color:#1b1f24;font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-size:13px;color-scheme:light dark}` +
	`.hc text{fill:currentColor;font-variant-numeric:tabular-nums}.hc .h{font-size:15px;font-weight:600}.hc .s{font-size:12px;opacity:.72}.hc .v{font-weight:600}` +
	`.hc .g{stroke:currentColor;stroke-opacity:.16}.hc .z{stroke:currentColor;stroke-opacity:.7;stroke-dasharray:4 3}.hc .w{stroke:currentColor;stroke-width:1.6;fill:none}` +
	`.hc .b{fill:#8fc1a5;stroke:#1f6b45}.hc .f{fill:#1f6b45;stroke:#1f6b45}.hc .o{fill:none;stroke:#1f6b45;stroke-width:1.8}.hc .t{fill:none;stroke:currentColor;stroke-opacity:.45}` +
	`.hc .p{fill:#1f6b45;fill-opacity:.45;stroke:#1f6b45}` +
	`@media (prefers-color-scheme:dark){.hc{color:#e6e9ec}.hc .b{fill:#2c5f46;stroke:#7fd1a4}.hc .f{fill:#7fd1a4;stroke:#7fd1a4}.hc .o{stroke:#7fd1a4}.hc .p{fill:#7fd1a4;stroke:#7fd1a4}}` +
	`@media print{.hc{color:#000}.hc .b{fill:#d5d5d5;stroke:#000}.hc .f{fill:#000;stroke:#000}.hc .o{stroke:#000}.hc .p{fill:#555;stroke:#000}}`

// Policy allows a browser that opens a picture as a page only its style.
func Policy() string {
	return "default-src 'none'; style-src " + Source(pictureStyle) + "; frame-ancestors 'none'"
}

// Source names an inline style in a content security policy.
func Source(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Frame is what surrounds a picture.
type Frame struct {
	ID       string   // begins the ids inside, so that a page can have several pictures; "c" by default
	Title    string   // what is shown
	About    string   // a line below: the statistic, its confidence, the number of households
	Notes    []string // below the picture
	Width    int      // DefaultWidth when 0, and within the widths there are
	Inline   bool     // the page it stands in has Style
	Language string   // of the words that are not the survey's own; English by default
}

// maxRows limits the rows of a picture; a note counts the others.
const maxRows = 60

const (
	pad      = 14.0 // around a picture
	textSize = 13.0
	line     = 17.0 // of text
)

// canvas is a picture in the making: it grows downwards.
type canvas struct {
	b     strings.Builder
	frame Frame
	width float64
	y     float64 // where the next thing stands
}

func newCanvas(f Frame) *canvas {
	if f.Width == 0 {
		f.Width = defaultWidth
	}
	if f.ID == "" {
		f.ID = "c"
	}
	c := &canvas{frame: f, width: float64(min(max(f.Width, minWidth), maxWidth)), y: pad}
	c.lines(f.Title, "h", 15)
	c.lines(f.About, "s", 12)
	return c
}

// inner is how wide what stands between the edges is.
func (c *canvas) inner() float64 { return c.width - 2*pad }

// lines writes a text of several lines below what there is.
func (c *canvas) lines(text, class string, size float64) {
	for _, l := range Wrap(text, c.inner(), size, 6) {
		c.text(pad, c.y+size, "start", class, l)
		c.y += math.Ceil(size * 1.32)
	}
}

// labelled writes a label, and its value at the right edge: beside the last line
// of the label, or below it.
func (c *canvas) labelled(label, value string) {
	lines := Wrap(label, c.inner(), textSize, 4)
	if len(lines) == 0 {
		lines = []string{"–"}
	}
	for _, l := range lines {
		c.y += line
		c.text(pad, c.y-4, "start", "", l)
	}
	if widthOf(lines[len(lines)-1], textSize)+widthOf(value, textSize)*1.06+12 > c.inner() {
		c.y += line
	}
	c.text(c.width-pad, c.y-4, "end", "v", value)
}

// text writes one line; anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, class, text string) {
	if text == "" {
		return
	}
	c.b.WriteString(`<text x="` + at(x) + `" y="` + at(y) + `"`)
	if anchor != "start" {
		c.b.WriteString(` text-anchor="` + anchor + `"`)
	}
	if class != "" {
		c.b.WriteString(` class="` + class + `"`)
	}
	c.b.WriteString(">" + escape(text) + "</text>\n")
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`+"\n", at(x1), at(y1), at(x2), at(y2), class)
}

func (c *canvas) rect(x, y, w, h float64, class string) {
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`+"\n", at(x), at(y), at(max(w, 0)), at(h), class)
}

func (c *canvas) dot(x, y, r float64, class string) {
	fmt.Fprintf(&c.b, `<circle cx="%s" cy="%s" r="%s" class="%s"/>`+"\n", at(x), at(y), at(r), class)
}

// whisker is an interval with its two ends.
func (c *canvas) whisker(low, high, y, half float64) {
	fmt.Fprintf(&c.b, `<path d="M%s %sV%sM%s %sH%sM%s %sV%s" class="w"/>`+"\n",
		at(low), at(y-half), at(y+half), at(low), at(y), at(high), at(high), at(y-half), at(y+half))
}

// finish ends the picture with its notes; desc says in words what it shows.
func (c *canvas) finish(desc string) []byte {
	c.y += 6
	for _, n := range c.frame.Notes {
		c.lines(n, "s", 12)
	}
	c.y += pad - 4
	w, h, id := at(c.width), at(c.y), escape(clean(c.frame.ID))
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="hc"%s role="img" aria-labelledby="%s-t %s-d" viewBox="0 0 %s %s" width="%s" height="%s">`+"\n", c.frame.lang(), id, id, w, h, w, h)
	fmt.Fprintf(&out, "<title id=\"%s-t\">%s</title>\n<desc id=\"%s-d\">%s</desc>\n", id, escape(clean(c.frame.Title)), id, escape(clean(desc)))
	if !c.frame.Inline {
		out.WriteString("<style>" + pictureStyle + "</style>\n")
	}
	out.WriteString(c.b.String() + "</svg>\n")
	return []byte(out.String())
}

// at is a place in a picture, to a tenth.
func at(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // no minus
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// escape makes a text safe between tags and in attributes.
func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil { // a builder takes everything
		return ""
	}
	return b.String()
}
