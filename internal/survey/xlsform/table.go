package xlsform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Limits of a workbook. A template has at most 1,000 questions; lists of
// choices that several questions share come once.
const (
	maxRows    = 20_000   // of a sheet
	maxColumns = 300      // of a sheet
	maxText    = 16 << 20 // bytes of all cells
)

// column is a column of a sheet.
type column struct {
	header string // as the file has it
	base   string // lower case, with underscores; "" is left out
	tag    string // language of a text; "" is the default one
}

// row is a row of a sheet.
type row struct {
	*table
	line  int
	cells []sheet.Cell
}

// table is a sheet with its header.
type table struct {
	name    string
	columns []column
	at      map[string]int // by base and tag
	tags    []string       // languages in the order of their first column
	rows    []*row
	report  *Report
}

// item reports something about a place in the sheet.
func (t *table) item(line int, header string, level Level, code, detail string) {
	t.report.add(Item{Sheet: t.name, Row: line, Column: header, Level: level, Code: code, Detail: detail})
}

// has reports whether the sheet has a column without language.
func (t *table) has(base string) bool {
	_, ok := t.at[key(base, "")]
	return ok
}

// header is the name of a column as the file has it.
func (t *table) header(base string) string {
	for _, c := range t.columns {
		if c.base == base {
			return c.header
		}
	}
	return base
}

func key(base, tag string) string { return base + "\x00" + tag }

// cell is a cell of a column without language.
func (r *row) cell(base string) sheet.Cell {
	i, ok := r.at[key(base, "")]
	if !ok || i >= len(r.cells) {
		return sheet.Cell{}
	}
	return r.cells[i]
}

// named is a cell by the name of its column, or by that of its header, which a
// language may be a part of.
func (r *row) named(name string) (string, bool) {
	for i, c := range r.columns {
		if c.base == name && c.tag == "" || strings.EqualFold(c.header, name) {
			if i < len(r.cells) {
				return strings.TrimSpace(r.cells[i].Text), true
			}
			return "", true
		}
	}
	return "", false
}

// get is the text of a cell without space around it.
func (r *row) get(base string) string { return strings.TrimSpace(r.cell(base).Text) }

// text is a text in all languages its column has. A column without language is
// the default one, unless there are others.
func (r *row) text(base, def string) form.Text {
	var t form.Text
	for i, c := range r.columns {
		if c.base != base || i >= len(r.cells) || strings.TrimSpace(r.cells[i].Text) == "" {
			continue
		}
		if t == nil {
			t = form.Text{}
		}
		t[c.tag] = r.cells[i].Text
	}
	if plain, ok := t[""]; ok && len(t) > 1 {
		delete(t, "")
		if t[def] == "" {
			t[def] = plain
		}
	}
	return t
}

// item reports something about a cell of the row.
func (r *row) item(base string, level Level, code, format string, args ...any) {
	r.table.item(r.line, r.header(base), level, code, fmt.Sprintf(format, args...))
}

var errTooMuch = errors.New("the workbook is too large")

// reader reads the sheets of a workbook.
type reader struct {
	book   *sheet.Book
	report *Report
	size   int
	broken bool // a sheet could not be read to its end
}

// table reads a sheet by name, nil when there is none.
func (r *reader) table(name string) (*table, error) {
	index := -1
	for i, s := range r.book.Sheets() {
		if !strings.EqualFold(strings.TrimSpace(s), name) {
			continue
		}
		if index >= 0 {
			r.report.add(Item{Sheet: name, Level: Error, Code: "duplicate_sheet", Detail: "The workbook has two sheets of this name."})
			r.broken = true
			return nil, nil
		}
		index = i
	}
	if index < 0 {
		return nil, nil
	}
	t := &table{name: name, at: map[string]int{}, report: r.report}
	err := r.book.Rows(index, func(line int64, cells []sheet.Cell) error {
		if t.columns == nil {
			return t.readHeader(int(line), cells)
		}
		return r.row(t, int(line), cells)
	})
	if e := sheet.AsError(err); e != nil {
		t.item(int(e.Line), "", Error, e.Code, e.Detail)
		r.broken, err = true, nil
	} else if errors.Is(err, errTooMuch) {
		r.broken, err = true, nil
	}
	return t, err
}

// row keeps a row. Cells that cannot be read are reported.
func (r *reader) row(t *table, line int, cells []sheet.Cell) error {
	kept := &row{table: t, line: line, cells: slices.Clone(cells[:min(len(cells), len(t.columns))])}
	some := false
	for i, c := range kept.cells {
		at := t.columns[i]
		r.size += len(c.Text) + 64
		some = some || strings.TrimSpace(c.Text) != ""
		switch {
		case at.base == "":
		case c.Bad != "":
			t.item(line, at.header, Error, "unreadable_cell", c.Bad)
		case c.Computed:
			t.item(line, at.header, Note, "formula", "The cell is a formula. Its value when the file was saved is used.")
		}
	}
	if len(t.rows) == maxRows || r.size > maxText {
		t.item(line, "", Error, "too_large", fmt.Sprintf("The workbook is too large: at most %d rows in a sheet, and %d bytes of text in all.", maxRows, maxText))
		return errTooMuch
	}
	if some {
		t.rows = append(t.rows, kept)
	}
	return nil
}

// aliases are other names of columns.
var aliases = map[string]string{
	"relevance": "relevant", "readonly": "read_only", "calculate": "calculation", "constraint_msg": "constraint_message", "constraintmsg": "constraint_message",
	"required_msg": "required_message", "requiredmsg": "required_message", "repeatcount": "repeat_count", "caption": "label", "list": "list_name", "list name": "list_name",
	"choicefilter": "choice_filter", "bind::entities:saveto": "save_to", "bind::relevant": "relevant", "bind::constraint": "constraint", "bind::required": "required", "bind::readonly": "read_only",
	"bind::calculate": "calculation", "bind::jr:constraintmsg": "constraint_message", "bind::jr:requiredmsg": "required_message", "jr:count": "repeat_count",
	"image": "media::image", "audio": "media::audio", "video": "media::video", "big-image": "media::big-image", "form_name": "form_title", "title": "form_title", "set_form_title": "form_title", "set_form_id": "form_id",
}

// translated are the columns that may have a language.
var translated = []string{
	"label", "hint", "guidance_hint", "constraint_message", "required_message", "media::image", "media::audio", "media::video", "media::big-image", "hearth_title", "hearth_description",
}

// readHeader understands the names of the columns.
func (t *table) readHeader(line int, cells []sheet.Cell) error {
	t.columns = []column{}
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1].Text) == "" && cells[len(cells)-1].Bad == "" {
		cells = cells[:len(cells)-1] // styled, with no name
	}
	if len(cells) > maxColumns {
		t.item(line, "", Error, "too_many_columns", fmt.Sprintf("A sheet has at most %d columns.", maxColumns))
		return errTooMuch
	}
	for i, c := range cells {
		col := t.parseHeader(line, strings.TrimSpace(c.Text))
		t.columns = append(t.columns, col)
		if col.base == "" {
			continue
		}
		k := key(col.base, col.tag)
		if _, twice := t.at[k]; twice {
			t.item(line, col.header, Error, "duplicate_column", "The column appears twice.")
			continue
		}
		t.at[k] = i
		if col.tag != "" && !slices.Contains(t.tags, col.tag) {
			t.tags = append(t.tags, col.tag)
		}
	}
	return nil
}

// parseHeader takes the name of a column apart: label::English (en).
func (t *table) parseHeader(line int, header string) column {
	name := strings.ToLower(strings.Join(strings.Fields(header), "_"))
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	if t.name == "choices" && name == "value" {
		name = "name"
	}
	if t.name == "entities" && name == "dataset" {
		name = "list_name"
	}
	if base, lang := splitLanguage(header, translated...); lang != "" {
		return t.language(line, header, base, lang)
	}
	return column{header: header, base: name}
}

// splitLanguage splits a header into one of the bases and a language. Old forms
// use one colon.
func splitLanguage(header string, bases ...string) (base, lang string) {
	for _, b := range bases {
		for _, prefix := range []string{b, strings.ReplaceAll(b, "_", " "), strings.TrimPrefix(b, "media::")} {
			if len(header) <= len(prefix) || !strings.EqualFold(header[:len(prefix)], prefix) || header[len(prefix)] != ':' {
				continue
			}
			if lang := strings.Trim(header[len(prefix):], ": "); lang != "" {
				return b, lang
			}
		}
	}
	return "", ""
}

func (t *table) language(line int, header, base, lang string) column {
	tag, ok := languageTag(lang)
	if !ok {
		t.item(line, header, Error, "unknown_language", "The language has no code. Write it in brackets, as in label::Kiswahili (sw).")
		return column{header: header}
	}
	return column{header: header, base: base, tag: tag}
}
