package sheet

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Beginnings of the parts of an XLSX file around its sheets.
const (
	typesXML = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
		`<Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>`
	typeXML = `<Override PartName="/xl/worksheets/sheet%d.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>`
	rootXML = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`
	bookXML = `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>`
	relsXML = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
	relXML  = `<Relationship Id="rId%[1]d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet%[1]d.xml"/>`
)

// xlsxWriter writes sheets straight into the archive, with the texts in the
// cells: nothing is kept in memory or in a temporary file.
type xlsxWriter struct {
	zip    *zip.Writer
	sheets int
	sheet  io.Writer // nil before the first is begun
	bare   bool      // texts are written unchanged
	typed  bool      // texts that are times are written as times
	buf    bytes.Buffer
}

// newXLSXWriter begins a file with one sheet.
func newXLSXWriter(out io.Writer) (*xlsxWriter, error) {
	w, err := beginXLSX(out, []string{"Sheet1"})
	if err != nil {
		return nil, err
	}
	w.typed = true
	return w, w.begin(1)
}

// beginXLSX writes all but the sheets.
func beginXLSX(out io.Writer, sheets []string) (*xlsxWriter, error) {
	types, book, rels := bytes.NewBufferString(typesXML), bytes.NewBufferString(bookXML), bytes.NewBufferString(relsXML)
	fmt.Fprintf(rels, stylesRel, len(sheets)+1)
	for i, name := range sheets {
		fmt.Fprintf(types, typeXML, i+1)
		book.WriteString(`<sheet name="`)
		_ = xml.EscapeText(book, []byte(name)) // a buffer takes all
		fmt.Fprintf(book, `" sheetId="%[1]d" r:id="rId%[1]d"/>`, i+1)
		fmt.Fprintf(rels, relXML, i+1)
	}
	w := &xlsxWriter{zip: zip.NewWriter(out), sheets: len(sheets)}
	for _, part := range [][2]string{
		{"[Content_Types].xml", types.String() + `</Types>`},
		{"_rels/.rels", rootXML},
		{"xl/workbook.xml", book.String() + `</sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", rels.String() + `</Relationships>`},
		{"xl/styles.xml", stylesXML()},
	} {
		f, err := w.zip.CreateHeader(zipped(part[0]))
		if err != nil {
			return nil, fmt.Errorf("write xlsx: %w", err)
		}
		if _, err := io.WriteString(f, xml.Header+part[1]); err != nil {
			return nil, fmt.Errorf("write xlsx: %w", err)
		}
	}
	return w, nil
}

// ZipTime is the time of files in our archives, the earliest that archives can
// represent, so that the same content makes the same bytes.
func ZipTime() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// zipped is a part of the archive.
func zipped(name string) *zip.FileHeader {
	return &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: ZipTime()}
}

// begin ends the sheet before and begins the one with a number counted from 1.
func (w *xlsxWriter) begin(number int) error {
	if number > w.sheets {
		return fmt.Errorf("write xlsx: there is no sheet %d", number)
	}
	if err := w.endSheet(); err != nil {
		return err
	}
	f, err := w.zip.CreateHeader(zipped(fmt.Sprintf("xl/worksheets/sheet%d.xml", number)))
	if err != nil {
		return fmt.Errorf("write xlsx: %w", err)
	}
	w.sheet = f
	_, err = io.WriteString(f, xml.Header+`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`)
	return err
}

func (w *xlsxWriter) endSheet() error {
	if w.sheet == nil {
		return nil
	}
	_, err := io.WriteString(w.sheet, `</sheetData></worksheet>`)
	return err
}

// row writes the row with a number counted from 1.
func (w *xlsxWriter) row(number int64, names []string, cells []jsontext.Value) error {
	if number > xlsxRows {
		return &Error{Line: number, Code: "too_many_rows", Detail: fmt.Sprintf("A sheet of XLSX has at most %d rows. Use CSV or NDJSON.", xlsxRows)}
	}
	w.buf.Reset()
	fmt.Fprintf(&w.buf, `<row r="%d">`, number)
	for i, v := range cells {
		if v == nil {
			continue
		}
		if err := w.cell(cellName(i, number), v); err != "" {
			return &Error{Line: number, Column: names[i], Code: "cell_too_long", Detail: err}
		}
	}
	w.buf.WriteString(`</row>`)
	_, err := w.sheet.Write(w.buf.Bytes())
	return err
}

func (w *xlsxWriter) cell(name string, v jsontext.Value) (tooLong string) {
	if w.typed && v.Kind() == '"' {
		if days, style := timeCell(v[1 : len(v)-1]); style > 0 {
			fmt.Fprintf(&w.buf, `<c r="%s" s="%d"><v>%s</v></c>`, name, style, days)
			return ""
		}
	}
	text, isText := cellText(v)
	if w.bare {
		text, isText = bareText(v)
	}
	switch {
	case isText:
		if utf8.RuneCountInString(text) > MaxCell {
			return fmt.Sprintf("A cell of XLSX has at most %d characters. Use CSV or NDJSON.", MaxCell)
		}
		fmt.Fprintf(&w.buf, `<c r="%s" t="inlineStr"><is><t xml:space="preserve">`, name)
		_ = xml.EscapeText(&w.buf, []byte(escapeControls(text))) // a buffer takes all
		w.buf.WriteString(`</t></is></c>`)
	case v.Kind() == 't', v.Kind() == 'f':
		fmt.Fprintf(&w.buf, `<c r="%s" t="b"><v>%d</v></c>`, name, strings.Count(text, "true"))
	case !exact(text):
		// A spreadsheet keeps 15 digits; a longer number is written as text.
		if !w.bare {
			text = guard(text)
		}
		fmt.Fprintf(&w.buf, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, name, text)
	default:
		fmt.Fprintf(&w.buf, `<c r="%s"><v>%s</v></c>`, name, text)
	}
	return ""
}

// exact reports whether a spreadsheet represents a number exactly.
func exact(number string) bool {
	return strings.ContainsAny(number, ".eE") || len(strings.TrimPrefix(number, "-")) <= 15
}

func (w *xlsxWriter) end() error {
	if err := w.endSheet(); err != nil {
		return err
	}
	return w.zip.Close()
}

// cellName is the name of a cell: column 0 in row 1 is A1.
func cellName(column int, row int64) string {
	name := ""
	for n := column + 1; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name + strconv.FormatInt(row, 10)
}

// escapeControls writes characters that XML cannot hold as _x0001_, the way of
// spreadsheets, and a text that looks like that as _x005F_x0001_.
func escapeControls(s string) string {
	if !strings.ContainsFunc(s, notXML) && !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_' && len(unescaped(s[i:])) > 0:
			b.WriteString("_x005F_")
		case notXML(r):
			fmt.Fprintf(&b, "_x%04X_", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// notXML reports whether XML cannot hold r; a reader of XML takes CR for LF.
func notXML(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF
}

// unescaped is the character that s begins with in the form _x0001_, "" when
// it does not.
func unescaped(s string) string {
	if len(s) < 7 || s[:2] != "_x" || s[6] != '_' {
		return ""
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil || n >= 0xD800 && n < 0xE000 {
		return ""
	}
	return string(rune(n))
}

// unescapeControls undoes escapeControls.
func unescapeControls(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if r := unescaped(s[i:]); r != "" {
			b.WriteString(r)
			i += 7
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}
