package menu

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"slices"
)

// Measures of the drawing, in pixels.
const (
	boxWidth, boxHeight = 250, 46
	gapX, gapY          = 26, 90
	margin              = 24
)

// box is where a node stands in the drawing.
type box struct {
	node *Node
	x, y int
}

// SVG draws the pack as a picture: nodes in layers by the fewest steps from the
// start, unreachable ones below all others.
func SVG(p *Pack, lang string) []byte {
	layers := p.layers()
	widest := 0
	for _, layer := range layers {
		widest = max(widest, len(layer))
	}
	width := 2*margin + widest*(boxWidth+gapX) - gapX
	height := 2*margin + len(layers)*(boxHeight+gapY) - gapY
	boxes := map[string]box{}
	for row, layer := range layers {
		left := (width - len(layer)*(boxWidth+gapX) + gapX) / 2
		for i, n := range layer {
			boxes[n.ID] = box{n, left + i*(boxWidth+gapX), margin + row*(boxHeight+gapY)}
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(p.Name+" "+p.Version))
	b.WriteString(`<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	for _, n := range p.List {
		for i, e := range n.edges() {
			drawEdge(&b, boxes[n.ID], boxes[e.to], e, i)
		}
	}
	for _, n := range p.List {
		drawBox(&b, boxes[n.ID], n.label(p, lang))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// layers sorts the nodes into rows by their depth, and within a row near to
// the nodes that lead there, so that fewer arrows cross.
func (p *Pack) layers() [][]*Node {
	depth := p.depths()
	deepest := 0
	for _, d := range depth {
		deepest = max(deepest, d)
	}
	layers := make([][]*Node, deepest+2)
	for _, n := range p.List {
		d, ok := depth[n.ID]
		if !ok {
			d = deepest + 1
		}
		layers[d] = append(layers[d], n)
	}
	if len(layers[deepest+1]) == 0 {
		layers = layers[:deepest+1]
	}
	place := map[string]float64{}
	for row, layer := range layers {
		if row > 0 {
			weights := p.pulls(layers[row-1], place)
			slices.SortStableFunc(layer, func(a, b *Node) int { return cmp.Compare(weights[a.ID], weights[b.ID]) })
		}
		for i, n := range layer {
			place[n.ID] = (float64(i) + 0.5) / float64(len(layer))
		}
	}
	return layers
}

// pulls is the mean place of those in the row above that lead to a node.
func (p *Pack) pulls(above []*Node, place map[string]float64) map[string]float64 {
	sum, count := map[string]float64{}, map[string]float64{}
	for _, n := range above {
		for _, e := range n.edges() {
			sum[e.to] += place[n.ID]
			count[e.to]++
		}
	}
	for id := range sum {
		sum[id] /= count[id]
	}
	return sum
}

// drawEdge draws the i-th arrow out of a box. An arrow down ends at the top of
// its target; one up or across swings out to the right.
func drawEdge(b *bytes.Buffer, from, to box, e edge, i int) {
	style := `stroke="#555"`
	if e.back {
		style = `stroke="#aaa" stroke-dasharray="4 3"`
	}
	shift := 14 + i*18%(boxWidth-28)
	x1, y1, x2, y2 := from.x+shift, from.y+boxHeight, to.x+boxWidth/2, to.y
	labelX, labelY := x1+3, y1+12+i%3*10 // words of neighbours stand apart
	if to.y > from.y {
		fmt.Fprintf(b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" %s marker-end="url(#tip)"/>`, x1, y1, x1, y1+gapY/2, x2, y2-gapY/2, x2, y2, style)
	} else {
		x1, y1, x2, y2 = from.x+boxWidth, from.y+4+i*9%(boxHeight-8), to.x+boxWidth, to.y+boxHeight/2
		labelX, labelY = x1+3, y1-2
		out := max(x1, x2) + gapX
		fmt.Fprintf(b, `<path d="M%d %dC%d %d %d %d %d %d" fill="none" %s marker-end="url(#tip)"/>`, x1, y1, out, y1, out, y2, x2, y2, style)
	}
	if e.key == "" {
		b.WriteByte('\n')
		return
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#a33" font-size="10">%s</text>`+"\n", labelX, labelY, html.EscapeString(e.key))
}

// drawBox draws a node: its id above what it says.
func drawBox(b *bytes.Buffer, at box, label string) {
	fill, round := "#eef4ff", 4
	switch at.node.Kind() {
	case KindInput:
		fill = "#fff7e0"
	case KindDo:
		fill, round = "#eaf7ea", 14
	case KindEnd:
		fill, round = "#f3e9f5", boxHeight/2
	}
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d" fill="%s" stroke="#333"/>`, at.x, at.y, boxWidth, boxHeight, round, fill)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" font-weight="bold">%s</text>`, at.x+boxWidth/2, at.y+19, html.EscapeString(at.node.ID))
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", at.x+boxWidth/2, at.y+36, html.EscapeString(label))
}
