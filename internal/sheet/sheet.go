// Package sheet reads and writes tables of records as NDJSON, CSV and XLSX, a
// row at a time: memory does not grow with the file.
//
// A record is a JSON object. In NDJSON it is a line. In a table every column is
// a path into the record, "properties.serial", and a cell holds the value; an
// array or an empty object is written as JSON text. A cell is text, so the
// reader's caller says what kind a path has, and numbers and booleans are read
// back as such. An empty cell is no value.
//
// Book and BookWriter are for workbooks of several named sheets whose rows are
// cells rather than records.
//
// Files come from strangers: every reader has limits, names the line and the
// column of a mistake, and goes on after a row it cannot use. Text that a
// spreadsheet would run as a formula is written with an apostrophe in front,
// which is removed when it is read.
package sheet

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Format names a kind of file.
type Format string

// The formats.
const (
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
	XLSX   Format = "xlsx"
)

// Limits of every file.
const (
	MaxColumns  = 1000      // of a table
	MaxRows     = 1_000_000 // records of a file that is read
	MaxLine     = 1 << 20   // bytes of an NDJSON line or a CSV record
	MaxCell     = 32_767    // characters of a cell in XLSX, as spreadsheets have it
	MaxUnpacked = 512 << 20 // bytes of an XLSX file once it is unpacked
	MaxStrings  = 64 << 20  // bytes of the texts an XLSX file shares between cells
)

// xlsxRows is how many rows a sheet of XLSX has, the one of the names included.
const xlsxRows = 1_048_576

var mediaTypes = map[Format]string{
	NDJSON: "application/x-ndjson",
	CSV:    "text/csv",
	XLSX:   "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// Known reports whether f is one of the formats.
func (f Format) Known() bool { return mediaTypes[f] != "" }

// MediaType is the Content-Type of files in the format.
func (f Format) MediaType() string {
	if f == CSV {
		return mediaTypes[f] + "; charset=utf-8; header=present"
	}
	return mediaTypes[f]
}

// FormatOf is the format for a Content-Type, "" for an unknown one.
func FormatOf(contentType string) Format {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	if media == "application/ndjson" || media == "application/jsonl" {
		return NDJSON
	}
	for f, name := range mediaTypes {
		if media == name {
			return f
		}
	}
	return ""
}

// Error says what is wrong with a file, and where.
type Error struct {
	Line   int64  // counted from 1; in XLSX the number of the row; 0 for the whole file
	Column string // name of the column or its number; "" when it is about the row
	Code   string // lower_snake, stable
	Detail string // a sentence for people
}

// Error gives the place and what is wrong there.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Detail
	case e.Column == "":
		return fmt.Sprintf("line %d: %s", e.Line, e.Detail)
	}
	return fmt.Sprintf("line %d, column %s: %s", e.Line, e.Column, e.Detail)
}

// Record is one row of a file.
type Record struct {
	Line int64          // where it begins
	JSON jsontext.Value // the object; nil when the row cannot be used; valid until the next call
	Errs []*Error       // why it cannot be used, every cell at once

	cells []cell
}

// Texts returns the raw cells of a row of a table, by column. They are valid
// until the next record is read.
func (r Record) Texts() []string {
	out := make([]string, len(r.cells))
	for i, c := range r.cells {
		out[i] = strings.ToValidUTF8(strings.ReplaceAll(c.text, "\x00", "\uFFFD"), "\uFFFD")
	}
	return out
}

// Column is a column of a table.
type Column struct {
	Name string // as the file has it
	Path string // into the record; "" for one that is left out or has no name
}

// Options says how to read a table.
type Options struct {
	// Kind returns what the value at a path must be: number, boolean, object, array,
	// date, date-time or text; "" when unknown. Then text stays text, unless it is a
	// JSON array, object or string, and XLSX numbers and booleans keep their type;
	// "any" also converts text that is a JSON number, true or false. nil knows nothing.
	Kind func(path string) string
	// Mapping gives columns paths other than their names; "" leaves a column
	// out. It is for CSV and XLSX.
	Mapping map[string]string
	// Flat makes every column a member of the record itself, whatever its name.
	Flat bool
	// Sheet is the name of the sheet of XLSX to read; the first by default.
	Sheet string
	// Bare means that texts of XLSX were written unchanged, see
	// BookWriter.Bare: an apostrophe belongs to the text.
	Bare bool

	glance bool
}

// Reader reads the records of a file in order.
type Reader struct {
	next  func() (Record, error)
	head  *header // nil for NDJSON
	blank func() int64
	rows  int
	most  int // limit on the rows of a glance; 0: it is not one
	err   error
	close func() error
}

// Open begins to read a file of size bytes. The error is an *Error when the
// file is at fault.
func Open(f Format, src io.ReaderAt, size int64, o Options) (*Reader, error) {
	if f != XLSX {
		return Stream(f, io.NewSectionReader(src, 0, size), o)
	}
	t, err := OpenTables(src, size)
	if err != nil {
		return nil, err
	}
	return t.Open(o)
}

// Stream begins to read NDJSON or CSV from its beginning to its end.
func Stream(f Format, src io.Reader, o Options) (*Reader, error) {
	if o.Kind == nil {
		o.Kind = func(string) string { return "" }
	}
	r := &Reader{close: func() error { return nil }, blank: func() int64 { return 0 }}
	switch f {
	case NDJSON:
		r.next = newLines(src).record
	case CSV:
		t, err := openCSV(src, o)
		if err != nil {
			return nil, err
		}
		r.next, r.head, r.blank = t.record, t.head, func() int64 { return t.blank }
	default:
		return nil, fmt.Errorf("open sheet: no format %q", f)
	}
	return r, nil
}

// Next returns the next record, io.EOF after the last. Any other error ends the
// reading; it is an *Error when the file is at fault.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return Record{}, r.err
	}
	rec, err := r.next()
	if err == nil && r.most > 0 && r.rows == r.most {
		err = ErrMore
	}
	if err == nil {
		if r.rows++; r.rows > MaxRows {
			err = &Error{Line: rec.Line, Code: "too_many_rows", Detail: fmt.Sprintf("A file has at most %d records.", MaxRows)}
		}
	}
	if err != nil {
		r.err = err
		return Record{}, err
	}
	return rec, nil
}

// Columns returns those of a table, in order; none for NDJSON.
func (r *Reader) Columns() []Column {
	if r.head == nil {
		return nil
	}
	out := make([]Column, len(r.head.names))
	for i, name := range r.head.names {
		out[i].Name = name
		if at := r.head.at[i]; at >= 0 {
			out[i].Path = r.head.columns.paths[at]
		}
	}
	return out
}

// Blank is how many rows of a table without a value were skipped so far.
func (r *Reader) Blank() int64 { return r.blank() }

// Close frees what the reader holds.
func (r *Reader) Close() error { return r.close() }

// AsError finds the *Error in err's chain; nil when the file is not at fault.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// shorten truncates a text for messages, and removes everything that a terminal would
// obey.
func shorten(s string) string {
	const most = 60
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return utf8.RuneError
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// validText reports whether both databases can hold s.
func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
