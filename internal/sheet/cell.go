package sheet

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// xlsxColumns is how many columns a sheet of XLSX has.
const xlsxColumns = 16_384

// AppendCSV appends a text as a cell of CSV: with an apostrophe if a
// spreadsheet would run it, and quoted if it would otherwise be read
// differently. It is for tables that are too large for a Writer.
func AppendCSV(b []byte, s string) []byte {
	if s == "" {
		return b
	}
	if c := s[0]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
		s = guard(s)
	}
	special := s[0] == ' ' || s[len(s)-1] == ' ' || s[0] >= 0x80 || s[len(s)-1] >= 0x80
	for i := 0; i < len(s) && !special; i++ {
		c := s[i]
		special = c < ' ' || c == '"' || c == ',' || c == ';'
	}
	if !special || !quotes(s) {
		return append(b, s...)
	}
	b = append(b, '"')
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			break
		}
		b = append(append(b, s[:i+1]...), '"')
		s = s[i+1:]
	}
	return append(append(b, s...), '"')
}

// quotes reports whether a text is quoted in CSV: it has a separator, or what
// another program may trim or take for one.
func quotes(s string) bool {
	return strings.ContainsAny(s, "\",;\t\r\n") || s != strings.TrimSpace(s)
}

// Values adds a row of JSON values: numbers and booleans keep their type, a text
// that is a date or a time in UTC becomes one, nil is an empty cell, and a text
// a spreadsheet would run gets an apostrophe. An *Error names a cell or row past
// the limits.
func (b *BookWriter) Values(cells ...jsontext.Value) error {
	b.rows++
	if len(cells) > xlsxColumns {
		return &Error{Line: b.rows, Code: "too_many_columns", Detail: "A sheet of XLSX has at most 16384 columns."}
	}
	for len(b.names) < len(cells) {
		b.names = append(b.names, strings.TrimSuffix(cellName(len(b.names), 1), "1"))
	}
	b.xlsx.typed = true
	return b.xlsx.row(b.rows, b.names, cells)
}

// Bare makes further texts be written unchanged: a cell of type text is not
// run. A workbook that OpenBook reads again needs the apostrophe.
func (b *BookWriter) Bare() { b.xlsx.bare = true }
