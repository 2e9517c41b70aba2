package xlsform

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// metaRows hold the members of a response that expressions name.
func (e *exporter) metaRows() []cells {
	var rows []cells
	for _, member := range slices.Sorted(maps.Keys(e.used)) {
		rows = append(rows, cells{"type": MetaRows[member], "name": MetaPrefix + MetaRows[member]})
	}
	return rows
}

func (e *exporter) settings(version int) {
	t := e.t
	c := cells{"form_title": t.Title.In(e.def, e.def), "form_id": t.TemplateID, "hearth_format": formatWord}
	c.count("version", version)
	if t.DefaultLanguage != "" || len(e.tags()) > 0 {
		c["default_language"] = languageHeader(e.def)
	}
	if _, plain := t.Title[""]; !plain {
		c.text("hearth_title", t.Title)
	}
	c.text("hearth_description", t.Description)
	c.put("hearth_stage", t.Stage)
	c.put("hearth_defaultLanguage", t.DefaultLanguage)
	c.put("hearth_languages", joinList(t.Languages))
	c.put("hearth_requiredSections", joinList(t.Validations.RequiredSections))
	if t.Validations.CompletionThreshold != 0 {
		c.number("hearth_completionThreshold", &t.Validations.CompletionThreshold)
	}
	c.flag("hearth_consentOptional", t.Validations.ConsentOptional)
	var names []string
	for _, f := range t.Files {
		names = append(names, f.Name)
	}
	c.put("hearth_files", joinList(names))
	if e.twice {
		c["allow_choice_duplicates"] = "yes"
	}
	c.count("hearth_reviewIntervalDays", t.ReviewIntervalDays)
	for i, part := range chunks(string(t.Metadata.Value)) {
		header := "hearth_metadata"
		if i > 0 {
			header += strconv.Itoa(i + 1)
		}
		c[header] = part
	}
	e.set = c
}

// chunks cuts a long text into cells.
func chunks(s string) []string {
	var out []string
	for r := []rune(s); len(r) > 0; r = r[min(chunk, len(r)):] {
		out = append(out, string(r[:min(chunk, len(r))]))
	}
	return out
}

func defaultLanguage(t *form.Template) string {
	if t.DefaultLanguage == "" {
		return "en"
	}
	return t.DefaultLanguage
}
