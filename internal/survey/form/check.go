package form

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// Check checks answers. It never fails: its findings are in the result. When
// something is wrong, the other members hold what could be read. Null, an empty
// text, an empty choice and an empty matrix or group count as no answer and are
// left out; the empty array of a repeat is an answer, which says that there are
// none.
func (f *Form) Check(in Input) *Result {
	r := &Result{}
	ev := &evaluation{f: f, in: in, budget: maxCost, r: r, reader: f.reader(), arena: make([]byte, 0, len(in.Answers)+256)}
	r.ev = ev
	ev.begin()
	ev.read(in.Answers)
	ev.walk()
	ev.finish()
	ev.src = bytes.Buffer{} // let go of the answers
	f.readers.Put(ev.reader)
	ev.reader = nil
	return r
}

// walk looks at every question of the selected sections in order.
func (ev *evaluation) walk() {
	for i, s := range ev.f.sections {
		if !ev.f.selected[i] {
			continue
		}
		b := &ev.blocks[i]
		before := ev.r.Answered
		ev.block(b)
		if slices.ContainsFunc(s.nodes, b.sent) {
			ev.await(&b.known)
		}
		if s.required && b.standing() == yes && ev.r.Answered == before && !b.Answered() {
			ev.missing(b.pointer(), "The section is required.")
		}
	}
}

func (ev *evaluation) block(b *block) {
	for _, n := range b.box.nodes {
		c := &b.cells[n.index]
		if !b.asks(n) {
			if b.sent(n) {
				ev.drop(b, n)
			}
			continue
		}
		ev.await(&c.known)
		switch {
		case n.kind.Shown:
		case n.kind.Calculated:
			b.compute(n)
		default:
			ev.question(b, n, c)
		}
	}
}

// drop notes an answer that was not asked for.
func (ev *evaluation) drop(b *block, n *node) {
	if len(ev.r.Dropped) < MaxProblems {
		ev.r.Dropped = append(ev.r.Dropped, b.at(n))
	}
}

// question looks at a question that is asked.
func (ev *evaluation) question(b *block, n *node, c *cell) {
	answered := b.answered(n)
	if n.counted() && (answered || ev.in.Reach.Takes(n.q)) {
		ev.r.Relevant++
		if answered {
			ev.r.Answered++
		}
	}
	switch {
	case n.kind.Repeated:
		for _, e := range c.elements {
			ev.block(e)
		}
	case n.kind.Nested:
		ev.block(c.kids)
	case n.kind.Consent:
		ev.consent(b, n, answered)
	}
	if c.known == yes {
		ev.required(b, n, c, answered)
	}
	if answered && c.state == given && n.constraint != nil {
		ev.constraint(b, n)
	}
	if answered && c.state == given && n.filter != nil {
		ev.offered(b, n, c)
	}
}

// consent notes whether the respondent agrees to the interview.
func (ev *evaluation) consent(b *block, n *node, answered bool) {
	c := &b.cells[n.index]
	if !answered {
		if c.known == yes && len(ev.r.NoConsent) < MaxProblems {
			ev.r.NoConsent = append(ev.r.NoConsent, b.at(n))
		}
		return
	}
	given := c.state == given && c.flag && (ev.r.Consent == nil || *ev.r.Consent)
	ev.r.Consent = &given
}

// required notes what must be answered and is not.
func (ev *evaluation) required(b *block, n *node, c *cell, answered bool) {
	if n.kind.Repeated && len(c.elements) < n.q.MinRepeats {
		ev.missing(b.at(n), "At least "+strconv.Itoa(n.q.MinRepeats)+" elements are required.")
		return
	}
	if n.q.ReadOnly || !b.requires(n) {
		return
	}
	switch {
	case !answered, n.kind.Repeated && len(c.elements) == 0:
		ev.missing(b.at(n), "An answer is required.")
	case n.kind.Rows && c.state == given && int(c.num) < len(n.rowOrder):
		ev.missing(b.at(n), "Every row must be answered.")
	}
}

func (b *block) requires(n *node) bool {
	if n.required == nil {
		return n.q.Required.Always
	}
	held, _ := b.holds(n.required)
	return held
}

// constraint checks an answer. What cannot be evaluated is not violated: it is
// mostly another answer that is missing. Of a partial response that is so even
// when it can be evaluated without.
func (ev *evaluation) constraint(b *block, n *node) {
	before := ev.gaps.count
	held, err := b.holds(n.constraint)
	if held || err != nil || ev.in.Partial && ev.gaps.count > before {
		return
	}
	detail := n.q.ConstraintMessage.In(ev.language(), ev.f.t.Language())
	if detail == "" {
		detail = "The answer does not meet the constraint of the question."
	}
	ev.wrong(b.at(n), "constraint", detail)
}

// language is the language of the response.
func (ev *evaluation) language() string {
	s, _ := ev.in.Response["language"].(string)
	return s
}

// finish fills in what the walk has found.
func (ev *evaluation) finish() {
	r := ev.r
	r.Completeness = 1
	if r.Relevant > 0 {
		r.Completeness = float64(r.Answered) / float64(r.Relevant)
	}
	w := writer{ev: ev}
	w.collect()
	r.Answers = w.write(everything, len(ev.in.Answers)+256)
	if len(r.Answers) > 2*MaxAnswers {
		ev.wrong("/responses", "too_large", "The answers, with the values calculated from them, are larger than 512 KiB.")
		r.Answers = []byte("{}")
		w.private = 0
		r.Masked = nil
	}
	r.Public = r.Answers
	if w.private > 0 {
		r.Public = w.write(publicOnly, len(r.Answers))
		r.Private = w.write(privateOnly, len(r.Answers)-len(r.Public)+128)
	}
	slices.Sort(r.Attachments)
	r.Attachments = slices.Compact(r.Attachments)
	if ev.cost > maxCost {
		ev.wrong("/responses", "too_costly", "The expressions of the template take too long for these answers.")
	}
	rules := ev.f.t.Validations
	if r.Consent == nil && len(r.NoConsent) == 0 {
		// Answers that hide the question are no way around it.
		r.NoConsent = ev.f.consents()
	}
	r.Complete = len(r.Missing) == 0 && len(r.Wrong) == 0 && r.Completeness >= rules.CompletionThreshold && (len(r.NoConsent) == 0 || rules.ConsentOptional)
}

var _ cel.Members = (*block)(nil)
