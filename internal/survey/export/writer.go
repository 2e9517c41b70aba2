package export

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// Format is a kind of file.
type Format string

// The formats.
const (
	CSV     Format = "csv"
	XLSX    Format = "xlsx"
	NDJSON  Format = "ndjson"
	JSONLD  Format = "jsonld"
	GeoJSON Format = "geojson"
	Stata   Format = "dta"
)

// MediaType is the Content-Type of a file.
func (f Format) MediaType() string {
	switch f {
	case JSONLD:
		return "application/ld+json"
	case GeoJSON:
		return "application/geo+json"
	case Stata:
		return "application/x-stata-dta"
	}
	return sheet.Format(f).MediaType()
}

// Known reports whether f is one of the formats.
func (f Format) Known() bool {
	return f == JSONLD || f == GeoJSON || f == Stata || sheet.Format(f).Known()
}

// wideOnly reports whether a row of the format is always a response.
func (f Format) wideOnly() bool { return f == GeoJSON || f == Stata }

// resumes reports whether a file can be taken up after any response. The others
// begin anew.
func (f Format) resumes() bool { return f != XLSX && f != Stata }

// Writer writes a file, from its beginning to its end. What it writes is added
// to the buffer it is given. A format that begins with what only its rows tell
// asks at the end for all responses again; errChanged says that they are not
// those it saw before.
type Writer interface {
	Begin(b []byte) ([]byte, error)
	Add(b []byte, r *Response) ([]byte, error)
	End(b []byte) (out []byte, again bool, err error)
	Rows() int64 // written by Add
}

// errChanged is the error of a Writer that has to begin anew.
var errChanged = errors.New("the responses changed while they were exported")

// Writer makes a writer of a format. about tells of the export in JSON-LD and
// XLSX.
func (l *Layout) Writer(f Format, about About) (Writer, error) {
	switch f {
	case CSV:
		return &csvWriter{l: l, heads: l.longHeads()}, nil
	case NDJSON:
		return &lineWriter{l: l, heads: l.longHeads()}, nil
	case JSONLD:
		return &lineWriter{l: l, heads: l.longHeads(), linked: true, about: about}, nil
	case XLSX:
		return &bookWriter{l: l, heads: l.longHeads(), about: about}, nil
	case GeoJSON:
		return newMapWriter(l, about), nil
	case Stata:
		return newStataWriter(l, about), nil
	}
	return nil, fmt.Errorf("write export: no format %q", f)
}

// names are the heads of the columns.
func (l *Layout) names() []string {
	var out []string
	if l.cfg.Shape == Wide {
		for i := range l.columns {
			out = append(out, l.columns[i].Name)
		}
		return out
	}
	for _, i := range l.longHeads() {
		out = append(out, l.columns[i].Name)
	}
	return append(out, longNames[:]...)
}

type csvWriter struct {
	l     *Layout
	heads []int
	rows  int64
}

func (w *csvWriter) Rows() int64 { return w.rows }

// Begin writes the heads of the columns.
func (w *csvWriter) Begin(b []byte) ([]byte, error) {
	for i, name := range w.l.names() {
		if i > 0 {
			b = append(b, ',')
		}
		b = sheet.AppendCSV(b, name)
	}
	return append(b, '\r', '\n'), nil
}

// Add writes the rows of a response.
func (w *csvWriter) Add(b []byte, r *Response) ([]byte, error) {
	if w.l.cfg.Shape == Wide {
		w.rows++
		err := w.l.fill(r)
		for i := range w.l.row {
			if i > 0 {
				b = append(b, ',')
			}
			b = w.l.row[i].appendCSV(b)
		}
		return append(b, '\r', '\n'), err
	}
	err := w.l.each(r, func(a longRow) {
		w.rows++
		for _, i := range w.heads {
			b = append(w.l.row[i].appendCSV(b), ',')
		}
		b = append(sheet.AppendCSV(b, a.section), ',')
		b = append(sheet.AppendCSV(b, a.question), ',')
		b = append(append(b, a.index...), ',')
		b = append(a.value.appendCSV(b), '\r', '\n')
	})
	return b, err
}

// End writes nothing.
func (w *csvWriter) End(b []byte) ([]byte, bool, error) { return b, false, nil }

// bookWriter writes a workbook: the table, the codebook, then what was asked for.
// Archives cannot be taken up in their middle.
type bookWriter struct {
	l     *Layout
	heads []int
	about About
	rows  int64
	book  *sheet.BookWriter
	out   sink
	cells []jsontext.Value
}

// sink hands on what the archive writes.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

func (w *bookWriter) Rows() int64 { return w.rows }

// Begin begins the table.
func (w *bookWriter) Begin(b []byte) (_ []byte, err error) {
	w.out.b = b
	if w.book, err = sheet.NewBook(&w.out, "data", "codebook", "export"); err != nil {
		return b, err
	}
	w.book.Bare()
	if err = w.book.Sheet(); err == nil {
		for _, name := range w.l.names() {
			w.cells = append(w.cells, quote(nil, name))
		}
		err = w.book.Values(w.cells...)
	}
	return w.out.b, err
}

// Add writes the rows of a response.
func (w *bookWriter) Add(b []byte, r *Response) ([]byte, error) {
	w.out.b = b
	var err error
	if w.l.cfg.Shape == Wide {
		if err = w.l.fill(r); err == nil {
			err = w.row(w.l.row)
		}
		return w.out.b, err
	}
	row := make([]cell, 0, len(w.heads)+len(longNames))
	broken := w.l.each(r, func(a longRow) {
		if err != nil {
			return
		}
		row = row[:0]
		for _, i := range w.heads {
			row = append(row, w.l.row[i])
		}
		err = w.row(append(row, word(a.section), word(a.question), word(a.index), a.value))
	})
	if broken != nil {
		err = broken
	}
	return w.out.b, err
}

func (w *bookWriter) row(row []cell) error {
	w.rows++
	w.cells = w.cells[:0]
	for i := range row {
		switch c := &row[i]; c.kind {
		case empty:
			w.cells = append(w.cells, nil)
		case number, integer:
			w.cells = append(w.cells, c.appendJSON(nil))
		default:
			w.cells = append(w.cells, quote(nil, c.text()))
		}
	}
	return w.book.Values(w.cells...)
}

// End writes the other sheets.
func (w *bookWriter) End(b []byte) ([]byte, bool, error) {
	w.out.b = b
	for _, rows := range [][][]string{w.l.bookRows(), w.about.rows(w.l)} {
		if err := w.book.Sheet(); err != nil {
			return w.out.b, false, err
		}
		for _, row := range rows {
			if err := w.book.Row(row...); err != nil {
				return w.out.b, false, err
			}
		}
	}
	err := w.book.Close()
	return w.out.b, false, err
}
