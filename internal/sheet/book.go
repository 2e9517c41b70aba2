package sheet

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Book is an XLSX workbook with several sheets that are read as rows, not as
// records.
type Book struct {
	zip  *zip.Reader
	book *workbook
}

// Cell is a cell in the form that a person sees.
type Cell struct {
	Text     string // a number in its shortest form, a date as RFC 3339; without the apostrophe that guards it
	Guarded  bool   // an apostrophe was taken off Text
	Computed bool   // Text is the value a formula had when the file was saved
	Bad      string // why the cell cannot be read, a sentence; Text is empty
}

// OpenBook opens a workbook of size bytes. The error is an *Error when the file
// is at fault. A book may have 64 MiB once it is unpacked, and 200,000 texts.
func OpenBook(src io.ReaderAt, size int64) (*Book, error) {
	z, book, err := openBook(src, size, bookRoom)
	if err != nil {
		return nil, err
	}
	return &Book{zip: z, book: book}, nil
}

// Sheets returns the names of the sheets in order.
func (b *Book) Sheets() []string { return b.book.names() }

// Rows passes every row of the sheet at an index of Sheets to each, except
// empty ones, until that fails. Cells are valid during the call only. Other
// errors are an *Error when the file is at fault.
func (b *Book) Rows(sheet int, each func(line int64, cells []Cell) error) (err error) {
	x, err := b.book.open(b.zip, b.book.sheets[sheet])
	if err != nil {
		return err
	}
	defer x.file.Close()
	var cells []Cell
	for {
		ok, err := x.next()
		if err != nil || !ok {
			return err
		}
		cells = cells[:0]
		some := false
		for _, c := range x.cells {
			cells = append(cells, c.shown())
			some = some || !c.empty()
		}
		if !some {
			continue
		}
		if err := each(x.row, cells); err != nil {
			return err
		}
	}
}

// shown is the cell as a person sees it.
func (c cell) shown() Cell {
	out := Cell{Guarded: c.guarded, Computed: c.computed, Bad: c.bad}
	switch {
	case out.Bad != "":
	case c.date:
		out.Text = dateText(c.text, "")
	case c.number:
		v, detail := c.numeric()
		out.Text, out.Bad = string(v), detail
	case !validText(c.text):
		out.Bad = "The text is not valid UTF-8, or holds U+0000."
	default:
		out.Text = c.text
	}
	return out
}

// BookWriter writes a workbook of several sheets, one after the other, with a
// text in every cell.
type BookWriter struct {
	out  *bufio.Writer
	xlsx *xlsxWriter
	next int // index of the sheet Sheet begins
	rows int64
	row  []jsontext.Value

	names []string // of columns, for errors of Values
}

// NewBook begins a workbook with sheets of these names.
func NewBook(w io.Writer, sheets ...string) (*BookWriter, error) {
	seen := map[string]bool{}
	for _, name := range sheets {
		folded := strings.ToLower(name)
		if n := utf8.RuneCountInString(name); n == 0 || n > MaxSheetName || strings.ContainsAny(name, `[]:*?/\`) || strings.Trim(name, "'") != name || !validText(name) || seen[folded] {
			return nil, fmt.Errorf("write xlsx: no name for a sheet: %q", name)
		}
		seen[folded] = true
	}
	if len(sheets) == 0 || len(sheets) > maxSheets {
		return nil, fmt.Errorf("write xlsx: %d sheets", len(sheets))
	}
	out := bufio.NewWriterSize(w, 64<<10)
	x, err := beginXLSX(out, sheets)
	if err != nil {
		return nil, err
	}
	return &BookWriter{out: out, xlsx: x}, nil
}

const (
	// MaxSheetName limits the characters of a sheet's name.
	MaxSheetName = 31
	maxSheets    = 100
)

// Sheet begins the next sheet. All must be begun before Close.
func (b *BookWriter) Sheet() error {
	b.next++
	b.rows = 0
	return b.xlsx.begin(b.next)
}

// Row adds a row of texts; empty ones are empty cells. Texts that a spreadsheet
// would run get an apostrophe. An *Error names a cell or row past the limits.
func (b *BookWriter) Row(cells ...string) error {
	b.rows++
	if len(cells) > MaxColumns {
		return tooManyColumns(b.rows)
	}
	b.row = b.row[:0]
	names := make([]string, len(cells))
	for i, text := range cells {
		names[i] = cellName(i, b.rows)
		if text == "" {
			b.row = append(b.row, nil)
			continue
		}
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil || !validText(text) {
			return &Error{Line: b.rows, Column: names[i], Code: "not_text", Detail: "The text is not valid UTF-8, or holds U+0000."}
		}
		b.row = append(b.row, quoted)
	}
	b.xlsx.typed = false
	return b.xlsx.row(b.rows, names, b.row)
}

// Close ends the workbook. It does not close the underlying writer.
func (b *BookWriter) Close() error {
	if b.next != b.xlsx.sheets {
		return fmt.Errorf("write xlsx: %d of %d sheets are written", b.next, b.xlsx.sheets)
	}
	if err := b.xlsx.end(); err != nil {
		return err
	}
	return b.out.Flush()
}
