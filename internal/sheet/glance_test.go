package sheet_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// glance reads what a glance gives: how many rows, and the error at their end.
func glance(t *testing.T, f sheet.Format, file []byte) (rows int, err error) {
	t.Helper()
	in, err := sheet.Glance(f, bytes.NewReader(file), int64(len(file)), sheet.Options{})
	if err != nil {
		return 0, err
	}
	defer in.Close()
	for {
		if _, err := in.Next(); err != nil {
			return rows, err
		}
		rows++
	}
}

// A glance ends where its bounds are, and at the end of a table within them.
func TestGlanceEnds(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat("x", sheet.GlanceBytes/100-1) + "\n"
	whole := "s\n" + strings.Repeat(wide, 99) + wide[2:]
	row := `<row><c><v>1</v></c></row>`
	for name, tt := range map[string]struct {
		f    sheet.Format
		file []byte
		rows int
		end  error
	}{
		"CSV: as many bytes as there may be": {sheet.CSV, []byte(whole + strings.Repeat("y", sheet.GlanceBytes-len(whole))), 101, io.EOF},
		"CSV: one byte more":                 {sheet.CSV, []byte(whole + strings.Repeat("y", sheet.GlanceBytes-len(whole)+1)), 100, sheet.ErrMore},
		"CSV: as many rows as there may be":  {sheet.CSV, []byte("s\n" + strings.Repeat("1\n", sheet.GlanceRows)), sheet.GlanceRows, io.EOF},
		"CSV: one row more":                  {sheet.CSV, []byte("s\n" + strings.Repeat("1\n", sheet.GlanceRows+1)), sheet.GlanceRows, sheet.ErrMore},
		"CSV: blank rows":                    {sheet.CSV, []byte("s\n1\n" + strings.Repeat("\n", sheet.GlanceRows) + "2\n"), 1, sheet.ErrMore},
		"XLSX: a few rows":                   {sheet.XLSX, archive(t, rowsXML(nameRow+strings.Repeat(row, 7)), nil), 7, io.EOF},
		"XLSX: one row more":                 {sheet.XLSX, archive(t, rowsXML(nameRow+strings.Repeat(row, sheet.GlanceRows+1)), nil), sheet.GlanceRows, sheet.ErrMore},
		"XLSX: blank rows":                   {sheet.XLSX, archive(t, rowsXML(nameRow+row+strings.Repeat("<row></row>", sheet.GlanceRows)+row), nil), 1, sheet.ErrMore},
		"XLSX: other elements":               {sheet.XLSX, archive(t, rowsXML(nameRow+row+strings.Repeat("<a></a>", sheet.GlanceBytes/7)+row), nil), 1, sheet.ErrMore},
	} {
		if rows, err := glance(t, tt.f, tt.file); rows != tt.rows || !errors.Is(err, tt.end) {
			t.Errorf("%s: %d rows and %v, want %d and %v", name, rows, err, tt.rows, tt.end)
		}
	}
}

// What comes before the first row has bounds as well.
func TestGlanceIsRefused(t *testing.T) {
	t.Parallel()
	much := strings.Repeat("<a></a>", sheet.GlanceStrings/7+1)
	for name, file := range map[string][]byte{
		"before the rows":  archive(t, "<worksheet>"+much+"<sheetData>"+nameRow+"</sheetData></worksheet>", nil),
		"before the names": archive(t, rowsXML(much+nameRow), nil),
		"in the texts":     archive(t, rowsXML(nameRow), map[string]string{"xl/sharedStrings.xml": "<sst>" + much + "</sst>"}),
		"in the styles":    archive(t, rowsXML(nameRow), map[string]string{"xl/styles.xml": "<styleSheet>" + much + "</styleSheet>"}),
	} {
		if _, err := glance(t, sheet.XLSX, file); sheet.AsError(err) == nil || sheet.AsError(err).Code != "too_large" {
			t.Errorf("%s: %v, want too_large", name, err)
		}
	}
}

// A table has the paths and kinds it was given last.
func TestRemap(t *testing.T) {
	t.Parallel()
	file := []byte("a,b\n4,5\n")
	in, err := sheet.Glance(sheet.CSV, bytes.NewReader(file), int64(len(file)), sheet.Options{})
	if err == nil {
		err = in.Remap(sheet.Options{Mapping: map[string]string{"a": "x.y", "b": ""}, Kind: func(string) string { return "number" }})
	}
	if err != nil {
		t.Fatal(err)
	}
	rec, err := in.Next()
	if got, want := string(rec.JSON), `{"x":{"y":4}}`; err != nil || got != want || in.Columns()[0].Path != "x.y" {
		t.Errorf("record = %s (%v), want %s", got, err, want)
	}
	if err := in.Remap(sheet.Options{Mapping: map[string]string{"c": "x"}}); sheet.AsError(err) == nil || sheet.AsError(err).Code != "unknown_column" {
		t.Errorf("a column that is not there: %v", err)
	}
}
