package sheet

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// xlsx reads a sheet of a workbook. It parses the XML itself: the available
// library takes broken XML for the end of the sheet, which would silently lose
// rows, and does not distinguish numbers and dates from texts.
type xlsx struct {
	file  io.ReadCloser
	dec   *xml.Decoder
	book  *workbook
	head  *header
	row   int64 // number of the row read last
	size  int   // bytes of its texts; cells may share a long one
	cells []cell
	blank int64 // rows without a value so far
	texts int64 // bytes of the texts of all rows so far
}

// maxParts is how many files an archive may hold.
const maxParts = 10_000

func broken(detail string) *Error { return &Error{Code: "not_xlsx", Detail: detail} }

// Tables is a workbook whose sheets are tables. They share its texts.
type Tables struct {
	zip  *zip.Reader
	book *workbook
}

// OpenTables opens a workbook of size bytes. The error is an *Error when the
// file is at fault.
func OpenTables(src io.ReaderAt, size int64) (*Tables, error) {
	return openTables(src, size, tableRoom)
}

func openTables(src io.ReaderAt, size int64, most room) (*Tables, error) {
	z, book, err := openBook(src, size, most)
	if err != nil {
		return nil, err
	}
	return &Tables{z, book}, nil
}

// Sheets returns the names of the sheets, in order.
func (t *Tables) Sheets() []string { return t.book.names() }

func (b *workbook) names() []string {
	names := make([]string, len(b.sheets))
	for i, p := range b.sheets {
		names[i] = p.name
	}
	return names
}

// Open begins to read the sheet that o names. The error is an *Error when the
// file is at fault.
func (t *Tables) Open(o Options) (*Reader, error) {
	if o.Kind == nil {
		o.Kind = func(string) string { return "" }
	}
	x, err := openXLSX(t.zip, t.book, o)
	if err != nil {
		return nil, err
	}
	return &Reader{next: x.record, head: x.head, blank: func() int64 { return x.blank }, close: x.close}, nil
}

// openXLSX reads the records of a sheet, the first by default.
func openXLSX(z *zip.Reader, shared *workbook, o Options) (*xlsx, error) {
	sheet := *shared // its texts are not copied
	book := &sheet
	book.bare = o.Bare
	at := 0
	if o.Sheet != "" {
		at = slices.IndexFunc(book.sheets, func(p part) bool { return p.name == o.Sheet })
	}
	if at < 0 {
		return nil, &Error{Code: "no_sheet", Detail: "The workbook has no sheet " + shorten(o.Sheet) + "."}
	}
	book.short = o.glance
	x, err := book.open(z, book.sheets[at])
	if err != nil {
		return nil, err
	}
	if err := x.begin(o); err != nil {
		return nil, errors.Join(err, x.file.Close())
	}
	return x, nil
}

// openBook reads what all sheets share.
func openBook(src io.ReaderAt, size int64, most room) (*zip.Reader, *workbook, error) {
	z, err := OpenZip(src, size, maxParts)
	if e := AsError(err); e != nil {
		return nil, nil, broken("The file is not an XLSX workbook: " + e.Detail)
	} else if err != nil {
		return nil, nil, err
	}
	var unpacked uint64
	for _, f := range z.File {
		unpacked += min(f.UncompressedSize64, most.unpacked+1)
	}
	if unpacked > most.unpacked {
		return nil, nil, most.exceeded()
	}
	b := &workbook{}
	if err := b.read(z, most); err != nil {
		return nil, nil, err
	}
	return z, b, nil
}

// open goes to the rows of a sheet.
func (b *workbook) open(z *zip.Reader, sheet part) (*xlsx, error) {
	if sheet.path == "" {
		return nil, broken("A sheet of the workbook is missing.")
	}
	file, err := openPart(z, sheet.path, MaxUnpacked)
	if err != nil {
		return nil, err
	}
	var in io.Reader = file
	if b.short {
		in = &beginning{in: file, left: GlanceBytes}
	}
	x := &xlsx{file: file, dec: newDecoder(in), book: b}
	if err := x.find("sheetData"); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return x, nil
}

// begin reads up to the row of names.
func (x *xlsx) begin(o Options) error {
	ok, err := x.next()
	if err != nil {
		return err
	}
	if !ok {
		return &Error{Line: 1, Code: "no_columns", Detail: "The first row must name the columns."}
	}
	names := make([]string, len(x.cells))
	for i, c := range x.cells {
		names[i] = c.text
	}
	x.head, err = newHeader(names, x.row, o)
	return err
}

func tooLarge(limit int64) *Error {
	return &Error{Code: "too_large", Detail: fmt.Sprintf("A part of the workbook is too large once it is unpacked: at most %d bytes.", limit)}
}

// exceeded names the limits of a workbook.
func (m room) exceeded() *Error {
	return &Error{Code: "too_large", Detail: fmt.Sprintf("The workbook is too large once it is unpacked: at most %d bytes, and %d bytes in %d shared texts.", m.unpacked, m.strings, m.texts)}
}

// blame turns an error of the archive or its XML into one of the file, unless
// it was the place the file is read from that failed.
func blame(err error, detail string) error {
	var src sourceError
	switch {
	case AsError(err) != nil, errors.Is(err, ErrMore):
		return err
	case errors.As(err, &src):
		return src.error
	}
	return broken(detail)
}

// source marks the errors of where a file is read from. It keeps readings
// outside the file from it, as archives can ask for.
type source struct {
	io.ReaderAt
	size int64
}

type sourceError struct{ error }

func (s source) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > s.size {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.ReaderAt.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = sourceError{err}
	}
	return n, err
}

// openPart opens a file of the archive and bounds its unpacked size, by the
// size the archive states and, because that can be a lie, by the actual output.
func openPart(z *zip.Reader, name string, limit int64) (io.ReadCloser, error) {
	for _, f := range z.File {
		if strings.EqualFold(strings.ReplaceAll(f.Name, `\`, "/"), name) {
			if f.UncompressedSize64 > uint64(limit) {
				return nil, tooLarge(limit)
			}
			r, err := f.Open()
			if err != nil {
				return nil, blame(err, "The workbook is damaged.")
			}
			return &bounded{ReadCloser: r, limit: limit, left: limit}, nil
		}
	}
	return nil, errNoPart
}

var errNoPart = broken("The file is an archive, but not an XLSX workbook.")

type bounded struct {
	io.ReadCloser
	limit, left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge(b.limit)
	}
	return n, err
}

func (x *xlsx) close() error { return x.file.Close() }

func (x *xlsx) record() (Record, error) {
	for {
		ok, err := x.next()
		if err != nil {
			return Record{}, err
		}
		if !ok {
			return Record{}, io.EOF
		}
		if slices.ContainsFunc(x.cells, func(c cell) bool { return !c.empty() }) {
			return x.head.record(x.row, x.cells), nil
		}
		if x.blank++; x.book.short && x.blank == GlanceRows {
			return Record{}, ErrMore
		}
	}
}

// token reads on; the end of the file in the middle of the sheet is an error.
func (x *xlsx) token() (xml.Token, error) {
	t, err := x.dec.Token()
	if err != nil {
		err = blame(err, "The sheet is damaged.")
		if e := AsError(err); e != nil && e.Line == 0 {
			located := *e
			located.Line = x.row
			return nil, &located
		}
		return nil, err
	}
	return t, nil
}

// find skips to the beginning of an element.
func (x *xlsx) find(name string) error {
	for {
		t, err := x.token()
		if err != nil {
			return err
		}
		if s, ok := t.(xml.StartElement); ok && s.Name.Local == name {
			return nil
		}
	}
}

// next reads a row into cells; false after the last.
func (x *xlsx) next() (bool, error) {
	for {
		t, err := x.token()
		if err != nil {
			return false, err
		}
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Local != "row" {
				if err := x.dec.Skip(); err != nil {
					return false, blame(err, "The sheet is damaged.")
				}
				continue
			}
			return true, x.readRow(e)
		case xml.EndElement:
			return false, nil // of sheetData: everything else is skipped whole
		}
	}
}

func (x *xlsx) readRow(start xml.StartElement) error {
	number := x.row + 1
	if r := attr(start, "r"); r != "" {
		n, ok := digits(r)
		if !ok || n < number || n > xlsxRows {
			return &Error{Line: number, Code: "not_xlsx", Detail: "The rows of the sheet are not in their order."}
		}
		number = n
	}
	x.row, x.size, x.cells = number, 0, x.cells[:0]
	for {
		t, err := x.token()
		if err != nil {
			return err
		}
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Local != "c" {
				if err := x.dec.Skip(); err != nil {
					return blame(err, "The sheet is damaged.")
				}
				continue
			}
			if err := x.readCell(e); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

func (x *xlsx) readCell(start xml.StartElement) error {
	column := len(x.cells)
	if r := attr(start, "r"); r != "" {
		var ok bool
		if column, ok = columnOf(r); !ok || column < len(x.cells) {
			return &Error{Line: x.row, Column: shorten(r), Code: "not_xlsx", Detail: "The cells of the row are not in their order."}
		}
	}
	value, inline, computed, err := x.cellTexts()
	if err != nil {
		return err
	}
	c, ok := x.book.cell(attr(start, "t"), attr(start, "s"), value, inline)
	if !ok {
		return &Error{Line: x.row, Column: fmt.Sprint(column + 1), Code: "not_xlsx", Detail: "The cell refers to a text the workbook does not have."}
	}
	c.computed = computed
	switch {
	case column >= MaxColumns && c.empty():
		return nil // it has only a style: rows are often styled far beyond their content
	case column >= MaxColumns:
		return tooManyColumns(x.row)
	}
	if x.size += len(c.text); x.size > MaxLine {
		return tooLong(x.row)
	}
	if x.texts += int64(len(c.text)); x.book.short && x.texts > GlanceBytes {
		return ErrMore // cells that share a long text make much of a short sheet
	}
	for len(x.cells) < column {
		x.cells = append(x.cells, cell{})
	}
	x.cells = append(x.cells, c)
	return nil
}

// cellTexts reads to the end of a cell: its value, its inline text, and whether
// a formula made it.
func (x *xlsx) cellTexts() (value, inline string, computed bool, err error) {
	var v, in strings.Builder
	where := []string{}
	for {
		t, err := x.token()
		if err != nil {
			return "", "", false, err
		}
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Local == "rPh" || e.Name.Local == "f" { // how it is spoken; how it was computed
				computed = computed || e.Name.Local == "f"
				if err := x.dec.Skip(); err != nil {
					return "", "", false, blame(err, "The sheet is damaged.")
				}
				continue
			}
			where = append(where, e.Name.Local)
		case xml.EndElement:
			if len(where) == 0 {
				return v.String(), in.String(), computed, nil
			}
			where = where[:len(where)-1]
		case xml.CharData:
			if v.Len()+in.Len()+len(e) > MaxLine {
				return "", "", false, tooLong(x.row)
			}
			switch {
			case len(where) == 1 && where[0] == "v":
				v.Write(e)
			case len(where) > 1 && where[0] == "is" && where[len(where)-1] == "t":
				in.Write(e)
			}
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

func digits(s string) (int64, bool) {
	var n int64
	for _, r := range s {
		if r < '0' || r > '9' || n > 1<<40 {
			return 0, false
		}
		n = n*10 + int64(r-'0')
	}
	return n, s != ""
}

// columnOf is the column of a cell's name: that of AB7 is 27.
func columnOf(name string) (int, bool) {
	n := 0
	for i, r := range strings.ToUpper(name) {
		if r >= 'A' && r <= 'Z' && n <= 1<<20 {
			n = n*26 + int(r-'A') + 1
			continue
		}
		_, ok := digits(name[i:])
		return n - 1, ok && n > 0
	}
	return 0, false
}
