package form

import (
	"fmt"
	"slices"
)

// Completeness reports on every language the template names or uses, the
// default one first, then in order. A plain text is in the default language.
func (t *Template) Completeness() []LanguageReport {
	def := t.Language()
	tags := slices.Clone(t.Languages)
	t.texts(func(_ string, x Text) {
		for tag := range x {
			if tag != "" && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	})
	tags = slices.DeleteFunc(tags, func(tag string) bool { return tag == def })
	slices.Sort(tags)
	reports := []LanguageReport{{Language: def, Default: true}}
	for _, tag := range slices.Compact(tags) {
		reports = append(reports, LanguageReport{Language: tag})
	}
	for i := range reports {
		r := &reports[i]
		r.Missing = []string{}
		t.texts(func(pointer string, x Text) {
			r.Total++
			switch {
			case x.has(r.Language, def):
				r.Present++
			case len(r.Missing) < maxMissing:
				r.Missing = append(r.Missing, pointer)
			}
		})
		r.Complete = r.Present == r.Total
	}
	return reports
}

// texts visits every text of the template that exists in some language, and the
// label of every question that people are asked: without one they would see its
// id.
func (t *Template) texts(visit func(pointer string, x Text)) {
	see := func(pointer string, x Text) {
		for _, s := range x {
			if s != "" {
				visit(pointer, x)
				return
			}
		}
	}
	see("/title", t.Title)
	see("/description", t.Description)
	for i := range t.Sections {
		s := &t.Sections[i]
		at := fmt.Sprintf("/sections/%d", i)
		see(at+"/title", s.Title)
		see(at+"/hint", s.Hint)
		questionTexts(at+"/questions", s.Questions, visitor{see, visit})
	}
}

// visitor visits the texts that exist, and those that should.
type visitor struct{ some, all func(pointer string, x Text) }

func questionTexts(at string, questions []Question, v visitor) {
	see := v.some
	for i := range questions {
		q := &questions[i]
		here := fmt.Sprintf("%s/%d", at, i)
		if k := KindOf(q.Type); k.Nested || k.Calculated { // good without
			see(here+"/label", q.Label)
		} else {
			v.all(here+"/label", q.Label)
		}
		see(here+"/hint", q.Hint)
		see(here+"/constraintMessage", q.ConstraintMessage)
		for j := range q.Options {
			see(fmt.Sprintf("%s/options/%d/label", here, j), q.Options[j].Label)
		}
		for j := range q.Rows {
			see(fmt.Sprintf("%s/rows/%d/label", here, j), q.Rows[j].Label)
		}
		questionTexts(here+"/questions", q.Questions, v)
	}
}
