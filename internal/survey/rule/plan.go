package rule

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Plan is what the checks need to know of a form. Make it once for each.
type Plan struct {
	media   [][]string   // questions for pictures and sounds
	scales  [][][]string // questions of one section with one scale
	consent [][]string   // questions for consent
	after   [][]string   // questions of the sections after the first of these
	least   float64      // share of answers that is expected
}

// half is the share of answers that is expected where the template does not say
// when a response is complete.
const half = 0.5

// leastScale is how many values a scale has at least.
const leastScale = 3

// NewPlan reads a form.
func NewPlan(f *form.Form) *Plan {
	p := &Plan{}
	if f.Template().Validations.CompletionThreshold == 0 {
		p.least = half
	}
	scales := map[string]int{}
	for _, c := range f.Columns() {
		if len(p.consent) > 0 && c.Section != p.consent[0][0] && !c.Kind.Calculated {
			p.after = append(p.after, c.Path)
		}
		if c.Repeat {
			continue // an empty element is no missing picture
		}
		switch {
		case c.Kind.Consent:
			p.consent = append(p.consent, c.Path)
		case c.Kind.Recorded:
			p.media = append(p.media, c.Path)
		case c.Kind.Quality.Scale:
			if c.Kind.Options && len(c.Options) < leastScale {
				continue // a household that has none of five things says no five times
			}
			key := c.Section + "\x00" + string(c.Type) + "\x00" + optionsOf(c)
			if _, ok := scales[key]; !ok {
				scales[key] = len(p.scales)
				p.scales = append(p.scales, nil)
			}
			p.scales[scales[key]] = append(p.scales[scales[key]], c.Path)
		}
	}
	return p
}

func optionsOf(c form.Column) string {
	values := make([]string, len(c.Options))
	for i, o := range c.Options {
		values[i] = o.Value
	}
	return strings.Join(values, "\x00")
}

// checkConsent looks for interviews that nobody has agreed to.
func (p *Plan) checkConsent(in Interview, asked func([]string) bool, add func(Flag)) {
	if in.refused() {
		if where := p.answeredAfter(in); where != "" {
			add(Flag{Rule: ConsentRefused, Question: where, Detail: "There are answers although consent was refused."})
		}
		return
	}
	for _, path := range p.consent {
		if in.Consent == nil && asked(path) {
			add(Flag{Rule: ConsentMissing, Question: pointer(path), Detail: "The question for consent has no answer."})
			return
		}
	}
}

// answeredAfter is the pointer of the first answer in the sections after the one
// that asks for consent; "" for none.
func (p *Plan) answeredAfter(in Interview) string {
	if len(in.Dropped) > 0 {
		return in.Dropped[0]
	}
	var answers map[string]any
	if json.Unmarshal(in.Answers, &answers) != nil {
		return ""
	}
	for _, path := range p.after {
		for len(path) > 1 { // of a repeat the list
			if at(answers, path) != nil {
				return pointer(path)
			}
			path = path[:len(path)-1]
		}
	}
	return ""
}

// checkAnswers makes the checks that look at answers. It decodes them only when
// the form has something to look for.
func (p *Plan) checkAnswers(s Settings, in Interview, asked func([]string) bool, add func(Flag)) {
	long := false
	for _, scale := range p.scales {
		long = long || len(scale) >= s.SameAnswers
	}
	if !long && len(p.media) == 0 {
		return
	}
	var answers map[string]any
	if json.Unmarshal(in.Answers, &answers) != nil {
		return // no answers, nothing to find
	}
	for _, path := range p.media {
		if at(answers, path) == nil && asked(path) {
			add(Flag{Rule: MediaMissing, Question: pointer(path), Detail: "The picture, sound or signature that was asked for is missing."})
		}
	}
	for _, scale := range p.scales {
		if n, path := sameAnswers(answers, scale); n >= s.SameAnswers {
			add(Flag{
				Rule: StraightLine, Question: pointer(path), Value: float64(n), Limit: float64(s.SameAnswers),
				Detail: fmt.Sprintf("All %d answers on one scale are the same.", n),
			})
		}
	}
}

// sameAnswers counts the answers on a scale when all of them are the same, and
// gives the first; 0 when they differ.
func sameAnswers(answers map[string]any, scale [][]string) (int, []string) {
	var first any
	var where []string
	n := 0
	for _, path := range scale {
		v := at(answers, path)
		switch v.(type) {
		case nil, map[string]any:
			continue // not answered, or said not to know
		}
		if n > 0 && v != first {
			return 0, nil
		}
		if n == 0 {
			first, where = v, path
		}
		n++
	}
	return n, where
}

// at follows a path into decoded answers.
func at(answers map[string]any, path []string) any {
	var v any = answers
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}
