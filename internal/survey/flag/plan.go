package flag

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Plan is the part of a form that the checks need. Make it once for each form.
type Plan struct {
	media   [][]string   // questions for pictures and sounds
	scales  [][][]string // questions of one section with one scale
	consent [][]string   // questions for consent
	after   [][]string   // questions of the sections after the first of these
	moments [][]string   // questions for a point in time
	days    [][]string   // questions for a day
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
			continue // an empty element is not a missing picture
		}
		switch {
		case c.Kind.Consent:
			p.consent = append(p.consent, c.Path)
		case c.Kind.CEL == cel.Instant && !c.Ruled && c.Kind.Day:
			p.days = append(p.days, c.Path)
		case c.Kind.CEL == cel.Instant && !c.Ruled && !c.PII.Private():
			p.moments = append(p.moments, c.Path)
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

// answeredAfter is the pointer of the first answer in the sections after the one
// that asks for consent; "" for none.
func (l *look) answeredAfter() string {
	if len(l.Dropped) > 0 {
		return l.Dropped[0]
	}
	for _, path := range l.plan.after {
		for len(path) > 1 { // of a repeat the list
			if at(l.answers(), path) != nil {
				return pointer(path)
			}
			path = path[:len(path)-1]
		}
	}
	return ""
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
