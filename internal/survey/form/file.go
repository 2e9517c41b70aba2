package form

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// The limits of files.
const (
	MaxFiles     = 20      // of a template
	MaxFileBytes = 2 << 20 // of one file
	MaxFileRows  = 20_000  // of one file
	MaxAllFiles  = 4 << 20 // bytes of all files of a template

	maxFileColumns = 100
	maxFileName    = 100 // characters
)

// DataFile is a CSV file that belongs to a template: choices, or values that
// expressions look up. The document names it by the hash of its content, which
// is stored separately.
type DataFile struct {
	Name    string   `json:"name" doc:"Name of the file; expressions know it as files.villages, without .csv." example:"villages.csv"`
	SHA256  string   `json:"sha256" doc:"Hexadecimal SHA-256 of its content. Send the content with POST /v1/templates:import."`
	Columns []string `json:"columns,omitzero" doc:"Names of its columns as expressions use them. The server fills them in."`
	Rows    int      `json:"rows,omitzero" doc:"Number of its rows. The server fills it in."`

	content *content
}

// OptionsFrom says which file holds the options of a question.
type OptionsFrom struct {
	File  string `json:"file" doc:"Name of one of the files of the template." example:"villages.csv"`
	Value string `json:"value,omitzero" doc:"Column of the values; name by default." example:"name"`
	Label string `json:"label,omitzero" doc:"Column of the labels; label by default, if there is one." example:"label"`
}

// Columns returns the columns of the values and labels.
func (o OptionsFrom) Columns() (value, label string) {
	value, label = o.Value, o.Label
	if value == "" {
		value = "name"
	}
	if label == "" {
		label = "label"
	}
	return value, label
}

// content is the content of a file.
type content struct {
	bytes []byte
	rows  [][]string // of the cells that a row has; those after them are empty
	lines []int64
}

// cell is a cell by its row and column.
func (c *content) cell(row, column int) string {
	if cells := c.rows[row]; column < len(cells) {
		return cells[column]
	}
	return ""
}

// ReadFile reads a CSV file in UTF-8. The first line names the columns. The
// error is a *sheet.Error.
func ReadFile(name string, raw []byte) (*DataFile, error) {
	if len(raw) > MaxFileBytes {
		return nil, &sheet.Error{Code: "too_large", Detail: fmt.Sprintf("A file has at most %d bytes.", MaxFileBytes)}
	}
	sum := sha256.Sum256(raw)
	f := &DataFile{Name: name, SHA256: hex.EncodeToString(sum[:]), content: &content{bytes: raw}}
	taken := map[string]bool{}
	err := sheet.Cells(bytes.NewReader(raw), func(line int64, cells []string) error {
		switch {
		case f.Columns == nil:
			if len(cells) > maxFileColumns {
				return &sheet.Error{Line: line, Code: "too_many_columns", Detail: fmt.Sprintf("A file has at most %d columns.", maxFileColumns)}
			}
			for _, c := range cells {
				f.Columns = append(f.Columns, unused(Word(c), taken))
			}
			return nil
		case f.Rows == MaxFileRows:
			return &sheet.Error{Line: line, Code: "too_many_rows", Detail: fmt.Sprintf("A file has at most %d rows.", MaxFileRows)}
		case len(cells) > len(f.Columns):
			return &sheet.Error{Line: line, Code: "too_many_cells", Detail: "The row has more cells than the first line names columns."}
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = strings.TrimSpace(c)
			switch {
			case utf8.RuneCountInString(row[i]) > MaxText:
				return &sheet.Error{Line: line, Column: f.Columns[i], Code: "too_long", Detail: fmt.Sprintf("A cell has at most %d characters.", MaxText)}
			case !clean(c):
				return &sheet.Error{Line: line, Column: f.Columns[i], Code: "invalid_text", Detail: "The cell holds a character that is not allowed."}
			}
		}
		f.Rows++
		f.content.rows, f.content.lines = append(f.content.rows, row), append(f.content.lines, line)
		return nil
	})
	if err == nil && f.Columns == nil {
		err = &sheet.Error{Line: 1, Code: "no_columns", Detail: "The first line must name the columns."}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Content returns the text of the file, nil when it is not here.
func (f *DataFile) Content() []byte {
	if f.content == nil {
		return nil
	}
	return f.content.bytes
}

// Key is the name of the file in expressions: files.villages.
func (f *DataFile) Key() string { return Word(stem(f.Name)) }

// Cells returns the cells of the rows, without the first line. Do not change
// them. Empty cells at the end of a row may be missing.
func (f *DataFile) Cells() [][]string { return f.content.rows }

// Has reports whether a form's name means this file, with or without .csv and
// in any case.
func (f *DataFile) Has(name string) bool { return strings.EqualFold(stem(f.Name), stem(name)) }

// Column finds the column for a form's name, in any case.
func (f *DataFile) Column(name string) (string, bool) {
	word := Word(name)
	for _, c := range f.Columns {
		if strings.EqualFold(c, word) {
			return c, true
		}
	}
	return "", false
}

func stem(name string) string {
	if len(name) > 4 && strings.EqualFold(name[len(name)-4:], ".csv") {
		return name[:len(name)-4]
	}
	return name
}

// Word turns a name into a word that can follow a dot in expressions.
func Word(name string) string {
	out := strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.TrimSpace(name))
	if out == "" || out[0] >= '0' && out[0] <= '9' || slices.Contains(reserved, out) {
		out = "_" + out
	}
	return out[:min(len(out), maxFileName)]
}

// unused makes a word that is not taken, ignoring case.
func unused(word string, taken map[string]bool) string {
	out := word
	for i := 2; taken[strings.ToLower(out)]; i++ {
		out = fmt.Sprintf("%s_%d", word, i)
	}
	taken[strings.ToLower(out)] = true
	return out
}

// file finds a file by its name.
func (t *Template) file(name string) *DataFile {
	for i := range t.Files {
		if t.Files[i].Name == name {
			return &t.Files[i]
		}
	}
	return nil
}

// filesName is what expressions call the files of a template.
const filesName = "files"

// The limits that are checked before a file is read, too.
var (
	tooManyFiles  = fault.Field{Pointer: "/files", Code: "too_many", Detail: fmt.Sprintf("A template may have at most %d files.", MaxFiles)}
	tooLargeFiles = fault.Field{Pointer: "/files", Code: "too_large", Detail: fmt.Sprintf("The files of a template may have at most %d bytes together.", MaxAllFiles)}
)

func invalidFiles(f fault.Field) error {
	return fault.New(fault.Invalid, "TEMPLATE_INVALID", "The template is not valid.").With(f)
}

// plainName reports whether a name stays in the folder that an archive is
// unpacked to, and is visible there.
func plainName(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) })
}

// fileRules checks what a template says about its files.
func (c *compiler) fileRules() {
	t := c.t
	if len(t.Files) == 0 {
		return
	}
	if len(t.Files) > MaxFiles {
		c.tooMuch(tooManyFiles.Pointer, tooManyFiles.Code, "%s", tooManyFiles.Detail)
		return
	}
	all := 0
	seen := map[string]bool{}
	for i := range t.Files {
		f := &t.Files[i]
		at := fmt.Sprintf("/files/%d", i)
		switch key := strings.ToLower(f.Key()); {
		case f.Name == "":
			c.problem(at+"/name", "required", "This member is required.")
		case !plainName(f.Name):
			c.problem(at+"/name", "invalid", "The name of a file has no slash, backslash or control character, and does not begin with a dot.")
		case seen[key]:
			c.problem(at+"/name", "duplicate", "Two files have the name %s in expressions.", f.Key())
		default:
			seen[key] = true
		}
		c.short(at+"/name", f.Name, maxFileName)
		if f.content == nil {
			c.tooMuch(at+"/sha256", "unknown", "There is no file with this content. Send it with POST /v1/templates:import.")
			continue
		}
		all += len(f.content.bytes)
	}
	if all > MaxAllFiles {
		c.tooMuch(tooLargeFiles.Pointer, tooLargeFiles.Code, "%s", tooLargeFiles.Detail)
	}
	if i := slices.IndexFunc(t.Sections, func(s Section) bool { return s.ID == filesName }); i >= 0 {
		c.problem(fmt.Sprintf("/sections/%d/id", i), "reserved", "Expressions reserve this name for the files of the template. Choose another one.")
	}
}

// tables makes the files of a template known to expressions.
func (c *compiler) tables() {
	if len(c.t.Files) == 0 {
		return
	}
	shape := c.shape(filesName)
	var lists tableList
	for i := range c.t.Files {
		f := &c.t.Files[i]
		rows := c.shape(fmt.Sprintf("f%d", i))
		for _, column := range f.Columns {
			rows.Add(column, cel.Text)
		}
		table := cel.NewTable(rows, f.content.rows)
		lists = append(lists, table)
		shape.Add(f.Key(), cel.ListOf(rows))
		const cellBytes = 24 // what a cell takes besides its text
		c.weight += len(f.content.bytes) + cellBytes*f.Rows*len(f.Columns)
	}
	c.files = &cel.Record{Shape: shape, Members: lists}
}

// tableList are the files of a template as a record.
type tableList []*cel.Table

// Member implements cel.Members.
func (l tableList) Member(i int) cel.Value { return l[i] }

// Answered implements cel.Members.
func (l tableList) Answered() bool { return len(l) > 0 }

// fileOptions are the options of a question that are in a file.
type fileOptions struct {
	file         *DataFile
	table        *cel.Table
	value, label int // columns; -1 is none
}

// optionsFrom checks which file the options of a question are in.
func (c *compiler) optionsFrom(at string, q *Question) {
	o := q.OptionsFrom
	if o == nil {
		return
	}
	f := c.t.file(o.File)
	if f == nil {
		c.problem(at+"/file", "unknown", "The template has no file of this name.")
		return
	}
	if f.content == nil {
		return
	}
	value, _ := o.Columns()
	column := slices.Index(f.Columns, value)
	if column < 0 {
		c.problem(at+"/value", "unknown", "The file has no column %s for the values; it has %s.", value, listed(f.Columns))
	}
	if o.Label != "" && !slices.Contains(f.Columns, o.Label) {
		c.problem(at+"/label", "unknown", "The file has no column %s; it has %s.", o.Label, listed(f.Columns))
	}
	for i := 0; column >= 0 && i < len(f.content.rows); i++ {
		switch cell := f.content.cell(i, column); {
		case len(cell) > maxOptionValue:
			c.problem(at, "too_long", "Line %d of %s: a value may have at most %d characters.", f.content.lines[i], f.Name, maxOptionValue)
		case strings.Contains(cell, separator) && KindOf(q.Type).Several:
			c.problem(at, "not_allowed", "Line %d of %s: a value that is chosen together with others may not hold a semicolon.", f.content.lines[i], f.Name)
		default:
			continue
		}
		return // one of them says it
	}
}

// fromFile finds the options of a question.
func (c *compiler) fromFile(q *Question) *fileOptions {
	if q.OptionsFrom == nil || c.files == nil {
		return nil
	}
	i := slices.IndexFunc(c.t.Files, func(f DataFile) bool { return f.Name == q.OptionsFrom.File })
	if i < 0 {
		return nil
	}
	value, label := q.OptionsFrom.Columns()
	o := &fileOptions{file: &c.t.Files[i], value: slices.Index(c.t.Files[i].Columns, value), label: slices.Index(c.t.Files[i].Columns, label)}
	lists, ok := c.files.Members.(tableList)
	if !ok || o.value < 0 {
		return nil
	}
	o.table = lists[i]
	return o
}

// shown is the label of a row.
func (o *fileOptions) shown(row int) (value, label string) {
	value = o.file.content.cell(row, o.value)
	if o.label >= 0 {
		label = o.file.content.cell(row, o.label)
	}
	if label == "" {
		label = value
	}
	return value, label
}

// Listed returns the first n options of a question whose options are in a file,
// and whether there are more.
func (t *Template) Listed(q *Question, n int) (options []Option, more bool) {
	if q.OptionsFrom == nil {
		return nil, false
	}
	f := t.file(q.OptionsFrom.File)
	if f == nil || f.content == nil {
		return nil, false
	}
	value, label := q.OptionsFrom.Columns()
	o := fileOptions{file: f, value: slices.Index(f.Columns, value), label: slices.Index(f.Columns, label)}
	seen := map[string]bool{}
	for i := 0; o.value >= 0 && i < len(f.content.rows); i++ {
		value, label := o.shown(i)
		if value == "" || seen[value] {
			continue
		}
		if len(options) == n {
			return options, true
		}
		seen[value] = true
		options = append(options, Option{Value: value, Label: Plain(label)})
	}
	return options, false
}

// Attach gives the files of a template their content, by their hash. Each is read
// once, and none beyond the limits. content returns nil for an unknown file;
// compiling the template then reports it. The fault is TEMPLATE_INVALID.
func (t *Template) Attach(content func(sha256 string) ([]byte, error)) error {
	if len(t.Files) > MaxFiles {
		return invalidFiles(tooManyFiles)
	}
	all := 0
	seen := map[string]*DataFile{}
	for i := range t.Files {
		f := &t.Files[i]
		if f.content == nil {
			read, ok := seen[f.SHA256]
			if !ok {
				var err error
				if read, err = stored(f.SHA256, content); err != nil {
					return err
				}
				seen[f.SHA256] = read
			}
			if read == nil {
				continue
			}
			name := f.Name
			*f = *read
			f.Name = name
		}
		if all += len(f.content.bytes); all > MaxAllFiles {
			return invalidFiles(tooLargeFiles)
		}
	}
	return nil
}

// stored reads a file by its hash, nil when there is none.
func stored(sha256 string, content func(sha256 string) ([]byte, error)) (*DataFile, error) {
	raw, err := content(sha256)
	if err != nil || raw == nil {
		return nil, err
	}
	read, err := ReadFile("", raw)
	if err != nil {
		var bad *sheet.Error
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("stored file %s: %s", sha256, bad.Detail)
		}
		return nil, err
	}
	if read.SHA256 != sha256 {
		return nil, fmt.Errorf("stored file %s has another content", sha256)
	}
	return read, nil
}
