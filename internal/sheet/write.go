package sheet

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// WriterOptions says how to write a file.
type WriterOptions struct {
	// Columns are the columns of CSV and XLSX, which require some. For NDJSON
	// they select the members that are written; nil means everything.
	Columns *Columns
	// Partial leaves out values without a column. Otherwise they are an
	// *UnknownColumnError. NDJSON always leaves them out.
	Partial bool
	// Kind returns the declared kind of a path, as for reading. In columns
	// without one ("" or any) a text that would be read as something else is
	// written as a JSON string. nil writes every text unchanged.
	Kind func(path string) string
	// Continue omits the row of names, for the continuation of a CSV file.
	Continue bool
}

// Writer writes records to a file.
type Writer struct {
	o     WriterOptions
	out   *bufio.Writer
	rows  int64
	cells []jsontext.Value
	loose []bool // columns of which nothing is declared
	xlsx  *xlsxWriter
	f     Format
}

// NewWriter begins a file. Everything is written once Flush, or at last Close,
// returned nil.
func NewWriter(f Format, w io.Writer, o WriterOptions) (*Writer, error) {
	out := &Writer{o: o, f: f, out: bufio.NewWriterSize(w, 64<<10)}
	if f == NDJSON {
		return out, nil
	}
	if o.Columns == nil || len(o.Columns.paths) == 0 {
		return nil, fmt.Errorf("write %s: no columns", f)
	}
	names := make([]jsontext.Value, len(o.Columns.paths))
	for i, p := range o.Columns.paths {
		quoted, err := jsontext.AppendQuote(nil, p)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", f, err)
		}
		names[i] = quoted
	}
	if f == XLSX {
		x, err := newXLSXWriter(out.out)
		if err != nil {
			return nil, err
		}
		out.xlsx = x
	}
	if f == CSV && o.Continue {
		return out, nil
	}
	return out, out.row(names)
}

// declare notes the columns of which nothing is declared.
func (w *Writer) declare() {
	w.loose = make([]bool, len(w.o.Columns.paths))
	for i, p := range w.o.Columns.paths {
		if w.o.Kind != nil {
			kind := w.o.Kind(p)
			w.loose[i] = kind == "" || kind == "any"
		}
	}
}

// Write adds a record, which must be a JSON object. Errors: an *Error for a
// cell or a row past the limits of the format, an *UnknownColumnError.
func (w *Writer) Write(record jsontext.Value) error {
	if w.f == NDJSON && w.o.Columns == nil {
		return w.line(record)
	}
	if w.loose == nil {
		w.declare()
	}
	w.cells = slices.Grow(w.cells[:0], len(w.o.Columns.paths))[:len(w.o.Columns.paths)]
	clear(w.cells)
	u := refuseUnknown
	if w.o.Partial || w.f == NDJSON {
		u = skipUnknown
	}
	err := w.o.Columns.walk(record, u, func(column int, v jsontext.Value) {
		w.cells[column] = v.Clone()
	})
	if err != nil {
		return err
	}
	if w.f == NDJSON {
		out, _ := appendNode(nil, w.o.Columns.root, w.cells)
		return w.line(out)
	}
	return w.row(w.cells)
}

func (w *Writer) line(record jsontext.Value) error {
	v := record.Clone()
	if err := v.Compact(); err != nil {
		return fmt.Errorf("write ndjson: %w", err)
	}
	w.rows++
	_, _ = w.out.Write(v) // the line end shows errors
	return w.out.WriteByte('\n')
}

func (w *Writer) row(cells []jsontext.Value) error {
	w.rows++
	for i, v := range cells {
		if w.loose != nil && w.loose[i] {
			cells[i] = plain(v)
		}
	}
	if w.f == CSV {
		return writeCSV(w.out, cells)
	}
	return w.xlsx.row(w.rows, w.o.Columns.paths, cells)
}

// Flush passes on what was written so far. An XLSX file is complete only after
// Close.
func (w *Writer) Flush() error {
	return w.out.Flush()
}

// Close ends the file. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.xlsx != nil {
		if err := w.xlsx.end(); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

// plain is a value for a column of which nothing is declared: a text that would
// be read as something else, or as nothing, becomes the text of its JSON.
func plain(v jsontext.Value) jsontext.Value {
	if v.Kind() != '"' {
		return v
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return v
	}
	same, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return v
	}
	if got, _ := (cell{text: string(text)}).value("any"); len(text) > 0 && bytes.Equal(got, same) {
		return v
	}
	quoted, err := jsontext.AppendQuote(nil, same)
	if err != nil {
		return v
	}
	return quoted
}

// cellText is the text of a cell, false for a number or a boolean, which keeps
// its type. Arrays and objects are written as JSON.
func cellText(v jsontext.Value) (string, bool) {
	text, isText := bareText(v)
	if v.Kind() == '"' {
		text = guard(text)
	}
	return text, isText
}

// bareText is cellText for texts that are not run.
func bareText(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return "", true
		}
		return string(text), true
	case '[', '{':
		return string(v), true
	}
	return string(v), false
}
