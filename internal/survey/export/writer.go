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

// resumes reports whether a file can be resumed after any response. The other
// formats start over.
func (f Format) resumes() bool { return f != XLSX && f != Stata }

// Writer writes a file, from its beginning to its end. It appends to the buffer
// it is given. A format whose beginning depends on its rows asks for all
// responses again at the end, and so does one of several tables; errChanged
// means that they are not those it saw before.
type Writer interface {
	Begin(b []byte) ([]byte, error)
	Add(b []byte, r *Response) ([]byte, error)
	End(b []byte) (out []byte, again bool, err error)
	Rows() int64 // written by Add
}

// rows counts the rows that a writer has written. Writers embed it; those of files
// without a beginning or an end of their own keep its Begin and End.
type rows int64

// Rows returns the count.
func (n *rows) Rows() int64 { return int64(*n) }

// Begin writes nothing.
func (n *rows) Begin(b []byte) ([]byte, error) { return b, nil }

// End writes nothing.
func (n *rows) End(b []byte) ([]byte, bool, error) { return b, false, nil }

// errChanged is the error of a Writer that has to start over.
var errChanged = errors.New("the responses changed while they were exported")

// Writer makes a writer of a format. about describes the export in JSON-LD and
// XLSX.
func (l *Layout) Writer(f Format, about About) (Writer, error) {
	switch f {
	case CSV:
		main := &csvWriter{l: l, heads: l.longHeads()}
		if l.cfg.Repeats != Tables {
			return main, nil
		}
		all := &archive{parts: []part{{name: "responses.csv", w: main}}}
		for _, t := range l.Tables() {
			all.parts = append(all.parts, part{name: t.Name + ".csv", w: &tableWriter{l: l, t: t}})
		}
		return all, nil
	case NDJSON:
		return &lineWriter{l: l, heads: l.longHeads()}, nil
	case JSONLD:
		return &lineWriter{l: l, heads: l.longHeads(), linked: true, about: about}, nil
	case XLSX:
		w := &bookWriter{l: l, heads: l.longHeads(), about: about}
		if l.cfg.Repeats == Tables {
			w.tables = l.Tables()
		}
		return w, nil
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
	rows
}

// Begin writes the heads of the columns.
func (w *csvWriter) Begin(b []byte) ([]byte, error) {
	return appendHeads(b, w.l.names()), nil
}

// Add writes the rows of a response.
func (w *csvWriter) Add(b []byte, r *Response) ([]byte, error) {
	if w.l.cfg.Shape == Wide {
		w.rows++
		err := w.l.fill(r)
		return appendCells(b, w.l.row), err
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

// bookWriter writes a workbook: the table, the codebook, then the description of
// the export. Archives cannot be resumed in the middle.
type bookWriter struct {
	l      *Layout
	heads  []int
	about  About
	tables []*Table // of repeats, each a sheet
	design *recipe  // for a survey whose sample is described
	at     int      // the table that is written, counted from 1; 0: the responses
	rows
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

// Begin begins the table.
func (w *bookWriter) Begin(b []byte) (_ []byte, err error) {
	w.out.b = b
	sheets := append([]string{"data"}, sheetNames(w.tables)...)
	if w.design != nil && w.l.cfg.weights != nil {
		sheets = append(sheets, "sample")
	}
	if w.design != nil {
		sheets = append(sheets, "design")
	}
	if w.book, err = sheet.NewBook(&w.out, append(sheets, "codebook", "export")...); err != nil {
		return b, err
	}
	w.book.Bare()
	err = w.sheet(w.l.names())
	return w.out.b, err
}

// sheet begins the next sheet with the heads of its columns.
func (w *bookWriter) sheet(names []string) error {
	if err := w.book.Sheet(); err != nil {
		return err
	}
	w.cells = w.cells[:0]
	for _, name := range names {
		w.cells = append(w.cells, quote(nil, name))
	}
	return w.book.Values(w.cells...)
}

// Add writes the rows of a response.
func (w *bookWriter) Add(b []byte, r *Response) ([]byte, error) {
	w.out.b = b
	var err error
	if w.at > 0 {
		err = w.l.entries(w.tables[w.at-1], r, w.row)
		return w.out.b, err
	}
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

// End begins the next table, or writes the other sheets.
func (w *bookWriter) End(b []byte) ([]byte, bool, error) {
	w.out.b = b
	if w.at < len(w.tables) {
		w.at++
		err := w.sheet(w.tables[w.at-1].names())
		return w.out.b, true, err
	}
	pages := [][][]string{w.l.bookRows(), w.about.rows(w.l)}
	if w.design != nil {
		if err := w.homes(); err != nil {
			return w.out.b, false, err
		}
		pages = append([][][]string{w.design.rows(w.about.AsOf)}, pages...)
	}
	for _, rows := range pages {
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

// homes writes the sheet of the sample.
func (w *bookWriter) homes() error {
	if w.l.cfg.weights == nil {
		return nil
	}
	if err := w.sheet(w.l.homeNames()); err != nil {
		return err
	}
	rows := w.rows
	err := w.l.eachHome(w.row)
	w.rows = rows // of responses only
	return err
}
