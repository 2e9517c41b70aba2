package xlsform

import (
	"io"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Read reads an XLSForm workbook of size bytes, and the files it names from
// those that accompany it. The report lists everything that could not be
// converted exactly. The fault TEMPLATE_IMPORT_INVALID names every error with
// its sheet, row and column; there is no template then. form.Compile accepts
// every template that is returned.
func Read(r io.ReaderAt, size int64, beside Beside) (*form.Template, *Report, error) {
	report := &Report{Items: []Item{}}
	im := &importer{report: report, lists: map[string][]choice{}, alias: map[string]string{}, meta: map[string]string{}, t: &form.Template{}}
	im.files = &files{beside: beside, report: report, read: map[string]*form.DataFile{}}
	if err := im.open(r, size); err != nil {
		return nil, report, err
	}
	im.readSettings()
	im.include()
	im.readChoices()
	readEntities(im)
	im.readSurvey()
	if !im.stopped {
		im.translate()
	}
	im.files.unused()
	if err := report.err(); err != nil {
		return nil, report, err
	}
	for i, sec := range im.t.Sections {
		report.Sections = append(report.Sections, Made{sec.ID, im.sections[i].line, len(sec.Questions)})
	}
	return im.t, report, nil
}

// FormID is the id in a workbook, "" when it has none or cannot be read.
func FormID(r io.ReaderAt, size int64) string {
	im := &importer{report: &Report{}}
	if im.open(r, size) != nil || im.settings == nil || len(im.settings.rows) == 0 {
		return ""
	}
	im.set = im.settings.rows[0]
	return im.templateID(im.set.get("form_id"))
}

// importer turns a workbook into a template.
type importer struct {
	report                    *Report
	survey, choices, settings *table
	external                  *table // more choices, for select_one_external
	entities                  *table // what the form asks of twins
	entity                    *entry // the one row of it; nil without
	set                       *row   // the one row of settings; nil without
	ours                      bool   // we wrote the workbook
	t                         *form.Template
	def                       string
	lists                     map[string][]choice
	files                     *files
	included                  []*table          // choices of workbooks that this one includes
	alias                     map[string]string // names that became other ids
	meta                      map[string]string // names of metadata rows and their CEL
	sections                  []*entry
	count                     int  // questions so far
	unrolled                  int  // rows of loops so far
	offered                   int  // choices of all questions so far
	consented                 bool // the form has a consent question
	stopped                   bool // nothing after it can be checked
	unbalanced                bool // a group has no end
}

// choice is an option with its row.
type choice struct {
	form.Option
	*row
}

// maxOffered is how many choices all questions of a workbook have together.
const maxOffered = 50_000

// open reads the sheets.
func (im *importer) open(r io.ReaderAt, size int64) error {
	book, err := sheet.OpenBook(r, size)
	if e := sheet.AsError(err); e != nil {
		im.report.add(Item{Row: int(e.Line), Level: Error, Code: e.Code, Detail: e.Detail})
		return im.report.err()
	} else if err != nil {
		return err
	}
	in := &reader{book: book, report: im.report}
	for _, s := range []struct {
		name string
		to   **table
	}{{"survey", &im.survey}, {"choices", &im.choices}, {"external_choices", &im.external}, {"settings", &im.settings}, {"entities", &im.entities}} {
		t, err := in.table(s.name)
		if err != nil {
			return err
		}
		*s.to = t
	}
	if im.survey == nil && im.report.errors == 0 {
		im.report.add(Item{Sheet: "survey", Level: Error, Code: "missing_sheet", Detail: "The workbook has no sheet survey. It is not an XLSForm."})
	}
	const most = 20 // other sheets that are named
	for i, name := range book.Sheets() {
		known := slices.ContainsFunc([]string{"survey", "choices", "external_choices", "settings", "entities", notesSheet}, func(s string) bool { return strings.EqualFold(s, strings.TrimSpace(name)) })
		if !known && i < most {
			im.report.add(Item{Sheet: shorten(name), Level: Note, Code: "sheet_ignored", Detail: "The sheet is not read."})
		}
	}
	if im.survey == nil || in.broken {
		return im.report.err()
	}
	return nil
}

// unknown reports the columns of a sheet that nothing reads, each once.
func (im *importer) unknown(t *table, known []string) {
	for i, c := range t.columns {
		if c.base == "" || slices.Contains(known, c.base) {
			continue
		}
		for _, r := range t.rows {
			if i < len(r.cells) && strings.TrimSpace(r.cells[i].Text) != "" {
				t.item(r.line, c.header, Note, "column_ignored", "The column is not carried over.")
				break
			}
		}
	}
}

// folded are names of columns as the reader has them.
func folded(names ...[]string) []string {
	var out []string
	for _, list := range names {
		for _, n := range list {
			out = append(out, strings.ToLower(n))
		}
	}
	return out
}

// readSettings reads the one row of settings.
func (im *importer) readSettings() {
	t := im.t
	if im.settings != nil && len(im.settings.rows) > 0 {
		im.set = im.settings.rows[0]
		im.ours = im.set.get("hearth_format") == formatWord
		known := folded(settingsOrder)
		if !im.ours { // ours is the number of a version, which the server decides
			known = slices.DeleteFunc(known, func(c string) bool { return c == "version" })
		}
		im.unknown(im.settings, known)
		if len(im.settings.rows) > 1 {
			im.settings.item(im.settings.rows[1].line, "", Warning, "row_ignored", "Only the first row of the settings is read.")
		}
	} else {
		im.set = &row{table: &table{name: "settings", at: map[string]int{}, report: im.report}}
	}
	im.readLanguages()
	t.TemplateID = im.templateID(im.set.get("form_id"))
	im.readTitle()
	t.Description = im.set.text("hearth_description", im.def)
	t.Stage = im.set.get("hearth_stage")
	t.Validations.RequiredSections = im.set.words("hearth_requiredSections")
	if f := im.set.float("hearth_completionThreshold"); f != nil {
		t.Validations.CompletionThreshold = *f
	}
	t.Validations.ConsentOptional = im.set.yes("hearth_consentOptional")
	for _, name := range im.set.words("hearth_files") {
		if _, here := im.files.find(name); !here {
			im.set.item("hearth_files", Error, "missing_file", "%s", missing(name))
		}
	}
	t.ReviewIntervalDays = im.set.count("hearth_reviewIntervalDays")
	metadata := ""
	for _, c := range []string{"hearth_metadata", "hearth_metadata2", "hearth_metadata3", "hearth_metadata4"} {
		metadata += im.set.cell(c).Text
	}
	if v := im.set.json("hearth_metadata", metadata); v != nil {
		t.Metadata = form.Object{Value: v}
	}
}

// readLanguages finds the default language, and the languages of the columns.
func (im *importer) readLanguages() {
	t, given := im.t, im.set.get("default_language")
	var tags []string
	for _, s := range []*table{im.survey, im.choices} {
		for i := 0; s != nil && i < len(s.tags); i++ {
			if !slices.Contains(tags, s.tags[i]) {
				tags = append(tags, s.tags[i])
			}
		}
	}
	kept := im.set.ours("hearth_defaultLanguage")
	tag, ok := "", true
	if given != "" {
		tag, ok = languageTag(given)
	}
	switch {
	case im.ours && (given == "" && kept == "" || kept == tag || kept == "" && tag == "en"):
		t.DefaultLanguage = kept
	case !ok && strings.EqualFold(given, "default"):
	case !ok:
		im.set.item("default_language", Error, "unknown_language", "The language has no code. Write it in brackets, as in Kiswahili (sw).")
	case given == "" && len(tags) > 0 && !im.survey.has("label"):
		t.DefaultLanguage = tags[0]
		im.set.item("default_language", Note, "default_language", "The form names no default language; its first language is used: %s.", tags[0])
	default:
		t.DefaultLanguage = tag
	}
	im.def = defaultLanguage(t)
	if t.Languages = im.set.words("hearth_languages"); !im.ours {
		t.Languages = tags
	}
}

// templateID makes an id of the id of a form.
func (im *importer) templateID(id string) string {
	const most = 100
	out := strings.Map(func(r rune) rune {
		if wordRune(r) || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, id)
	out = strings.TrimLeft(out, "-._")
	out = out[:min(len(out), most)]
	if out != id {
		im.set.item("form_id", Warning, "id_changed", "The id became %s.", out)
	}
	return out
}

// readTitle reads the title. The value we kept counts unless somebody has
// changed the title.
func (im *importer) readTitle() {
	title := im.set.cell("form_title").Text
	kept := im.set.text("hearth_title", im.def)
	switch {
	case kept != nil && kept.In(im.def, im.def) == title:
		im.t.Title = kept
	case strings.TrimSpace(title) != "":
		if kept != nil {
			im.set.item("form_title", Warning, "changed", "The title was changed; its other languages are left out.")
		}
		im.t.Title = form.Plain(title)
	}
}

// readChoices reads the lists of options.
func (im *importer) readChoices() {
	var named []string // columns that expressions look at
	for _, r := range im.survey.rows {
		named = append(named, Columns(r.get("choice_filter"))...)
	}
	twice, _ := form.YesNo(im.set.get("allow_choice_duplicates"))
	if im.choices != nil {
		im.readLists(im.choices, "", named, twice)
	}
	if im.external != nil {
		im.readLists(im.external, externalPrefix, named, true)
	}
	for _, t := range im.included {
		im.readLists(t, "", named, twice)
	}
}

// externalPrefix begins the names of the lists of the sheet external_choices,
// which may be those of others.
const externalPrefix = "external_choices\x00"

// readLists reads the choices of a sheet. A choice that a list has twice is an
// error, unless the form says that it means it: filters offer one of them.
func (im *importer) readLists(t *table, prefix string, named []string, twice bool) {
	columns := t.dataColumns(named, im.ours)
	known := folded(choicesOrder, named)
	for i := range columns {
		known = append(known, t.columns[i].base)
	}
	im.unknown(t, known)
	type place struct{ list, value string }
	seen := map[place]bool{}
	for _, r := range t.rows {
		list, name := r.get("list_name"), r.get("name")
		switch {
		case list == "" && name == "":
			continue
		case list == "":
			r.item("list_name", Error, "required", "The choice belongs to no list.")
			continue
		case name == "":
			r.item("name", Error, "required", "The choice has no name.")
			continue
		}
		o := r.option(name, im.def)
		o.Data = r.data(columns, im.ours)
		r.checkValue(name, o.Value)
		if at := (place{list, o.Value}); seen[at] && !twice {
			r.item("name", Error, "duplicate", "The list has the choice %s twice. Write yes into the column allow_choice_duplicates of the settings if a filter tells them apart.", shorten(name))
		} else {
			seen[at] = true
			im.lists[prefix+list] = append(im.lists[prefix+list], choice{o, r})
		}
		im.references(r, "label")
	}
}

// checkValue refuses what separates the choices of an answer: a space in
// XLSForm, a semicolon in exports.
func (r *row) checkValue(name, value string) {
	switch {
	case strings.ContainsAny(name, "; \t\r\n\u00a0"):
		r.item("name", Error, "invalid", "The name of a choice may hold neither a space nor a semicolon: these separate the choices of an answer.")
	case strings.Contains(value, ";"):
		r.item("hearth_value", Error, "invalid", "The value of a choice may hold no semicolon: it separates the choices of an answer.")
	}
}

// option reads an option, or a row of a matrix.
func (r *row) option(name, def string) form.Option {
	o := form.Option{Value: name, Label: r.text("label", def), Exclusive: r.yes("hearth_exclusive"), Score: r.float("hearth_score")}
	if kept := r.cell("hearth_value").Text; kept != "" {
		o.Value = kept
	}
	if r.get("hearth_label") == "none" && len(o.Label) == 1 && o.Label[""] == o.Value {
		o.Label = nil
	}
	return o
}
