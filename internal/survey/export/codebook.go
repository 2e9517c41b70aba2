package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Separator joins several values in one cell.
const Separator = ";"

// Codebook explains the files of a survey.
type Codebook struct {
	SurveyID        string             `json:"surveyId"`
	TemplateID      string             `json:"templateId"`
	TemplateVersion int                `json:"templateVersion"`
	DefaultLanguage string             `json:"defaultLanguage" doc:"Language of plain texts."`
	Languages       []string           `json:"languages"`
	Missing         []api.CodebookCode `json:"missing" doc:"Codes that stand in place of a value."`
	Separator       string             `json:"separator" doc:"Joins several values in one cell, of the files and of this codebook as a table." example:";"`
	Columns         []Column           `json:"columns"`

	Design *api.CodebookDesign `json:"design,omitzero" doc:"How R and Stata reproduce the figures of the survey from an export with design=true."`
}

// SchemaName is the name that clients know it by.
func (Codebook) SchemaName() string { return "LayoutCodebook" }

func missingCodes() []api.CodebookCode {
	return []api.CodebookCode{
		{Code: "", Meaning: "Not asked, or not answered."},
		{Code: dontKnow, Meaning: "The respondent does not know."},
		{Code: refused, Meaning: "The respondent refuses to answer."},
	}
}

// NewCodebook makes the codebook of a form: every column of every level and
// shape, with those that describe a sample.
func NewCodebook(survey string, version int, f *form.Form, s Sample) *Codebook {
	t := f.Template()
	book := &Codebook{
		SurveyID: survey, TemplateID: t.TemplateID, TemplateVersion: version, DefaultLanguage: t.Language(), Languages: Languages(t), Missing: missingCodes(),
		Separator: Separator,
	}
	levels := map[string][]Level{}
	notes := map[string]string{}
	for _, level := range Levels() {
		l := NewLayout(LayoutConfig{Form: f, Level: level, Sample: s})
		book.Columns = flat(l.columns)
		for i := range book.Columns {
			name := book.Columns[i].Name
			levels[name] = append(levels[name], level)
			if notes[name] == "" && book.Columns[i].Note != "" {
				notes[name] = "Short of full: " + book.Columns[i].Note
			}
		}
	}
	for i := range book.Columns {
		c := &book.Columns[i]
		c.Levels, c.Note = levels[c.Name], notes[c.Name]
	}
	listFiles(t, book.Columns)
	return book
}

// maxListed is how many options a codebook lists of files in all: a form may ask
// for the same long list again and again.
const maxListed = 10_000

// listFiles gives columns the options that are in files of the template.
func listFiles(t *form.Template, columns []Column) {
	left := maxListed
	for i := range columns {
		c := &columns[i]
		if c.from == nil {
			continue
		}
		options, more := t.Listed(c.from, min(left, form.MaxOptions))
		if left -= len(options); more {
			c.Note = strings.TrimSpace(c.Note + " " + fmt.Sprintf("%s has more options than the %d that are listed.", c.from.OptionsFrom.File, len(options)))
		}
		c.Options = options
	}
}

// flat lists columns with those inside repeats.
func flat(columns []Column) []Column {
	var out []Column
	for _, c := range columns {
		inside := c.inside
		c.inside = nil
		out = append(append(out, c), flat(inside)...)
	}
	return out
}

// Languages returns the languages of a template, the default one first.
func Languages(t *form.Template) []string {
	out := []string{t.Language()}
	for _, tag := range t.Languages {
		if !slices.Contains(out, tag) {
			out = append(out, tag)
		}
	}
	return out
}

// CSV is the codebook as a table, with a column of labels for each language.
func (c *Codebook) CSV() []byte {
	var b []byte
	for _, row := range c.table(c.Languages) {
		for i, text := range row {
			if i > 0 {
				b = append(b, ',')
			}
			b = sheet.AppendCSV(b, text)
		}
		b = append(b, '\r', '\n')
	}
	return b
}

// bookRows is the codebook of a file, in one language.
func (l *Layout) bookRows() [][]string {
	t := l.cfg.Form.Template()
	c := &Codebook{DefaultLanguage: t.Language(), Columns: flat(l.columns), Missing: missingCodes()}
	listFiles(t, c.Columns)
	lang := l.cfg.Language
	if lang == "" {
		lang = c.DefaultLanguage
	}
	c.Columns = slices.DeleteFunc(c.Columns, func(c Column) bool { return !slices.Contains(c.Shapes, l.cfg.Shape) })
	for i := range c.Columns {
		c.Columns[i].Levels = []Level{l.cfg.Level}
	}
	rows := c.table([]string{lang})
	rows = append(rows, nil, []string{"missing", "meaning"})
	for _, m := range c.Missing {
		rows = append(rows, []string{m.Code, m.Meaning})
	}
	return append(rows, nil, []string{"separator", "meaning"}, []string{Separator, "It joins several values in one cell."})
}

// table is the codebook with labels in some languages.
func (c *Codebook) table(languages []string) [][]string {
	head := []string{"name", "of", "section", "question", "option", "row", "type", "unit", "options", "missing", "pii", "indicators", "shapes", "levels", "note"}
	for _, lang := range languages {
		head = append(head, "sectionTitle:"+lang, "label:"+lang, "optionLabels:"+lang)
	}
	rows := [][]string{head}
	for i := range c.Columns {
		k := &c.Columns[i]
		unit := k.Unit
		if len(k.Units) > 0 {
			unit = strings.Join(k.Units, Separator)
		}
		row := []string{
			k.Name, k.Of, k.Section, k.Question, k.Option, k.Row, k.Type, unit, k.values(), strings.Join(k.Missing, Separator), string(k.PII),
			strings.Join(k.Indicators, Separator), joined(k.Shapes), joined(k.Levels), k.Note,
		}
		for _, lang := range languages {
			row = append(row, k.Title.In(lang, c.DefaultLanguage), k.Label.In(lang, c.DefaultLanguage), k.labels(lang, c.DefaultLanguage))
		}
		rows = append(rows, row)
	}
	return rows
}

// maxOptionsText bounds the options of a column in a table, which has to fit
// the cell of a spreadsheet.
const maxOptionsText = 30_000

func (c *Column) values() string {
	var out []string
	for i := range c.Options {
		out = append(out, c.Options[i].Value)
	}
	return shorten(strings.Join(out, Separator))
}

func (c *Column) labels(lang, fallback string) string {
	var out []string
	for i := range c.Options {
		out = append(out, c.Options[i].Value+" = "+c.labelOf(&c.Options[i]).In(lang, fallback))
	}
	return shorten(strings.Join(out, Separator))
}

func shorten(s string) string {
	if r := []rune(s); len(r) > maxOptionsText {
		return string(r[:maxOptionsText]) + "…"
	}
	return s
}

func joined[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = string(w)
	}
	return strings.Join(out, Separator)
}
