package report

// Part is the progress of a stratum.
type Part struct {
	Label                   string
	Target, Answered, Known int // wanted; with an answer; of these verified
}

// Progress is the progress of the strata of a survey.
type Progress struct {
	Frame
	Parts []Part
}

// SVG draws an outline for the target, filled as far as it is reached.
func (p Progress) SVG() []byte {
	f := p.Frame
	more := len(p.Parts) - maxRows
	if more > 0 {
		p.Parts = p.Parts[:maxRows]
		f.Notes = append(f.Notes[:len(f.Notes):len(f.Notes)], f.Say("%d more are not shown.", more))
	}
	f.Notes = append(f.Notes[:len(f.Notes):len(f.Notes)], f.Say("Outline: wanted. Light: answered. Dark: verified."))
	c := newCanvas(f)
	c.y += 8
	most := 1
	for _, part := range p.Parts {
		most = max(most, part.Target, part.Answered)
	}
	words := []string{f.About}
	for _, part := range p.Parts {
		value := part.value(f)
		c.labelled(part.Label, value)
		unit := c.inner() / float64(most)
		c.rect(pad, c.y, float64(part.Answered)*unit, 14, "b")
		c.rect(pad, c.y+4, float64(part.Known)*unit, 6, "f")
		c.rect(pad, c.y, float64(part.Target)*unit, 14, "t")
		c.y += 24
		words = append(words, f.Say("%s: %s, %d verified", part.Label, value, part.Known))
	}
	return c.finish(sentences(append(words, f.Notes...)))
}

// value is how many of how many.
func (p Part) value(f Frame) string {
	if p.Target == 0 {
		return Number(float64(p.Answered), 0)
	}
	return f.Say("%s of %s (%d %%)", Number(float64(p.Answered), 0), Number(float64(p.Target), 0), (200*p.Answered+p.Target)/(2*p.Target))
}
