package xlsform

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Beside is the files that accompany a workbook.
type Beside struct {
	Files  map[string][]byte // CSV files and workbooks by their names
	Stored []form.DataFile   // those the template has already; one of the same name in Files counts instead
}

// files are the files that a form may name.
type files struct {
	beside Beside
	report *Report
	read   map[string]*form.DataFile // by the name in beside.Files; nil when the file is broken
	used   []*form.DataFile
}

// find returns the file for a form's name. here is false when there is none;
// here without a file means that it is broken, which was reported.
func (f *files) find(name string) (file *form.DataFile, here bool) {
	if f == nil {
		return nil, false
	}
	for i, u := range f.used {
		if u.Has(name) {
			return f.used[i], true
		}
	}
	for given, raw := range f.beside.Files {
		if !(&form.DataFile{Name: given}).Has(name) || isBook(given) {
			continue
		}
		read, seen := f.read[given]
		if !seen {
			read = f.parse(given, raw)
			f.read[given] = read
		}
		if read != nil {
			f.used = append(f.used, read)
		}
		return read, true
	}
	for i := range f.beside.Stored {
		if s := &f.beside.Stored[i]; s.Has(name) && s.Content() != nil {
			f.used = append(f.used, s)
			return s, true
		}
	}
	return nil, false
}

// parse reads a file. What is wrong with it is reported.
func (f *files) parse(name string, raw []byte) *form.DataFile {
	file, err := form.ReadFile(name, raw)
	var bad *sheet.Error
	switch {
	case errors.As(err, &bad):
		f.report.add(Item{Sheet: name, Row: int(bad.Line), Column: bad.Column, Level: Error, Code: bad.Code, Detail: bad.Detail})
	case err != nil:
		f.report.add(Item{Sheet: name, Level: Error, Code: "invalid", Detail: "The file cannot be read."})
	}
	return file
}

// kept are the files that the form names, in the order in which it does.
func (f *files) kept() []form.DataFile {
	var out []form.DataFile
	for _, u := range f.used {
		out = append(out, *u)
	}
	return out
}

// unused reports the files that nothing names.
func (f *files) unused() {
	for name := range f.beside.Files {
		if f.read[name] == nil && !isBook(name) && !slices.ContainsFunc(f.used, func(u *form.DataFile) bool { return u.Name == name }) {
			if _, broken := f.read[name]; !broken {
				f.report.add(Item{Sheet: shorten(name), Level: Note, Code: "file_ignored", Detail: "The form does not name the file. It is not kept."})
			}
		}
	}
}

func isBook(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".xlsx") }

// missing says that a file is not here.
func missing(name string) string {
	if !strings.Contains(name, ".") {
		name += ".csv"
	}
	return "The file " + shorten(name) + " is not here. Send it together with the workbook, as a part of multipart/form-data with its file name."
}

// fromFile has a question take its choices from a file.
func (im *importer) fromFile(e *entry, q *form.Question) {
	o := &form.OptionsFrom{}
	for _, p := range parameters(e.get("parameters")) {
		switch strings.ToLower(p[0]) {
		case "value":
			o.Value = p[1]
		case "label":
			o.Label = p[1]
		default:
			e.item("parameters", Note, "parameters_ignored", "%s is not carried over.", shorten(p[0]))
		}
	}
	if ext := e.file[strings.LastIndexByte(e.file, '.')+1:]; ext != e.file && !strings.EqualFold(ext, "csv") {
		e.item("type", Error, "file_kind", "Only CSV files hold choices here. Save %s as CSV.", shorten(e.file))
		q.Options = unknownOptions()
		return
	}
	im.takeFile(e, q, o)
}

// takeFile sets where the choices of a question are, once it knows the file and
// its columns.
func (im *importer) takeFile(e *entry, q *form.Question, o *form.OptionsFrom) {
	file, here := im.files.find(e.file)
	switch {
	case !here:
		e.item("type", Error, "missing_file", "%s", missing(e.file))
		fallthrough
	case file == nil:
		q.Options = unknownOptions()
		return
	}
	o.File = file.Name
	for _, c := range []struct {
		to    *string
		usual string
	}{{&o.Value, "name"}, {&o.Label, "label"}} {
		given := *c.to
		if given == "" {
			given = c.usual
		}
		column, ok := file.Column(given)
		switch {
		case !ok && (*c.to != "" || c.usual == "name"):
			e.item("type", Error, "missing_column", "The file %s has no column %s. Name the column of the %ss in the column parameters, as in value=id label=title.", shorten(file.Name), shorten(given), map[string]string{"name": "value", "label": "label"}[c.usual])
			q.Options = unknownOptions()
			return
		case column == c.usual:
			column = ""
		}
		*c.to = column
	}
	q.OptionsFrom = o
}

// parameters takes a cell of parameters apart.
func parameters(text string) [][2]string {
	var out [][2]string
	for _, p := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == ';' || r == '\n' || r == '\t' }) {
		name, value, _ := strings.Cut(p, "=")
		out = append(out, [2]string{name, value})
	}
	return out
}

// listFile makes a file of a list that is too long to stand in a question.
func (im *importer) listFile(e *entry) {
	list := im.lists[e.listKey()]
	name := form.Word(e.list) + ".csv"
	e.file = name
	if _, here := im.files.find(name); here {
		return
	}
	var columns []string
	for _, c := range list {
		for _, data := range c.Data {
			for column := range data {
				if !slices.Contains(columns, column) {
					columns = append(columns, column)
				}
			}
		}
	}
	slices.Sort(columns)
	rows := make([][]string, len(list))
	for i, c := range list {
		rows[i] = []string{c.Value, c.Label.In(im.def, im.def)}
		for _, column := range columns {
			cell := ""
			if len(c.Data) > 0 {
				cell = c.Data[0][column]
			}
			rows[i] = append(rows[i], cell)
		}
	}
	if im.files.made(name, append([]string{"name", "label"}, columns...), rows) != nil {
		e.item("type", Note, "list_kept_as_file", "The list has %s choices, more than stand in a question: it is kept as the file %s, with labels in one language.", strconv.Itoa(len(list)), name)
	}
}

// made is a file made from data of the workbook itself, nil when it is too
// large.
func (f *files) made(name string, header []string, rows [][]string) *form.DataFile {
	if file, here := f.find(name); here {
		return file
	}
	var b []byte
	for _, cells := range append([][]string{header}, rows...) {
		for i, c := range cells {
			if i > 0 {
				b = append(b, ',')
			}
			b = sheet.AppendCSV(b, c)
		}
		b = append(b, "\r\n"...)
	}
	file := f.parse(name, b)
	if file != nil {
		f.used = append(f.used, file)
	}
	return file
}
