package survey

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Select returns the sections to ask, in the order of the template; false when
// something is wrong, which is noted.
func (d *Content) Select(t *form.Template, c *fault.Checks) ([]string, bool) {
	has := map[string]bool{} // flags, then sections
	for _, sec := range t.Sections {
		has[sec.Flag], has["/"+sec.ID] = true, true
	}
	want, good := map[string]bool{"": true}, true
	if d.Template != nil {
		for _, f := range d.Template.list() {
			want[f.name] = f.on
			if f.on && !has[f.name] {
				c.Add("/template/"+f.name, "not_in_template", "The template "+t.TemplateID+" has no such section.")
				good = false
			}
		}
	}
	for i, id := range d.Sections {
		if !has["/"+id] {
			c.Add(fmt.Sprintf("/sections/%d", i), "not_in_template", "The template "+t.TemplateID+" has no such section.")
			good = false
		}
	}
	var out []string
	for _, sec := range t.Sections {
		if d.Template != nil && want[sec.Flag] || d.Template == nil && (len(d.Sections) == 0 || slices.Contains(d.Sections, sec.ID)) {
			out = append(out, sec.ID)
		}
	}
	if good && len(out) == 0 {
		c.Add("/sections", "nothing_selected", "The template has no sections to ask.")
	}
	return out, good && len(out) > 0
}

// CheckLanguages notes languages in which a template has no texts. The language
// itself covers a regional form.
func CheckLanguages(c *fault.Checks, languages []string, t *form.Template) {
	has := append(LanguagesOf(t), t.Language())
	for i, tag := range languages {
		base, _, _ := strings.Cut(tag, "-")
		if langTag.MatchString(tag) && !slices.Contains(has, tag) && !slices.Contains(has, base) {
			c.Add(fmt.Sprintf("/languages/%d", i), "not_in_template", "The template "+t.TemplateID+" has texts in "+strings.Join(LanguagesOf(t), ", ")+" only.")
		}
	}
}

// LanguagesOf returns the languages of a template.
func LanguagesOf(t *form.Template) []string {
	if len(t.Languages) > 0 {
		return slices.Clone(t.Languages)
	}
	if t.DefaultLanguage != "" {
		return []string{t.DefaultLanguage}
	}
	return []string{"en"}
}
