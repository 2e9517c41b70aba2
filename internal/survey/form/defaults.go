package form

// defaults checks the answers that forms begin with against their questions.
func (c *compiler) defaults() {
	f := &Form{compiled: c.compiled, selected: make([]bool, len(c.sections))}
	for _, n := range c.nodes {
		if n.q.Default.IsZero() {
			continue
		}
		ev := &evaluation{f: f, budget: maxCost, r: &Result{}, reader: newReader()}
		ev.begin()
		b := ev.newBlock(n.in, nil)
		// The pointer of the answer is not that of the default: only the
		// message is used.
		b.box = &container{section: n.in.section, nodes: n.in.nodes}
		ev.open(n.q.Default.Value)
		if err := ev.answer(b, n); err != nil || len(ev.r.Wrong) > 0 {
			detail := "The value is not valid JSON."
			if len(ev.r.Wrong) > 0 {
				detail = ev.r.Wrong[0].Detail
			}
			c.problem(n.pointer+"/default", "invalid", "%s", detail)
		}
	}
}
