package attach

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// maxBook is how large a workbook may be that is read, in bytes. It is read whole.
const maxBook = 5 << 20

// bookType is the media type of workbooks.
const bookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// Why a workbook could not be read.
const (
	largeBook = "it is a workbook larger than 5 MB"
	noBook    = "it is not a workbook that can be read"
)

// isBook reports whether a file is a workbook, by its type or its name.
func isBook(mimetype, filename string) bool {
	kind, _, err := mime.ParseMediaType(mimetype)
	return err == nil && kind == bookType || strings.EqualFold(path.Ext(filename), ".xlsx") && !readable(mimetype, filename)
}

// errFull ends the reading of a workbook of which enough is known.
var errFull = errors.New("full")

// table reads the sheets of a workbook as CSV, each under its name. What it unpacks
// to is bounded by package sheet.
func table(body io.Reader) (text string, whole bool, err error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxBook+1))
	switch {
	case err != nil:
		return "", false, err
	case len(raw) > maxBook:
		return "", false, refusal(largeBook)
	case !file.Fits(bookType, raw):
		return "", false, refusal(noBook)
	}
	book, err := sheet.OpenBook(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return "", false, refusal(noBook)
	}
	var b strings.Builder
	for i, name := range book.Sheets() {
		b.WriteString("[sheet " + name + "]\n")
		err := book.Rows(i, func(_ int64, cells []sheet.Cell) error { return row(&b, cells) })
		if errors.Is(err, errFull) {
			break
		} else if err != nil {
			return "", false, refusal(noBook)
		}
	}
	text, whole = beginning(b.String(), MaxText)
	return text, whole, nil
}

// row writes a row of a table, until there is more than the model is given.
func row(b *strings.Builder, cells []sheet.Cell) error {
	texts := make([]string, len(cells))
	for i := range cells {
		texts[i] = cells[i].Text
	}
	w := csv.NewWriter(b)
	if err := w.Write(texts); err != nil {
		return err
	}
	w.Flush()
	if b.Len() > readBytes {
		return errFull
	}
	return w.Error()
}
