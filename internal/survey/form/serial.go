package form

import (
	"slices"
	"strings"
	"unicode"
)

// Serials returns the ids of the questions for the number on a thing, or the DID
// of one, and of values calculated from their answers. Do not change it.
func (f *Form) Serials() map[string]bool { return f.serials }

// serialsOf finds the serials of a template.
func serialsOf(t *Template) map[string]bool {
	found := map[string]bool{}
	var look func(all []Question) bool
	look = func(all []Question) (more bool) {
		for i := range all {
			q := &all[i]
			if is := q.Serial() || KindOf(q.Type).Calculated && mentions(q.Calculate, found); is && !found[q.ID] {
				found[q.ID], more = true, true
			}
			more = look(q.Questions) || more
		}
		return more
	}
	for again := true; again; {
		again = false
		for i := range t.Sections {
			again = look(t.Sections[i].Questions) || again
		}
	}
	return found
}

// mentions reports whether an expression names one of the questions.
func mentions(expression string, ids map[string]bool) bool {
	if len(ids) == 0 {
		return false
	}
	return slices.ContainsFunc(strings.FieldsFunc(expression, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), func(word string) bool { return ids[word] })
}
