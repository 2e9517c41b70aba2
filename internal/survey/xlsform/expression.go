package xlsform

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform/xpath"
)

// derived is an expression that was translated: when the form does not take it,
// it is dropped and reported.
type derived struct {
	at    *entry
	base  string
	drop  func()
	given string // pointer in the template
}

// expressions fills the expressions of the template.
func (im *importer) expressions() {
	for i := range im.t.Sections {
		s, e := &im.t.Sections[i], im.sections[i]
		at := fmt.Sprintf("/sections/%d", i)
		if e.id == s.ID && e.word == "begin_group" {
			here := place{im.names.Section(s), at + "/relevant"}
			im.condition(e, "relevant", im.written().condition("relevant", s.Relevant, here.from), &s.Relevant, here)
		}
		im.each(e, s.Questions, at)
	}
}

// written is how we would write expressions.
func (im *importer) written() cellWriter {
	return cellWriter{names: im.names, used: map[string]bool{}}
}

// place is what an expression is about.
type place struct {
	from    *xpath.Named
	pointer string
}

func (im *importer) each(e *entry, qs []form.Question, at string) {
	for j := range qs {
		pointer := fmt.Sprintf("%s/questions/%d", at, j)
		im.resolve(e.kept[j], &qs[j], pointer)
		if len(e.kept[j].kept) > 0 {
			im.each(e.kept[j], qs[j].Questions, pointer)
		}
	}
}

// resolve compares the cells of a row with what we would write for what was
// kept of it. Where they differ the cell counts.
func (im *importer) resolve(e *entry, q *form.Question, pointer string) {
	at := im.names.Question(q)
	ranged := q.Validation
	if e.word == rangeWord && form.KindOf(q.Type).XLSForm.Word != rangeWord {
		q.Validation = form.Validation{} // the parameters hold it, not the constraint
	}
	want := im.written().native(q)
	im.condition(e, "relevant", want["relevant"], &q.Relevant, place{at, pointer + "/relevant"})
	im.required(e, q, want["required"], place{at, pointer + "/required"})
	if grouped(q) {
		im.ignored(e, "constraint", "calculation", "choice_filter")
		im.repeatCount(e, q, want["repeat_count"], pointer)
	} else {
		im.filtered(e, q, want["constraint"], place{at, pointer + "/constraint"})
		im.calculation(e, q, want["calculation"], place{at, pointer + "/calculate"})
	}
	if !q.Default.IsZero() {
		im.derived = append(im.derived, derived{at: e, base: "default", drop: func() { q.Default = form.Value{} }, given: pointer + "/default"})
	}
	if e.word == rangeWord {
		q.Validation.Min, q.Validation.Max, q.Validation.Step = ranged.Min, ranged.Max, ranged.Step
	}
}

// condition sets a condition from a cell, unless the cell is what we would
// write for what was kept.
func (im *importer) condition(e *entry, base, want string, to *string, p place) bool {
	if e.get(base) == want {
		return false
	}
	if *to != "" {
		e.item(base, Warning, "changed", "The expression was changed; the column hearth_%s is left out.", base)
	}
	*to = ""
	if e.get(base) == "" {
		return true
	}
	*to = im.translate(e, base, p, xpath.Condition)
	im.derive(e, base, to, p)
	return true
}

func (im *importer) derive(e *entry, base string, to *string, p place) {
	if *to != "" {
		im.derived = append(im.derived, derived{at: e, base: base, drop: func() { *to = "" }, given: p.pointer})
	}
}

// translate translates a cell. What cannot be translated is reported and empty.
func (im *importer) translate(e *entry, base string, p place, want xpath.Want) string {
	return im.attempt(e, base, func(text string) (string, []string, error) { return im.names.ToCEL(text, p.from, want) })
}

// attempt translates a cell with a function and reports how it went.
func (im *importer) attempt(e *entry, base string, toCEL func(text string) (cel string, notes []string, err error)) string {
	cell := e.cell(base)
	var out string
	var notes []string
	err := errors.New("not tried")
	if cell.Guarded { // the apostrophe may be the quote of a text
		out, notes, err = toCEL("'" + cell.Text)
	}
	if err != nil {
		out, notes, err = toCEL(cell.Text)
	}
	var syntax *xpath.SyntaxError
	var none *xpath.UntranslatableError
	switch {
	case errors.As(err, &syntax):
		e.item(base, Error, "expression_invalid", "%s", syntax.Error())
	case errors.As(err, &none):
		level, detail := Warning, "It is left out."
		if base == "calculation" {
			level, detail = Error, "A calculation cannot be left out."
		}
		e.item(base, level, "expression_not_translated", "The expression cannot be translated: %s. %s", none.Why, detail)
	case err == nil:
		for _, n := range notes {
			e.item(base, Note, "expression_changed", "%s", n)
		}
		return out
	}
	return ""
}

func (im *importer) required(e *entry, q *form.Question, want string, p place) {
	if grouped(q) {
		if e.get("required") != "" {
			im.ignored(e, "required")
		}
		return
	}
	if q.Required.When != "" && e.get("required") == want {
		return
	}
	if yes, ok := form.YesNo(e.get("required")); ok {
		if q.Required.When != "" {
			e.item("required", Warning, "changed", "The condition was changed; the column hearth_required is left out.")
		}
		q.Required = form.Required{Always: yes}
		return
	}
	q.Required.Always = false
	im.condition(e, "required", want, &q.Required.When, p)
}

// constraint keeps the bounds we kept as long as the cell has them.
func (im *importer) constraint(e *entry, q *form.Question, want string, p place) {
	if !form.KindOf(q.Type).Asked() {
		if e.get("constraint") != want {
			im.ignored(e, "constraint")
		}
		return
	}
	kept := q.Validation
	if !im.condition(e, "constraint", want, &q.Constraint, p) {
		return
	}
	q.Validation = form.Validation{}
	if form.KindOf(q.Type).XLSForm.Word == rangeWord {
		q.Validation = form.Validation{Min: kept.Min, Max: kept.Max, Step: kept.Step}
	} else if kept != q.Validation {
		e.item("constraint", Warning, "changed", "The constraint was changed; the bounds in hearth_ columns are left out.")
	}
}

// calculation makes a question that only shows what is calculated a calculated
// one.
func (im *importer) calculation(e *entry, q *form.Question, want string, p place) {
	calculated := form.KindOf(q.Type).Calculated
	if e.get("calculation") == want {
		if calculated && q.Calculate == "" {
			e.item("calculation", Error, "required", "The row calculates nothing.")
		}
		return
	}
	if !calculated && e.word != "hidden" && !q.ReadOnly {
		im.ignored(e, "calculation")
		return
	}
	if !calculated {
		e.item("type", Warning, "type_changed", "A value that is calculated and only looked at became a calculation.")
		*q = form.Question{ID: q.ID, Type: form.Calculate, Label: q.Label, Hint: q.Hint, Relevant: q.Relevant, PII: q.PII, Indicators: q.Indicators, BackCheckClass: q.BackCheckClass}
	}
	q.Calculate = im.translate(e, "calculation", p, xpath.Value)
}

// compile has the form check the template. What it finds is an error of the
// row it came from; a translated expression it does not take is dropped. With
// errors before, it finds those that are left.
func (im *importer) compile() {
	const rounds = 12
	for range rounds {
		_, err := form.Compile(im.t)
		if err == nil {
			return
		}
		f := fault.As(err)
		if f == nil || !im.dropAll(f.Fields) {
			im.blame(err)
			return
		}
	}
	im.report.add(Item{Level: Error, Code: "expression_invalid", Detail: "Too many expressions cannot be used."})
}

// dropAll drops the translated expressions among the problems, the last one of
// a place first; false when there are none.
func (im *importer) dropAll(fields []fault.Field) bool {
	dropped := false
	for _, f := range fields {
		for i, d := range slices.Backward(im.derived) {
			if d.given != f.Pointer {
				continue
			}
			d.drop()
			im.derived, dropped = slices.Delete(im.derived, i, i+1), true
			if d.base == "default" {
				d.at.item(d.base, Warning, "default_ignored", "The default cannot be used and is left out. %s", f.Detail)
			} else {
				d.at.item(d.base, Warning, "expression_not_translated", "The expression cannot be used here and is left out. %s", f.Detail)
			}
			break
		}
	}
	return dropped
}

// blame reports the problems of a form at the rows they come from.
func (im *importer) blame(err error) {
	f := fault.As(err)
	if f == nil {
		im.report.add(Item{Level: Error, Code: "invalid", Detail: "The template cannot be compiled."})
		return
	}
	for _, p := range f.Fields {
		e, rest := im.find(p.Pointer)
		if e == nil {
			im.report.add(Item{Sheet: "settings", Column: settingOf(rest), Level: Error, Code: p.Code, Detail: p.Detail})
			continue
		}
		base := columnOf(rest)
		if p.Code == "cycle" {
			base = "relevant"
			if e.word == "calculate" {
				base = "calculation"
			}
		}
		known := im.report.has(e.table.name, e.line, e.header(base)) || im.unbalanced && p.Code == "too_deep"
		if !known {
			e.item(base, Error, p.Code, "%s", p.Detail)
		}
	}
}

// find gives the row a pointer into the template leads to, and the rest of it.
func (im *importer) find(pointer string) (*entry, string) {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	var at *entry
	list := im.sections
	for len(parts) >= 2 && (parts[0] == "sections" && at == nil || parts[0] == "questions" && at != nil) {
		i, err := strconv.Atoi(parts[1])
		if err != nil || i >= len(list) || i < 0 {
			break
		}
		at, parts = list[i], parts[2:]
		list = at.kept
	}
	return at, strings.Join(parts, "/")
}

// columnOf is the column that a member of a question comes from.
func columnOf(member string) string {
	name, _, _ := strings.Cut(member, "/")
	switch name {
	case "id":
		return "name"
	case "title":
		return "label"
	case "label", "hint", "relevant", "required", "constraint", "default", "type":
		return name
	case "constraintMessage":
		return "constraint_message"
	case "calculate":
		return "calculation"
	case "validation":
		return "constraint"
	case "options", "rows", "questions", "other", "":
		return "type"
	}
	return "hearth_" + strings.ToLower(name)
}

func settingOf(member string) string {
	name := member[strings.LastIndexByte(member, '/')+1:]
	switch member {
	case "templateId":
		return "form_id"
	case "title":
		return "form_title"
	case "defaultLanguage":
		return "default_language"
	}
	if strings.HasPrefix(member, "validations/requiredSections") {
		name = "requiredSections"
	}
	return "hearth_" + name
}
