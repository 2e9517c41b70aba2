package xlsform

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// derived is an expression that was translated: when the form does not take it,
// it is dropped and reported.
type derived struct {
	at    *entry
	base  string
	drop  func()
	given string // pointer in the template
}

// translator turns the expressions of a workbook into those of its template.
type translator struct {
	report     *Report
	t          *form.Template
	sections   []*entry
	entity     *entry // what the form asks of twins
	files      *files
	names      *Names
	derived    []derived
	unbalanced bool // a group has no end
}

// expressions fills the expressions of the template.
func (tr *translator) expressions() {
	for i := range tr.t.Sections {
		s, e := &tr.t.Sections[i], tr.sections[i]
		at := fmt.Sprintf("/sections/%d", i)
		if e.id == s.ID && e.word == "begin_group" {
			here := place{tr.names.Section(s), at + "/relevant"}
			tr.condition(e, "relevant", tr.written().condition("relevant", s.Relevant, here.from), &s.Relevant, here)
		}
		tr.each(e, s.Questions, at)
	}
	tr.asks()
}

// written is how we would write expressions.
func (tr *translator) written() cellWriter {
	return cellWriter{names: tr.names, used: map[string]bool{}}
}

// place is what an expression is about.
type place struct {
	from    *Named
	pointer string
}

func (tr *translator) each(e *entry, qs []form.Question, at string) {
	for j := range qs {
		pointer := fmt.Sprintf("%s/questions/%d", at, j)
		tr.resolve(e.kept[j], &qs[j], pointer)
		if len(e.kept[j].kept) > 0 {
			tr.each(e.kept[j], qs[j].Questions, pointer)
		}
	}
}

// resolve compares the cells of a row with what we would write for the values
// we kept. Where they differ the cell wins.
func (tr *translator) resolve(e *entry, q *form.Question, pointer string) {
	at := tr.names.Question(q)
	ranged := q.Validation
	if e.word == rangeWord && form.KindOf(q.Type).XLSForm.Word != rangeWord {
		q.Validation = form.Validation{} // the parameters hold it, not the constraint
	}
	want := tr.written().native(q)
	tr.condition(e, "relevant", want["relevant"], &q.Relevant, place{at, pointer + "/relevant"})
	tr.required(e, q, want["required"], place{at, pointer + "/required"})
	if grouped(q) {
		e.ignored("constraint", "calculation", "choice_filter")
		tr.repeatCount(e, q, want["repeat_count"], pointer)
	} else {
		tr.constraint(e, q, want["constraint"], place{at, pointer + "/constraint"})
		if e.search != nil {
			tr.searchFilter(e, q, place{at, pointer + "/choiceFilter"})
		} else {
			tr.filtered(e, q, want["choice_filter"], place{at, pointer + "/choiceFilter"})
		}
		tr.calculation(e, q, want["calculation"], place{at, pointer + "/calculate"})
	}
	if !q.Default.IsZero() {
		tr.derived = append(tr.derived, derived{at: e, base: "default", drop: func() { q.Default = form.Value{} }, given: pointer + "/default"})
	}
	if e.word == rangeWord {
		q.Validation.Min, q.Validation.Max, q.Validation.Step = ranged.Min, ranged.Max, ranged.Step
	}
}

// condition sets a condition from a cell, unless the cell is what we would
// write for the value we kept.
func (tr *translator) condition(e *entry, base, want string, to *string, p place) bool {
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
	*to = tr.translate(e, base, p, Condition)
	tr.derive(e, base, to, p)
	return true
}

func (tr *translator) derive(e *entry, base string, to *string, p place) {
	if *to != "" {
		tr.derived = append(tr.derived, derived{at: e, base: base, drop: func() { *to = "" }, given: p.pointer})
	}
}

// translate translates a cell. What cannot be translated is reported and empty.
func (tr *translator) translate(e *entry, base string, p place, want Want) string {
	return e.attempt(base, func(text string) (string, []string, error) { return tr.names.ToCEL(text, p.from, want) })
}

// attempt translates a cell with a function and reports how it went.
func (e *entry) attempt(base string, toCEL func(text string) (cel string, notes []string, err error)) string {
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
	var syntax *SyntaxError
	var none *UntranslatableError
	switch {
	case errors.As(err, &syntax):
		e.item(base, Error, "expression_invalid", "%s", syntax.Error())
	case errors.As(err, &none) && none.file != "":
		e.item(base, Error, "missing_file", "%s", missing(none.file))
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

func (tr *translator) required(e *entry, q *form.Question, want string, p place) {
	if grouped(q) {
		if e.get("required") != "" {
			e.ignored("required")
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
	tr.condition(e, "required", want, &q.Required.When, p)
}

// constraint keeps the bounds we kept as long as the cell has them.
func (tr *translator) constraint(e *entry, q *form.Question, want string, p place) {
	if !form.KindOf(q.Type).Asked() {
		if e.get("constraint") != want {
			e.ignored("constraint")
		}
		return
	}
	kept := q.Validation
	if !tr.condition(e, "constraint", want, &q.Constraint, p) {
		return
	}
	q.Validation = form.Validation{}
	if form.KindOf(q.Type).XLSForm.Word == rangeWord {
		q.Validation = form.Validation{Min: kept.Min, Max: kept.Max, Step: kept.Step}
	} else if kept != q.Validation {
		e.item("constraint", Warning, "changed", "The constraint was changed; the bounds in hearth_ columns are left out.")
	}
}

// calculation turns a question that only shows a calculated value into a
// calculated one.
func (tr *translator) calculation(e *entry, q *form.Question, want string, p place) {
	calculated := form.KindOf(q.Type).Calculated
	if e.get("calculation") == want {
		if calculated && q.Calculate == "" {
			e.item("calculation", Error, "required", "The row calculates nothing.")
		}
		return
	}
	if !calculated && e.word != "hidden" && !q.ReadOnly {
		e.ignored("calculation")
		return
	}
	if !calculated {
		e.item("type", Warning, "type_changed", "A read-only value with a calculation became a calculation.")
		*q = form.Question{ID: q.ID, Name: q.Name, Type: form.Calculate, Label: q.Label, Hint: q.Hint, Relevant: q.Relevant, PII: q.PII, Indicators: q.Indicators, BackCheckClass: q.BackCheckClass}
	}
	q.Calculate = tr.translate(e, "calculation", p, Value)
	tree, err := parseXPath(e.get("calculation"), false)
	q.Once = err == nil && tree.kind == xCall && tree.text == "once"
}

// compile has the form check the template. What it finds is an error of the
// row it came from; a translated expression it does not take is dropped. With
// errors before, it finds those that are left.
func (tr *translator) compile() {
	const rounds = 12
	tr.t.Files = tr.files.kept()
	for range rounds {
		_, err := form.Compile(tr.t)
		if err == nil {
			return
		}
		f := fault.As(err)
		if f == nil || !tr.dropAll(f.Fields) {
			tr.blame(err)
			return
		}
	}
	tr.report.add(Item{Level: Error, Code: "expression_invalid", Detail: "Too many expressions cannot be used."})
}

// dropAll removes the translated expressions among the problems, the last one
// of a place first; false when there are none.
func (tr *translator) dropAll(fields []fault.Field) bool {
	dropped := false
	for _, f := range fields {
		for i, d := range slices.Backward(tr.derived) {
			if d.given != f.Pointer {
				continue
			}
			d.drop()
			tr.derived, dropped = slices.Delete(tr.derived, i, i+1), true
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
func (tr *translator) blame(err error) {
	f := fault.As(err)
	if f == nil {
		tr.report.add(Item{Level: Error, Code: "invalid", Detail: "The template cannot be compiled."})
		return
	}
	for _, p := range f.Fields {
		e, rest := tr.find(p.Pointer)
		if member, ok := strings.CutPrefix(p.Pointer, "/entity/"); ok && tr.entity != nil {
			tr.entity.item(entityColumn(member), Error, p.Code, "%s", p.Detail)
			continue
		}
		if e == nil {
			tr.report.add(Item{Sheet: "settings", Column: settingOf(rest), Level: Error, Code: p.Code, Detail: p.Detail})
			continue
		}
		base := columnOf(rest)
		if p.Code == "cycle" {
			base = "relevant"
			if e.word == "calculate" {
				base = "calculation"
			}
		}
		known := tr.report.has(e.table.name, e.line, e.header(base)) || tr.unbalanced && p.Code == "too_deep"
		if !known {
			e.item(base, Error, p.Code, "%s", p.Detail)
		}
	}
}

// find gives the row a pointer into the template leads to, and the rest of it.
func (tr *translator) find(pointer string) (*entry, string) {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	var at *entry
	list := tr.sections
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
	case "choiceFilter":
		return "choice_filter"
	case "saveTo":
		return "save_to"
	case "options", "optionsFrom", "rows", "questions", "other", "list", "":
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
