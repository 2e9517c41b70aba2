package xlsform

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Write writes a version of a template as an XLSForm workbook; 0 means no
// version. form.Compile must accept the template. The sheet hearth_notes lists
// what other programs will see differently. The fault TEMPLATE_EXPORT_TOO_LARGE
// means that a text does not fit into a cell.
func Write(w io.Writer, t *form.Template, version int) error {
	e := &exporter{t: t, cellWriter: cellWriter{names: NewNames(t), used: map[string]bool{}}, def: defaultLanguage(t), lists: map[string]string{}, taken: map[string]bool{booleanList: true}, counted: map[string]bool{}}
	e.lost = e.note
	e.sections()
	e.settings(version)
	entities := e.entity()
	meta := e.metaRows()
	sheets := []page{{"survey", append(meta, e.survey...), surveyOrder}, {"choices", e.choices, append(slices.Clone(choicesOrder), e.columns...)}, {"settings", []cells{e.set}, settingsOrder}}
	if len(entities) > 0 {
		sheets = append(sheets, page{"entities", entities, entitiesOrder})
	}
	if len(e.notes.Items) > 0 {
		sheets = append(sheets, page{notesSheet, e.noteRows(len(meta)), notesOrder})
	}
	var names []string
	for _, s := range sheets {
		names = append(names, s.name)
	}
	book, err := sheet.NewBook(w, names...)
	if err != nil {
		return err
	}
	for _, s := range sheets {
		if err := book.Sheet(); err != nil {
			return err
		}
		if err := writeSheet(book, e.headers(s.rows, s.order), s.rows); err != nil {
			if at := sheet.AsError(err); at != nil {
				return fault.New(fault.Unprocessable, "TEMPLATE_EXPORT_TOO_LARGE", "The template does not fit a workbook: "+at.Detail).Wrap(err)
			}
			return err
		}
	}
	return book.Close()
}

// page is a sheet in the form in which it is written.
type page struct {
	name  string
	rows  []cells
	order []string // of the columns
}

// cells are the cells of a row by header.
type cells map[string]string

func writeSheet(book *sheet.BookWriter, headers []string, rows []cells) error {
	if err := book.Row(headers...); err != nil {
		return err
	}
	for _, r := range rows {
		line := make([]string, len(headers))
		for i, h := range headers {
			line[i] = r[h]
		}
		if err := writeRow(book, line); err != nil {
			return err
		}
	}
	return nil
}

// writeRow writes a row. Negative numbers are written as numbers: as texts they
// would begin like a formula and get an apostrophe, which is not part of a
// default.
func writeRow(book *sheet.BookWriter, line []string) error {
	if !slices.ContainsFunc(line, negative) {
		return book.Row(line...)
	}
	values := make([]jsontext.Value, len(line))
	for i, text := range line {
		switch {
		case negative(text):
			values[i] = jsontext.Value(text)
		case text != "":
			quoted, err := jsontext.AppendQuote(nil, text)
			if err != nil {
				return fmt.Errorf("quote cell: %w", err)
			}
			values[i] = quoted
		}
	}
	return book.Values(values...)
}

// negative reports whether a text is a negative number that a spreadsheet shows
// unchanged.
func negative(text string) bool {
	const digits = 15 // that spreadsheets keep
	if !strings.HasPrefix(text, "-") || len(text) > digits {
		return false
	}
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && f < 0 && decimal(f) == text && !strings.Contains(text, "e")
}

// The columns in their order. Those at the beginning are always there.
var (
	surveyOrder = []string{
		"type", "name", "label", "hint", "required", "relevant", "constraint", "constraint_message", "calculation", "default", "read_only", "parameters", "appearance", "repeat_count", "choice_filter", "save_to",
		"hearth_type", "hearth_name", "hearth_label", "hearth_value", "hearth_flag", "hearth_required", "hearth_relevant", "hearth_constraint", "hearth_calculate", "hearth_once", "hearth_choiceFilter", "hearth_default",
		"hearth_min", "hearth_max", "hearth_step", "hearth_regex", "hearth_maxLength", "hearth_minSelections", "hearth_maxSelections", "hearth_minRepeats", "hearth_maxRepeats",
		"hearth_unit", "hearth_units", "hearth_dontKnow", "hearth_refuse", "hearth_pii", "hearth_indicators", "hearth_backCheckClass", "hearth_exclusive", "hearth_score",
	}
	choicesOrder  = []string{"list_name", "name", "label", "hearth_value", "hearth_label", "hearth_exclusive", "hearth_score"}
	settingsOrder = []string{
		"form_title", "form_id", "version", "default_language", "allow_choice_duplicates", "hearth_format", "hearth_title", "hearth_description", "hearth_stage", "hearth_defaultLanguage", "hearth_languages",
		"hearth_requiredSections", "hearth_completionThreshold", "hearth_consentOptional", "hearth_files", "hearth_reviewIntervalDays", "hearth_metadata", "hearth_metadata2", "hearth_metadata3", "hearth_metadata4",
	}
)

const (
	always      = 3   // columns every sheet has, even empty
	formatWord  = "1" // of hearth_format
	booleanList = "hearth_boolean"
	alwaysWord  = "always!" // of hearth_required in a group, which XLSForm cannot require; it is no CEL
	chunk       = 30_000    // characters of a long text in one cell
)

// headers are the columns that rows have, in order; a text has one for each
// language.
func (e *exporter) headers(rows []cells, order []string) []string {
	used := map[string]bool{}
	for _, r := range rows {
		for h, text := range r {
			used[h] = used[h] || text != ""
		}
	}
	var out []string
	for i, h := range order {
		var languages []string
		for _, tag := range e.tags() {
			if l := h + "::" + languageHeader(tag); used[l] {
				languages = append(languages, l)
			}
		}
		if used[h] || i < always && len(languages) == 0 {
			out = append(out, h)
		}
		out = append(out, languages...)
	}
	return out
}

// exporter makes the rows of a workbook.
type exporter struct {
	cellWriter
	t       *form.Template
	def     string
	survey  []cells
	choices []cells
	set     cells
	lists   map[string]string // options as JSON to the name of their list
	taken   map[string]bool   // names of lists
	counted map[string]bool   // names of the rows that ask how many
	columns []string          // of the sheet choices, for filters
	twice   bool              // a list has a choice in several rows
	notes   Report
	allTags []string
}

// tags are the languages of all texts, the default one first.
func (e *exporter) tags() []string {
	if e.allTags == nil {
		e.allTags = Tags(e.t)
	}
	return e.allTags
}

// Tags returns the languages of all texts of a template, the default one first.
// Texts without a language do not count.
func Tags(t *form.Template) []string {
	found := map[string]bool{}
	eachText(t, func(t form.Text) {
		for tag := range t {
			found[tag] = tag != ""
		}
	})
	delete(found, "")
	tags := []string{}
	for _, tag := range append([]string{t.Language()}, t.Languages...) {
		if found[tag] {
			tags = append(tags, tag)
			delete(found, tag)
		}
	}
	return append(tags, slices.Sorted(maps.Keys(found))...)
}

// eachText visits every text of a template.
func eachText(t *form.Template, visit func(form.Text)) {
	visit(t.Title)
	visit(t.Description)
	var questions func([]form.Question)
	questions = func(qs []form.Question) {
		for _, q := range qs {
			visit(q.Label)
			visit(q.Hint)
			visit(q.ConstraintMessage)
			for _, o := range append(slices.Clone(q.Options), q.Rows...) {
				visit(o.Label)
			}
			questions(q.Questions)
		}
	}
	for _, s := range t.Sections {
		visit(s.Title)
		visit(s.Hint)
		questions(s.Questions)
	}
}

func (c cells) put(header, text string) {
	if text != "" {
		c[header] = text
	}
}

func (c cells) text(base string, t form.Text) {
	for tag, s := range t {
		if tag == "" {
			c.put(base, s)
		} else {
			c.put(base+"::"+languageHeader(tag), s)
		}
	}
}

// label writes a label. XLSForm requires one; a name replaces a missing one.
func (c cells) label(t form.Text, name string) {
	c.text("label", t)
	if len(t) == 0 {
		c["label"], c["hearth_label"] = name, "none"
	}
}

func (c cells) flag(header string, on bool) {
	if on {
		c[header] = "true"
	}
}

func (c cells) count(header string, n int) {
	if n != 0 {
		c[header] = strconv.Itoa(n)
	}
}

func (c cells) number(header string, f *float64) {
	if f != nil {
		c[header] = decimal(*f)
	}
}

func (e *exporter) add(c cells) { e.survey = append(e.survey, c) }

func (e *exporter) sections() {
	for i := range e.t.Sections {
		s := &e.t.Sections[i]
		c := cells{"type": "begin_group", "name": s.ID}
		c.text("label", s.Title)
		c.text("hint", s.Hint)
		c.put("relevant", e.condition("relevant", s.Relevant, e.names.Section(s)))
		c.put("hearth_relevant", s.Relevant)
		c.put("hearth_flag", s.Flag)
		e.add(c)
		e.questions(s.Questions)
		e.add(cells{"type": "end_group", "name": s.ID})
	}
}

func (e *exporter) questions(qs []form.Question) {
	for i := range qs {
		q := &qs[i]
		counter := e.counter(q)
		row := e.question(q)
		row.put("repeat_count", counter)
		e.add(row)
		switch k := form.KindOf(q.Type); {
		case k.Rows:
			e.matrix(q)
		case k.Units:
			e.quantity(q)
		default:
			e.questions(q.Questions)
		}
		if begun, ok := strings.CutPrefix(row["type"], beginWord); ok {
			e.add(cells{"type": endWord + begun, "name": q.ID})
		}
	}
}

// question is the row of a question.
func (e *exporter) question(q *form.Question) cells {
	k, word := form.KindOf(q.Type), wordOf(q)
	c := cells{"type": word, "name": q.ID}
	switch {
	case k.Options && !k.Rows:
		if q.OptionsFrom != nil {
			c["type"] += "_from_file " + q.OptionsFrom.File
		} else {
			c["type"] += " " + e.list(q.ID, q.Options, q.Other)
		}
		if q.Other {
			c["type"] += " or_other"
		}
	case k.CEL == cel.Boolean:
		c["type"] += " " + e.booleans()
	case q.List != "":
		c["type"] = "select_one_from_file " + q.List + ".csv"
	}
	if slices.Contains(k.XLSForm.Marks, word) && !slices.Contains(k.XLSForm.Reads, word) {
		c["hearth_type"] = string(q.Type)
	}
	if grouped(q) || k.Calculated {
		c.text("label", q.Label)
	} else {
		c.label(q.Label, q.ID)
	}
	c.text("hint", q.Hint)
	c.text("constraint_message", q.ConstraintMessage)
	for h, text := range e.native(q) {
		c.put(h, text)
	}
	e.extra(c, q)
	return c
}

// extra fills the columns that XLSForm does not have.
func (e *exporter) extra(c cells, q *form.Question) {
	c.put("hearth_required", q.Required.When)
	if q.Required.Always && grouped(q) {
		c["hearth_required"] = alwaysWord
	}
	c.put("hearth_relevant", q.Relevant)
	c.put("hearth_constraint", q.Constraint)
	c.put("hearth_calculate", q.Calculate)
	c.put("hearth_choiceFilter", q.ChoiceFilter)
	c.put("hearth_default", string(q.Default.Value))
	c.put("save_to", q.SaveTo)
	v := q.Validation
	c.number("hearth_min", v.Min)
	c.number("hearth_max", v.Max)
	c.number("hearth_step", v.Step)
	c.put("hearth_regex", v.Regex)
	c.count("hearth_maxLength", v.MaxLength)
	c.count("hearth_minSelections", v.MinSelections)
	c.count("hearth_maxSelections", v.MaxSelections)
	c.count("hearth_minRepeats", q.MinRepeats)
	c.count("hearth_maxRepeats", q.MaxRepeats)
	c.put("hearth_name", q.Name)
	c.put("hearth_unit", q.Unit)
	c.put("hearth_units", joinList(q.Units))
	c.flag("hearth_once", q.Once)
	c.flag("hearth_dontKnow", q.DontKnow)
	c.flag("hearth_refuse", q.Refuse)
	c.put("hearth_pii", string(q.PII))
	c.put("hearth_indicators", joinList(q.Indicators))
	c.count("hearth_backCheckClass", q.BackCheckClass)
}

// matrix writes a choice for each row.
func (e *exporter) matrix(q *form.Question) {
	list := e.list(q.ID, q.Options, false)
	required := e.required(q)
	names := RowNames(q.Rows)
	for i, o := range q.Rows {
		name := names[i]
		c := cells{"type": "select_one " + list, "name": name}
		c.put("required", required)
		if name != o.Value {
			c["hearth_value"] = o.Value
		}
		c.label(o.Label, o.Value)
		c.flag("hearth_exclusive", o.Exclusive)
		c.number("hearth_score", o.Score)
		e.add(c)
	}
}

// quantity writes a number and its unit.
func (e *exporter) quantity(q *form.Question) {
	required := e.required(q)
	value := cells{"type": "decimal", "name": "value"}
	value.label(q.Label, q.ID)
	value.put("required", required)
	value.put("constraint", strings.Join(e.bounds(q.Validation), " and "))
	delete(value, "hearth_label")
	e.add(value)
	if len(q.Units) == 0 {
		e.add(cells{"type": "calculate", "name": "unit", "calculation": Quote(q.Unit)})
		return
	}
	options := make([]form.Option, len(q.Units))
	for i, u := range q.Units {
		options[i] = form.Option{Value: u}
	}
	unit := cells{"type": "select_one " + e.list(q.ID+"_unit", options, false), "name": "unit", "label": "Unit"}
	unit.put("required", required)
	e.add(unit)
}

// list is the name of the list that has these options, with the cells a filter
// needs; it is written when it is new. Other programs add the answer in other
// words to the list, so that a question without it needs another one.
func (e *exporter) list(id string, options []form.Option, other bool) string {
	text, err := json.Marshal([]any{options, other}, json.Deterministic(true))
	if err != nil {
		text = []byte(id) // options always have JSON
	}
	if name, ok := e.lists[string(text)]; ok {
		return name
	}
	name := id
	for i := 2; e.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", id, i)
	}
	e.taken[name], e.lists[string(text)] = true, name
	_, names := Spell(options)
	for _, o := range options {
		c := cells{"list_name": name, "name": o.Value}
		if spelled, ok := names[o.Value]; ok {
			c["name"], c["hearth_value"] = spelled, o.Value
		}
		c.label(o.Label, o.Value)
		c.flag("hearth_exclusive", o.Exclusive)
		c.number("hearth_score", o.Score)
		e.twice = e.twice || len(o.Data) > 1
		for i := range max(len(o.Data), 1) {
			e.choices = append(e.choices, e.withData(c, o.Data, i))
		}
	}
	return name
}

// withData is the row of a choice with what filters look at.
func (e *exporter) withData(c cells, data []map[string]string, i int) cells {
	if i >= len(data) {
		return c
	}
	out := maps.Clone(c)
	for _, column := range slices.Sorted(maps.Keys(data[i])) {
		out.put(column, data[i][column])
		if !slices.Contains(e.columns, column) {
			e.columns = append(e.columns, column)
		}
	}
	return out
}

// yesNo are the two answers of a boolean question, by language.
var yesNo = map[string][2]string{"": {"Yes", "No"}, "en": {"Yes", "No"}, "sw": {"Ndiyo", "Hapana"}, "fr": {"Oui", "Non"}, "pt": {"Sim", "Não"}, "es": {"Sí", "No"}}

// booleans is the list of yes and no.
func (e *exporter) booleans() string {
	if e.lists[booleanList] != "" {
		return booleanList
	}
	e.lists[booleanList] = booleanList
	for i, value := range []string{"true", "false"} {
		c := cells{"list_name": booleanList, "name": value}
		for _, tag := range e.tags() {
			words, ok := yesNo[tag]
			if !ok {
				words = yesNo[""]
			}
			c["label::"+languageHeader(tag)] = words[i]
		}
		if len(e.tags()) == 0 {
			c["label"] = yesNo[""][i]
		}
		e.choices = append(e.choices, c)
	}
	return booleanList
}
