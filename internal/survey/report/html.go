package report

import (
	"strconv"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web/markup"
)

// write makes the page.
func (p *Report) write() []byte {
	var w markup.Writer
	p.head(&w)
	p.design(&w)
	p.draw(&w)
	p.answered(&w)
	for _, s := range p.Sections {
		title := s.Title
		if title == "" {
			title = p.say("Figures")
		}
		w.Put("<section>").Tag("h2", title).Put("\n")
		for i := range s.Questions {
			p.question(&w, &s.Questions[i])
		}
		w.Put("</section>")
	}
	w.Put("\n<footer>").Tag("h2", p.say("How the figures are made")).Put("\n" + `<p class="small">`)
	w.Text(p.say("Figures are weighted by how the sample was drawn; standard errors are linearised over strata and clusters, with the shares of the population that were seen.")).Put(" ")
	w.Text(p.say("Proportions have Wilson intervals on the effective number of households unless another one is named.")).Put(" ")
	w.Text(p.say("Other households of the same stratum or cluster make up for those that did not answer.")).Put(" ")
	w.Text(p.say("A replacement hides no refusal: the response rate counts the first draw.")).Put("</p></footer>\n</body></html>\n")
	return w.Bytes()
}

func (p *Report) head(w *markup.Writer) {
	o := p.Survey
	w.Put(`<!doctype html>` + "\n" + `<html lang="`).Text(p.lang()).Put(`"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` + "\n")
	w.Tag("title", p.say("%s: report", p.Name)).Put("<style>").Own(style).Put("</style></head><body>\n<header>\n")
	w.Put(`<p class="small mute">`).Text(p.say("Survey report · made %s", p.moment(p.Made))).Put("</p>\n").Tag("h1", p.Name).Put("\n")
	w.Put(`<p class="mute">`).Text(o.SurveyID).Put(" · ").Text(p.say(o.Stage)).Put(" · ").Text(p.say(string(o.Status))).Put(" · ").Text(p.say("round %s", strconv.Itoa(p.Round)))
	w.Put(" · ").Text(p.say("template %s version %d", o.TemplateID, o.TemplateVersion)).Put("</p>\n")
	w.Put(`<p class="small mute">`).Text(p.say("Project")).Put(" ").Tag("code", o.Project)
	if !o.Window.Start.IsZero() {
		w.Put(" · ").Text(p.say("%s to %s", p.day(o.Window.Start), p.day(o.Window.End)))
	}
	w.Put("</p>\n")
	if p.Verified {
		note(w, p.say("Only verified responses count in this report."))
	}
	w.Put("\n")
	if p.Veiled {
		note(w, p.say("Figures that come from fewer than 5 households are not shown."))
	}
	w.Put("\n</header>\n")
}

func note(w *markup.Writer, text string) { w.Put(`<p class="note">`).Text(text).Put("</p>") }

// fact writes a term with its value, if it is known.
func fact(w *markup.Writer, known bool, term, is string) {
	if known {
		w.Tag("dt", term).Tag("dd", is)
	}
	w.Put("\n")
}

// hash is fact of a hash, or another long code.
func hash(w *markup.Writer, term, code string) {
	if code != "" {
		w.Tag("dt", term).Put(`<dd class="hash">`).Text(code).Put("</dd>")
	}
	w.Put("\n")
}

// design writes how the sample was meant.
func (p *Report) design(w *markup.Writer) {
	s := p.Survey.Sampling
	method := p.say(s.Method)
	if s.ClusterSelection != "" {
		method += p.say(", clusters by %s", p.say(s.ClusterSelection))
	}
	w.Put("\n<section>").Tag("h2", p.say("Design of the sample")).Put("\n<dl>\n")
	fact(w, true, p.say("Method"), method)
	fact(w, s.Size != nil, p.say("Size"), p.say("%s households", number(s.Size)))
	fact(w, s.Population != nil, p.say("Population"), p.say("%s households", number(s.Population)))
	fact(w, s.Confidence != nil, p.say("Confidence"), share(s.Confidence))
	fact(w, s.Precision != nil, p.say("Relative precision"), share(s.Precision))
	fact(w, s.MarginOfError != nil, p.say("Margin of error"), number(s.MarginOfError))
	fact(w, s.ParameterType != "", p.say("Designed for a"), p.say(s.ParameterType))
	for _, one := range s.Stages {
		w.Tag("dt", p.say("Stage: %s", p.say(one.Unit))).Tag("dd", p.say("%s drawn of %s", number(one.Drawn), number(one.Units)))
	}
	w.Put("\n")
	for _, one := range s.Totals {
		by := one.By
		if one.Source != "" {
			by += " (" + one.Source + ")"
		}
		w.Tag("dt", p.say("Known totals")).Tag("dd", by)
	}
	w.Put("\n")
	if e := s.DrawnElsewhere; e != nil {
		w.Tag("dt", p.say("Drawn elsewhere")).Put("<dd>").Text(p.say("%s, by %s, %s; document", e.Method, e.By, p.day(e.At))).Put(` <span class="hash">`).Text(e.DocumentHash).Put("</span></dd>")
	}
	w.Put("\n")
	if d := p.Proof.Design; d != nil {
		p.planned(w, d)
	}
	w.Put("\n</dl>\n")
	if len(p.Strata) > 0 {
		p.strata(w)
	}
	w.Put("\n</section>\n")
}

func (p *Report) planned(w *markup.Writer, d *api.SampleDesign) {
	of := p.say("%s, version %d", d.DesignID, d.Version) + ", " + p.say(d.Verification.Status)
	if d.Verification.Verifier != "" {
		of += " " + p.say("by %s", d.Verification.Verifier)
	}
	fact(w, true, p.say("Design"), of)
	n := d.Parameters
	w.Tag("dt", p.say("Needed and drawn"))
	w.Tag("dd", p.say("%d responses are needed (%.1f before rounding); %d households are drawn, for a dropout rate of %g", n.CalculatedSize, n.ExactSize, n.DrawnSize, n.DropoutRate))
}

// columns opens a table; the words of columns of numbers stand on the right.
func columns(w *markup.Writer, first string, numbers ...string) {
	w.Put(`<div class="wide"><table><thead><tr>`).Tag("th", first)
	for _, name := range numbers {
		w.Put(`<th class="n">`).Text(name).Put("</th>")
	}
}

// cells writes numbers into a row.
func cells(w *markup.Writer, numbers ...string) {
	for _, n := range numbers {
		w.Put(`<td class="n">`).Text(n).Put("</td>")
	}
}

func (p *Report) strata(w *markup.Writer) {
	columns(w, p.say("Stratum"), p.say("Population"), p.say("Sample"), p.say("Answered"), p.say("Verified"), p.say("Refused"), p.say("Not reached"))
	w.Put("</tr></thead><tbody>\n")
	for _, s := range p.Strata {
		w.Put("<tr>").Tag("td", s.Name)
		size, done := number(s.Size), []string{"–", "–", "–", "–"}
		if t := s.Tally; t != nil {
			for i, n := range []int64{t.Completed, t.Verified, t.Refused, t.Unreachable} {
				done[i] = strconv.FormatInt(n, 10)
			}
			if s.Size == nil {
				size = strconv.FormatInt(t.Drawn, 10)
			}
		}
		cells(w, number(s.Population), size)
		cells(w, done...)
		w.Put("</tr>\n")
	}
	w.Put("</tbody></table></div>")
}

// draw writes how the sample was drawn, with the proof as far as it may be read.
func (p *Report) draw(w *markup.Writer) {
	w.Put("<section>").Tag("h2", p.say("The draw and its proof")).Put("\n")
	if d := p.Survey.Sampling.Draw; d != nil {
		w.Put("<dl>")
		fact(w, true, p.say("Draw"), p.say("%s, %s, of version %d of the design", d.DrawID, p.moment(d.At), d.Version))
		w.Tag("dt", p.say("SHA-256 of the frame")).Put(`<dd class="hash">`).Text(d.FrameHash).Put("</dd></dl>\n")
		if d.SoleSeed {
			note(w, p.say("Only one party named the seed: nothing shows that the seed was not chosen for the sample it gives."))
		}
		w.Put("\n")
	} else {
		w.Tag("p", p.say("No draw was made here. The households are %s.", p.say(basis(p.Basis))))
	}
	w.Put("\n")
	if d := p.Proof.Draw; d != nil {
		p.drawn(w, d)
	}
	w.Put("\n")
	if p.Proof.Check != nil {
		p.checked(w, p.Proof.Check)
	} else if p.Proof.Why != "" {
		english(w, p.Proof.Why)
	}
	w.Put("\n</section>\n")
}

// english writes a note that is in no other language.
func english(w *markup.Writer, text string) {
	w.Put(`<p class="note" lang="en">`).Text(text).Put("</p>")
}

func (p *Report) drawn(w *markup.Writer, d *api.SampleDraw) {
	w.Put("<dl>\n")
	fact(w, true, p.say("Households to choose from"), strconv.FormatInt(d.Population, 10))
	fact(w, true, p.say("Drawn, and replaced since"), strconv.Itoa(d.Drawn)+", "+strconv.Itoa(d.Replaced))
	if d.Commitment != "" {
		w.Tag("dt", p.say("Committed")).Put("<dd>").Text(p.say("%s, by %s", p.moment(d.CommittedAt), d.CommittedBy)).Put(`<br><span class="hash">`).Text(d.Commitment).Put("</span></dd>")
	}
	w.Put("\n")
	from := p.say("another party")
	if s := d.Second; s != nil && s.Source == "beacon" {
		from = p.say("%s, published %s", s.Beacon, p.moment(s.At))
	}
	fact(w, d.Second != nil, p.say("Second part from"), from)
	fact(w, d.SecondBy != "", p.say("Second part given"), p.say("%s, by %s", p.moment(d.SecondAt), d.SecondBy))
	hash(w, p.say("First part"), d.FirstPart)
	hash(w, p.say("Second part"), d.SecondPart)
	hash(w, p.say("Seed"), d.Seed)
	w.Tag("dt", p.say("Earlier draws of the project")).Put("<dd>").Text(strconv.Itoa(len(d.Earlier)))
	for _, e := range d.Earlier {
		w.Put(`<br><span class="small">`).Text(e.DrawID).Put(", ").Text(p.day(e.At)).Put(", ").Text(p.say(e.State))
		if e.SameFrame {
			w.Text(p.say(", the same frame"))
		}
		if e.Reason != "" {
			w.Put(": ").Text(e.Reason)
		}
		w.Put("</span>")
	}
	w.Put("</dd>\n</dl>")
}

func (p *Report) checked(w *markup.Writer, c *api.SampleCheck) {
	verdict := p.say("✗ Drawn again for this report: the result differs.")
	if c.Verified {
		verdict = p.say("✓ Drawn again for this report, with the same result.")
	}
	w.Put("<p>").Tag("strong", verdict).Put("</p>\n" + `<ul lang="en">`)
	for _, one := range c.Checks {
		text := "✗ " + one.Name
		if one.OK {
			text = "✓ " + one.Name
		}
		if one.Detail != "" {
			text += ": " + one.Detail
		}
		w.Tag("li", text)
	}
	w.Put("</ul>\n")
	for _, text := range c.Remarks {
		english(w, text)
	}
	w.Put("\n" + `<p class="small mute">`).Text(p.say("Check it yourself, without a server: fetch the record of the draw and run")).Put(" <code>hearth sample verify record.json</code>.</p>\n")
}

// answered writes who answered.
func (p *Report) answered(w *markup.Writer) {
	w.Put("<section>").Tag("h2", p.say("Who answered")).Put("\n")
	if c := p.Counted; c != nil {
		words := c.Words
		if p.lang() != "en" {
			words = p.say("Responses count when they are complete and not rejected, invalidated, replaced, redacted or erased.")
		}
		sample := strconv.Itoa(c.Sample)
		if c.Replacements != 0 {
			sample += p.say(", of which %d stand in for others", c.Replacements)
		}
		w.Tag("p", words).Put("<dl>\n")
		fact(w, true, p.say("Households of the sample"), sample)
		fact(w, true, p.say("Answered"), strconv.Itoa(c.Answered))
		fact(w, true, p.say("Not eligible"), strconv.Itoa(c.Ineligible))
		fact(w, true, p.say("Said nothing"), strconv.Itoa(c.Missing))
		fact(w, true, p.say("Off the list"), p.say("%d, in no figure", c.OffList))
		fact(w, true, p.say("Response rate"), p.say("%s of the households that were drawn first and are eligible", share(c.ResponseRate)))
		w.Put("</dl>")
	} else {
		w.Tag("p", p.say("No household has answered yet."))
	}
	w.Put("\n")
	if len(p.Progress) > 0 {
		w.Put(`<div class="keep">`).Own(markup.Own(p.Progress)).Put("</div>") // pictures escape what they are given
	}
	w.Put("\n</section>\n")
}

// question writes one question with its figures.
func (p *Report) question(w *markup.Writer, q *Item) {
	w.Put(`<article class="keep">`).Tag("h3", q.Label).Put(`<p class="small mute">`).Text(q.Name)
	if q.About != "" {
		w.Put(" · ").Text(q.About)
	}
	w.Put("</p>\n")
	if q.Why != "" {
		w.Put(`<p class="note">`).Text(p.say("No figure:")).Put(` <span lang="en">`).Text(q.Why).Put("</span></p>")
	}
	w.Put("\n").Own(markup.Own(q.Picture)).Put("\n")
	if f := q.Figures; f != nil {
		p.figures(w, f, q.Names)
	}
	w.Put("\n</article>")
}

func (p *Report) figures(w *markup.Writer, f *api.SurveyStatistics, names Names) {
	columns(w, "", p.say("Estimate"), p.say("Low"), p.say("High"), p.say("Standard error"), p.say("n"), p.say("Design effect"), p.say("Unweighted"))
	w.Tag("th", p.say("Interval")).Put("</tr></thead><tbody>\n")
	for i := range f.Estimates {
		p.estimate(w, &f.Estimates[i], names)
	}
	w.Put("</tbody></table></div>\n")
	if f.NoInterval != "" {
		note(w, p.say(f.NoInterval))
	}
}

func (p *Report) estimate(w *markup.Writer, e *api.SurveyEstimate, names Names) {
	w.Put("<tr>").Tag("td", p.say(option(names, *e)))
	if e.Suppressed {
		w.Put(`<td colspan="8">`).Text(p.say("not shown: too few households")).Put("</td>")
	} else {
		method := "none"
		if e.Method != "" {
			method = methodOf(e.Method)
		}
		cells(w, number(e.Estimate), number(e.Low), number(e.High), number(e.SE), whole(e.N), number(e.Deff), number(e.Unweighted))
		w.Tag("td", p.say(method))
	}
	w.Put("</tr>\n")
	if e.Precision != nil && e.Precision.Status != "" {
		w.Put(`<tr><td></td><td colspan="8" class="small">`).Text(p.say(status(e.Precision.Status))).Put("</td></tr>")
	}
	w.Put("\n")
}
