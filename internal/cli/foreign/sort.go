package foreign

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// table is a CSV or another file of submissions.
type table struct {
	*file
	repeat bool
}

// sort finds what each file is.
func (x *Export) sort() error {
	var tables []table
	var beside, instances []*file
	for _, f := range x.files {
		var err error
		switch f.ext() {
		case ".xlsx":
			var form *Form
			if form, err = workbook(f); form != nil {
				x.Forms = append(x.Forms, form)
			} else if err == nil {
				tables = append(tables, table{file: f})
			}
		case ".csv":
			var head []string
			if head, err = header(f); err == nil && slices.ContainsFunc(head, isKey) {
				tables = append(tables, table{f, slices.Contains(head, "PARENT_KEY")})
			} else if err == nil {
				beside = append(beside, f)
			}
		case ".json":
			var users []string
			if users, err = appUsers(f); users != nil {
				x.AppUsers = append(x.AppUsers, users...)
			} else if err == nil {
				tables = append(tables, table{file: f})
			}
		case ".xml":
			if f.xml, err = rootID(f); err == nil && f.xml != "" {
				instances = append(instances, f)
			} else if err == nil {
				x.leave(f, "an XForm is read as its workbook only: download the form as XLSForm")
			}
		case ".xls":
			x.leave(f, "workbooks are read as .xlsx: save it anew")
		default:
			x.media = append(x.media, f)
		}
		if err != nil {
			x.leave(f, err.Error())
		}
	}
	x.attach(beside)
	x.tables(tables)
	x.instances(instances)
	x.pictures()
	return nil
}

// isKey reports whether a column is one that tables of submissions have.
func isKey(column string) bool {
	return column == "KEY" || column == "meta-instanceID" || column == "meta/instanceID" || column == "_uuid"
}

// header reads the first line of a CSV. Kobo separates columns with semicolons.
func header(f *file) ([]string, error) {
	r, err := f.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, 256<<10))
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\n"))
	in := csv.NewReader(bytes.NewReader(line))
	in.LazyQuotes = true
	if bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")) {
		in.Comma = ';'
	}
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return head, err
}

// workbook is the form of a workbook; nil when it holds something else.
func workbook(f *file) (*Form, error) {
	text, err := f.read(maxWorkbook)
	if err != nil {
		return nil, err
	}
	src := bytes.NewReader(text)
	book, err := sheet.OpenTables(src, src.Size())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(book.Sheets(), func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), "survey") }) {
		return nil, nil
	}
	form := &Form{ID: xlsform.FormID(src, src.Size()), Name: f.name, Workbook: text, Files: map[string][]byte{}, dir: f.dir(), stem: f.stem()}
	if form.ID == "" {
		form.ID = form.stem
	}
	return form, nil
}

// appUsers are the names of a list of app users as Central's API gives it; nil
// when the file is something else.
func appUsers(f *file) ([]string, error) {
	if !strings.Contains(strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(f.base())), "app-user") {
		return nil, nil
	}
	text, err := f.read(maxText)
	if err != nil {
		return nil, err
	}
	var all []struct {
		Name string `json:"displayName"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	names := []string{}
	for _, u := range all {
		if name := strings.TrimSpace(u.Name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// rootID is the id of the form that an instance is of; "" when the file is an
// XForm.
func rootID(f *file) (string, error) {
	r, err := f.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	dec := xml.NewDecoder(io.LimitReader(r, maxText))
	for {
		t, err := dec.Token()
		if err != nil {
			return "", err
		}
		root, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		if root.Name.Local == "html" {
			return "", nil
		}
		for _, a := range root.Attr {
			if a.Name.Local == "id" && a.Name.Space == "" {
				return a.Value, nil
			}
		}
		return root.Name.Local, nil
	}
}

// formOf finds the form that a file is of: by its name, by its folder, or because
// there is one only.
func (x *Export) formOf(f *file) *Form {
	var best *Form
	most := 0
	for _, form := range x.Forms {
		for _, name := range []string{form.ID, form.stem} {
			for _, stem := range []string{f.stem(), strings.TrimSuffix(strings.TrimSuffix(path.Base(f.dir()), ".zip"), ".csv")} {
				if n := likeness(stem, name); n > most {
					best, most = form, n
				}
			}
		}
	}
	if best != nil {
		return best
	}
	if len(x.Forms) == 1 {
		return x.Forms[0]
	}
	for _, form := range x.Forms {
		if form.dir == f.dir() && form.dir != "." {
			if best != nil {
				return nil
			}
			best = form
		}
	}
	return best
}

// likeness returns how well a file's name matches the name of a form: the whole name,
// or the part before a separator. 0: not at all.
func likeness(stem, name string) int {
	stem, name = plain(stem), plain(name)
	if name == "" || !strings.HasPrefix(stem, name) {
		return 0
	}
	if len(stem) == len(name) {
		return 2 * len(name)
	}
	if stem[len(name)] == '-' {
		return 2*len(name) - 1
	}
	return 0
}

// plain is a name as all programs could have written it.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == ' ' || r == '.' {
			return '-'
		}
		return r
	}, strings.ToLower(s))
}

// under reports whether a path is in a folder.
func under(name, dir string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }

// attach assigns CSV files to the forms that may name them: those beside the
// form and in the folders below it.
func (x *Export) attach(files []*file) {
	for _, f := range files {
		found := false
		for _, form := range x.Forms {
			if !under(f.name, form.dir) {
				continue
			}
			text, err := f.read(maxText << 1)
			if err != nil {
				x.leave(f, err.Error())
				break
			}
			form.Files[f.base()], found = text, true
		}
		if !found {
			x.leave(f, "it has no column KEY, meta-instanceID or _uuid, and no form stands beside it")
		}
	}
}

// tables gives tables of submissions to their forms, and tables of repeats to
// these.
func (x *Export) tables(all []table) {
	for _, t := range all {
		if t.repeat {
			continue
		}
		form := x.formOf(t.file)
		if form == nil {
			x.leave(t.file, "no form of the export has this name. Call the file as its form, or put both in a folder")
			continue
		}
		form.Loads = append(form.Loads, &Load{Name: t.name, main: t.file, dirs: map[string]bool{t.dir(): true}})
	}
	for _, t := range all {
		if t.repeat && !x.repeat(t.file) {
			x.leave(t.file, "the table of submissions that it belongs to is not beside it")
		}
	}
}

// repeat assigns the table of a repeat to its load: the one beside it whose name
// it begins with.
func (x *Export) repeat(f *file) bool {
	var best *Load
	for _, form := range x.Forms {
		for _, l := range form.Loads {
			if l.main != nil && l.main.dir() == f.dir() && strings.HasPrefix(f.stem(), l.main.stem()+"-") && (best == nil || len(best.main.stem()) < len(l.main.stem())) {
				best = l
			}
		}
	}
	if best != nil {
		best.repeats = append(best.repeats, f)
	}
	return best != nil
}

// instances gives instances to their forms.
func (x *Export) instances(all []*file) {
	for _, f := range all {
		i := slices.IndexFunc(x.Forms, func(form *Form) bool { return form.ID == f.xml })
		if i < 0 {
			x.leave(f, "no form of the export has the id "+f.xml)
			continue
		}
		form := x.Forms[i]
		j := slices.IndexFunc(form.Loads, func(l *Load) bool { return len(l.instances) > 0 })
		if j < 0 {
			j = len(form.Loads)
			form.Loads = append(form.Loads, &Load{Name: "instances of " + form.ID, dirs: map[string]bool{}})
		}
		l := form.Loads[j]
		l.instances, l.dirs[f.dir()] = append(l.instances, f), true
	}
}

// pictures assigns media to the submissions that may name them: those beside an
// instance to it, others to all tables above them.
func (x *Export) pictures() {
	for _, f := range x.media {
		found := false
		for _, form := range x.Forms {
			for _, l := range form.Loads {
				if l.holds(f) {
					l.media, found = append(l.media, f), true
					l.Files++
				}
			}
		}
		if !found {
			x.leave(f, "no table of submissions stands beside it")
		}
	}
}

// holds reports whether a file is beside the submissions, or in a folder there.
func (l *Load) holds(f *file) bool {
	for dir := f.dir(); ; dir = path.Dir(dir) {
		if l.dirs[dir] {
			return true
		}
		if dir == "." {
			return false
		}
	}
}
