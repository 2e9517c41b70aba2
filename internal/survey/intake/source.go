package intake

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// input is a file that is read, row by row.
type input struct {
	p      *settings
	caller web.Caller
	from   string // for the history
	layout Layout
	heads  []string
	names  *names

	src    io.ReaderAt
	size   int64
	next   func() (raw, error)
	tables []*table
	close  []func() error

	within string // groups around the columns that are read: those of a repeat have names that others have too

	unpacked int64 // bytes that the tables of an archive may still unpack to
	entries  int   // of all repeats of the response that is read

	told    bool                 // the table is what phones have sent, not another program's export of it
	book    bool                 // the table is a workbook
	files   map[string]*zip.File // attachments of the archive, by the name answers have for them, alone and with their folder; nil where several have it
	hashed  map[*zip.File]string // their hashes, as far as they are known
	hashing bool                 // names of files become hashes
	after   int64                // in rows after this line only: others are stored
}

// raw is a row as a reader finds it.
type raw struct {
	line  int64
	text  jsontext.Value // an object; valid until the next
	wrong []*sheet.Error
}

// open goes to the first row. The fault of a file that cannot be read is
// FILE_INVALID.
func (in *input) open(ctx context.Context) error {
	err := in.begin(ctx)
	if err != nil {
		return errors.Join(exchange.FileFault(err), in.Close())
	}
	return nil
}

func (in *input) begin(ctx context.Context) error {
	in.tables, in.close, in.book, in.told = nil, nil, false, false
	if in.p.Format == Zip {
		return in.archive(ctx)
	}
	return in.main(in.p.Format, in.src, in.size)
}

// main goes to the first row of the table of responses.
func (in *input) main(f Format, src io.ReaderAt, size int64) error {
	switch {
	case f == JSON:
		return in.elements(io.NewSectionReader(src, 0, size))
	case f == XLSX:
		return in.sheets(src, size)
	}
	r, err := sheet.Open(sheet.Format(f), src, size, in.options(""))
	if err != nil {
		return err
	}
	in.close = append(in.close, r.Close)
	in.next = rowsOf(r, f == NDJSON)
	return nil
}

// options is how a table is read: every cell is a text, which the form of the
// survey explains.
func (in *input) options(name string) sheet.Options {
	return sheet.Options{Kind: func(string) string { return "text" }, Flat: true, Sheet: name, Bare: in.p.Source == Hearth}
}

// rowsOf gives the rows of a table that are not empty.
func rowsOf(r *sheet.Reader, lines bool) func() (raw, error) {
	return func() (raw, error) {
		for {
			rec, err := r.Next()
			if err != nil || lines || len(rec.Errs) > 0 || string(rec.JSON) != "{}" {
				return raw{rec.Line, rec.JSON, rec.Errs}, err
			}
		}
	}
}

// sheets opens the sheets of a workbook: that of responses, and those of repeats.
func (in *input) sheets(src io.ReaderAt, size int64) error {
	book, err := sheet.OpenTables(src, size)
	if err != nil {
		return err
	}
	main, err := book.Open(in.options(""))
	if err != nil {
		return err
	}
	in.book = true
	in.close = append(in.close, main.Close)
	in.next = rowsOf(main, false)
	all := in.layout.Sheets()
	if in.p.Source == Kobo {
		all = in.repeatSheets()
		for _, name := range book.Sheets()[1:] {
			if all[name] == "" {
				return &sheet.Error{Column: fault.Echo(name), Code: "unknown_table", Detail: "The survey has no repeat for the sheet " + fault.Echo(name) + "."}
			}
		}
	}
	if len(all) > maxTables {
		return tooManyTables(maxTables)
	}
	for name, t := range all {
		r, err := book.Open(in.options(name))
		if e := sheet.AsError(err); e != nil && e.Code == "no_sheet" {
			continue
		} else if err != nil {
			return err
		}
		in.close = append(in.close, r.Close)
		in.tables = append(in.tables, &table{name: t, read: rowsOf(r, false)})
	}
	slices.SortFunc(in.tables, func(a, b *table) int { return strings.Compare(a.name, b.name) })
	return nil
}

// repeatSheets are the tables of repeats by the names of Kobo's sheets: the name
// of the repeat, as long as the name of a sheet can be.
func (in *input) repeatSheets() map[string]string {
	all := map[string]string{}
	for _, p := range in.layout.Places() {
		if p.Repeat {
			name := p.Path[len(p.Path)-1]
			all[name[:min(len(name), sheet.MaxSheetName)]] = p.Column
		}
	}
	return all
}

// elements goes to the first response of a JSON document: an array, or the array
// of a member value or results.
func (in *input) elements(r io.Reader) error {
	m := &meter{r: r, left: maxRecord}
	dec := jsontext.NewDecoder(m)
	broken := func(detail string) error {
		if m.err != nil {
			return m.err
		}
		if m.left < 0 {
			return &sheet.Error{Code: "too_long", Detail: fmt.Sprintf("What stands before the array of submissions has more than %d bytes.", maxRecord)}
		}
		return &sheet.Error{Code: "not_json", Detail: detail}
	}
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return broken("The file is not JSON with an array of submissions.")
		}
		if t.Kind() == '[' {
			break
		}
		if t.Kind() == '{' {
			continue
		}
		if t.Kind() != '"' {
			return broken("The file has no array of submissions.")
		}
		if name := t.String(); name != "value" && name != "results" {
			if err := dec.SkipValue(); err != nil {
				return broken("The file is not JSON.")
			}
		}
	}
	line := int64(0)
	in.next = func() (raw, error) {
		m.left = maxRecord + around
		if dec.PeekKind() == ']' {
			return raw{}, io.EOF
		}
		if line++; line > sheet.MaxRows {
			return raw{}, &sheet.Error{Line: line, Code: "too_many_rows", Detail: fmt.Sprintf("A file has at most %d submissions.", sheet.MaxRows)}
		}
		v, err := dec.ReadValue()
		if m.err != nil {
			return raw{}, m.err
		}
		if m.left < 0 || len(v) > maxRecord {
			return raw{}, &sheet.Error{Line: line, Code: "too_long", Detail: fmt.Sprintf("A submission has at most %d bytes.", maxRecord)}
		}
		if err != nil {
			return raw{}, &sheet.Error{Line: line, Code: "not_json", Detail: "The submission is not JSON."}
		}
		if tooDeep(v) {
			return raw{line: line, wrong: []*sheet.Error{{Line: line, Code: "too_deep", Detail: fmt.Sprintf("Arrays and objects nest at most %d deep.", sheet.MaxDepth)}}}, nil
		}
		return raw{line: line, text: v}, nil
	}
	return nil
}

// around is what may stand around a submission: spaces, a comma.
const around = 4 << 10

// meter fails when too much is read at once: the decoder of JSON holds all of a
// value.
type meter struct {
	r    io.Reader
	left int64 // negative once it has failed
	err  error // why the file could not be read, which does not depend on its content
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		m.left = -1
		return 0, io.ErrUnexpectedEOF
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}

// tooDeep reports whether a value nests deeper than a record may.
func tooDeep(v jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return false
		}
		if dec.StackDepth() > sheet.MaxDepth {
			return true
		}
	}
}

// unpacking bounds the unpacked size of all tables of an archive together,
// because what the archive states can be a lie.
type unpacking struct {
	io.ReadCloser
	left *int64
}

func (u unpacking) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if *u.left -= int64(n); *u.left < 0 {
		return 0, &sheet.Error{Code: "too_large", Detail: fmt.Sprintf("The tables of an archive have at most %d bytes once they are unpacked.", maxUnpacked)}
	}
	return n, err
}

func tooManyTables(most int) error {
	return &sheet.Error{Code: "too_many_tables", Detail: fmt.Sprintf("There are more tables than the %d that the survey has repeats for, or than the %d that are read at once.", most, maxTables)}
}

// repeats checks the further tables of an archive, which are all open at once.
func (in *input) repeats(more []*zip.File) error {
	known := map[string]bool{}
	for _, p := range in.layout.Places() {
		if p.Repeat {
			known[p.Column] = true
		}
	}
	if most := min(len(known), maxTables); in.p.Source != Hearth && len(more) > most || len(more) > maxTables {
		return tooManyTables(most)
	}
	for _, f := range more {
		if name := tableName(f); in.p.Source == Hearth && !known[name] {
			return &sheet.Error{Column: fault.Echo(name), Code: "unknown_table", Detail: "The survey has no repeat for the table " + fault.Echo(f.Name) + "."}
		}
	}
	return nil
}

// instances is the table of an archive that hearth import makes of instances of
// XML. Whoever has sent one can have written anything in it.
const instances = "submissions.xml.json"

func tableName(f *zip.File) string { return strings.TrimSuffix(path.Base(f.Name), path.Ext(f.Name)) }

// archive finds the table of responses, those of repeats, and the attachments.
func (in *input) archive(ctx context.Context) error {
	z, err := sheet.OpenZip(in.src, in.size, maxFiles)
	if err != nil {
		return err
	}
	in.unpacked = maxUnpacked
	in.files = map[string]*zip.File{}
	var main *zip.File
	var more []*zip.File
	for _, f := range z.File {
		base, end := path.Base(f.Name), strings.ToLower(path.Ext(f.Name))
		switch {
		case f.FileInfo().IsDir() || strings.HasPrefix(base, "."):
		case strings.Contains("/"+f.Name, "/media/") || strings.Contains("/"+f.Name, "/attachments/"):
			in.attach(f)
		case in.p.Source == Hearth && strings.HasPrefix(base, "responses."):
			main = f
		case end == ".csv":
			more = append(more, f)
		case (end == ".json" || end == ".xlsx" || end == ".ndjson") && main == nil:
			main = f
		}
	}
	if main == nil && in.p.Source != Hearth {
		// The table of responses has the shortest name: those of repeats begin with it.
		slices.SortStableFunc(more, func(a, b *zip.File) int { return len(a.Name) - len(b.Name) })
		if len(more) > 0 {
			main, more = more[0], more[1:]
		}
	}
	if main == nil {
		return &sheet.Error{Code: "no_table", Detail: "The archive has no table of responses: responses.csv, responses.xlsx or responses.ndjson, or the CSV or JSON of another program."}
	}
	in.told = path.Base(main.Name) == instances
	if err := in.repeats(more); err != nil {
		return err
	}
	if err := in.member(main); err != nil {
		return err
	}
	for _, f := range more {
		if err := in.member(f, tableName(f)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// member opens a file of the archive: the table of responses, or with a name
// that of a repeat.
func (in *input) member(f *zip.File, repeat ...string) error {
	kind := Format(strings.TrimPrefix(strings.ToLower(path.Ext(f.Name)), "."))
	if kind == XLSX {
		off, err := f.DataOffset()
		if err != nil || f.Method != zip.Store {
			return &sheet.Error{Code: "packed_workbook", Detail: "A workbook inside a zip is read only when it is stored without compression, as exports have it. Import the workbook by itself."}
		}
		return in.main(XLSX, io.NewSectionReader(in.src, off, int64(f.CompressedSize64)), int64(f.CompressedSize64))
	}
	packed, err := f.Open()
	if err != nil {
		return &sheet.Error{Code: "not_zip", Detail: "A file of the zip cannot be read."}
	}
	r := unpacking{packed, &in.unpacked}
	in.close = append(in.close, r.Close)
	if kind == JSON {
		return in.elements(r)
	}
	t, err := sheet.Stream(sheet.Format(kind), r, in.options(""))
	if err != nil {
		return err
	}
	if len(repeat) > 0 {
		in.tables = append(in.tables, &table{name: repeat[0], read: rowsOf(t, false)})
		return nil
	}
	in.next = rowsOf(t, kind == NDJSON)
	return nil
}

// Close ends the reading.
func (in *input) Close() error {
	var all error
	for _, f := range in.close {
		all = errors.Join(all, f())
	}
	in.close = nil
	return all
}

// row reads the next response; io.EOF after the last.
func (in *input) row() (*row, error) {
	in.entries = 0
	r, err := in.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.Join(in.leftover(), err)
	} else if err != nil {
		return nil, exchange.FileFault(err)
	}
	out := &row{line: r.line}
	if len(r.wrong) > 0 {
		out.refuse(rowFault(r.wrong))
		return out, nil
	}
	if in.p.Source == Hearth && (in.p.Format == NDJSON || isRecord(r.text)) {
		return out, in.ofRecord(out, r.text)
	}
	cells, h, err := in.cells(r.text)
	if f := exchange.Refusal(err); f != nil {
		out.refuse(f)
	} else if err != nil {
		return nil, err
	}
	if cells == nil {
		cells = &form.Cells{Values: map[string]string{}}
	}
	if err := in.join(cells, h); err != nil {
		return nil, exchange.FileFault(err)
	}
	if out.err != nil {
		return out, nil
	}
	if in.p.Source != Hearth {
		in.foreign(cells, h, &out.notes)
		if in.hashing && r.line > in.after {
			if err := in.hashNames(cells, cells.Values["responseId"], &out.notes); err != nil {
				return nil, err
			}
		}
	}
	in.ofCells(out, cells)
	return out, nil
}

// isRecord reports whether a line is one of NDJSON, with its answers in their
// original form: a table has no column of this name.
func isRecord(text jsontext.Value) bool {
	var members struct {
		Responses jsontext.Value `json:"responses"`
	}
	return json.Unmarshal(text, &members) == nil && members.Responses.Kind() == '{'
}

// columnOf is the column of the file that a column of an export came from.
func (in *input) columnOf(column string) string {
	return cmp.Or(in.names.back[column], column)
}

// rowFault is the fault of a row that cannot be read.
func rowFault(errs []*sheet.Error) error {
	f := fault.New(fault.Invalid, invalid, "The row cannot be read.")
	for _, e := range errs {
		f = f.With(fault.Field{Pointer: e.Column, Code: e.Code, Detail: e.Detail})
	}
	return f
}
