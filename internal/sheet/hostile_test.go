package sheet_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// archive makes an XLSX file whose sheet has the given XML, and other parts.
func archive(t testing.TB, sheetXML string, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{
		"xl/workbook.xml":            `<workbook xmlns="m" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="a" Target="/xl/worksheets/one.xml"/></Relationships>`,
		"xl/worksheets/one.xml":      sheetXML,
	}
	for name, text := range parts {
		all[name] = text
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range all {
		if text == "-" {
			continue
		}
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func rowsXML(rows string) string { return `<worksheet><sheetData>` + rows + `</sheetData></worksheet>` }

const nameRow = `<row r="1"><c r="A1" t="inlineStr"><is><t>s</t></is></c></row>`

func TestHostileFiles(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("c,", 100_000) + "c\n"
	for _, tt := range []struct {
		name string
		f    sheet.Format
		file []byte
		code string
		at   int64
	}{
		{"CSV: 100,000 columns", sheet.CSV, []byte(many), "too_many_columns", 1},
		{"CSV: a quote never closed", sheet.CSV, []byte("s\n\"" + strings.Repeat("x\n", 1<<20)), "too_long", 524289},
		{"CSV: a short quote never closed", sheet.CSV, []byte("s\na\n\"b"), "open_quote", 3},
		{"CSV: a quote inside", sheet.CSV, []byte("s\na\"b\n"), "bare_quote", 2},
		{"CSV: text after a quote", sheet.CSV, []byte("s\n\"a\"b\n"), "after_quote", 2},
		{"CSV: a column twice", sheet.CSV, []byte("s,n,s\n"), "duplicate_column", 1},
		{"CSV: nothing", sheet.CSV, nil, "no_columns", 1},
		{"CSV: blank names", sheet.CSV, []byte(" , \n"), "no_columns", 1},
		{"CSV: a path too deep", sheet.CSV, []byte(strings.Repeat("a.", 100) + "a\n"), "invalid_column", 1},
		{"XLSX: no archive", sheet.XLSX, []byte("hello"), "not_xlsx", 0},
		{"XLSX: no workbook", sheet.XLSX, archive(t, "", map[string]string{"xl/workbook.xml": "-"}), "not_xlsx", 0},
		{"XLSX: no rels", sheet.XLSX, archive(t, "", map[string]string{"xl/_rels/workbook.xml.rels": "-"}), "not_xlsx", 0},
		{"XLSX: no sheet", sheet.XLSX, archive(t, "-", nil), "not_xlsx", 0},
		{"XLSX: workbook is not XML", sheet.XLSX, archive(t, "", map[string]string{"xl/workbook.xml": "{}"}), "not_xlsx", 0},
		{"XLSX: workbook is other XML", sheet.XLSX, archive(t, "", map[string]string{"xl/_rels/workbook.xml.rels": "<a/>"}), "not_xlsx", 0},
		{"XLSX: empty sheet", sheet.XLSX, archive(t, rowsXML(""), nil), "no_columns", 1},
		{"XLSX: XML that ends early", sheet.XLSX, archive(t, "<worksheet><sheetData>"+nameRow+`<row r="2"><c r="A2"><v>1</v>`, nil), "not_xlsx", 2},
		{"XLSX: broken XML after rows", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="2"></c></row>`), nil), "not_xlsx", 2},
		{"XLSX: rows out of order", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="7"></row><row r="3"></row>`), nil), "not_xlsx", 8},
		{"XLSX: a row past the end", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="99999999"></row>`), nil), "not_xlsx", 2},
		{"XLSX: a cell far right", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="2"><c r="XFD2"><v>1</v></c></row>`), nil), "too_many_columns", 2},
		{"XLSX: a cell out of order behind the last column", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="2"><c r="XFD2" s="1"/><c r="XFC2"><v>1</v></c></row>`), nil), "too_many_columns", 2},
		{"XLSX: cells out of order", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="2"><c r="B2"/><c r="A2"/></row>`), nil), "not_xlsx", 2},
		{"XLSX: a text that is not there", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="2"><c r="A2" t="s"><v>9</v></c></row>`), nil), "not_xlsx", 2},
		{"XLSX: entities", sheet.XLSX, archive(t, `<!DOCTYPE x [<!ENTITY a "aaaa">]>`+rowsXML(nameRow+`<row r="2"><c t="inlineStr"><is><t>&a;</t></is></c></row>`), nil), "not_xlsx", 2},
		{"XLSX: a bomb of one part", sheet.XLSX, forged(t, archive(t, rowsXML(nameRow), nil), sheet.MaxUnpacked+1), "too_large", 0},
		{"XLSX: an archive that lies about its size", sheet.XLSX, forged(t, archive(t, "<worksheet><sheetData>"+nameRow+strings.Repeat("<row></row>", 1<<16), nil), 1000), "not_xlsx", 0},
		{"XLSX: a bomb of texts", sheet.XLSX, bomb(t, "xl/sharedStrings.xml", "<sst><si><t>", "a", sheet.MaxStrings+9), "too_large", 0},
		{"XLSX: a huge cell", sheet.XLSX, archive(t, rowsXML(nameRow+`<row r="2"><c t="inlineStr"><is><t>`+strings.Repeat("a", sheet.MaxLine+1)+`</t></is></c></row>`), nil), "too_long", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := read(tt.f, tt.file, sheet.Options{})
			e := sheet.AsError(err)
			if e == nil {
				t.Fatalf("err = %v, want %s", err, tt.code)
			}
			if e.Code != tt.code || e.Line != tt.at {
				t.Errorf("err = %s at line %d (%v), want %s at %d", e.Code, e.Line, e, tt.code, tt.at)
			}
		})
	}
}

// forged is an archive that states a size for its sheet which it does not have.
func forged(t *testing.T, packed []byte, size uint64) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range r.File {
		raw, err := f.OpenRaw()
		if err != nil {
			t.Fatal(err)
		}
		h := &zip.FileHeader{Name: f.Name, Method: f.Method, CompressedSize64: f.CompressedSize64, UncompressedSize64: f.UncompressedSize64, CRC32: f.CRC32}
		if strings.Contains(f.Name, "worksheets") {
			h.UncompressedSize64 = size
		}
		w, err := z.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Not in parallel: it measures.
func TestTooManyRows(t *testing.T) {
	file := "s\n" + strings.Repeat("a\n", sheet.MaxRows+1)
	before := memory()
	_, _, err := readAll(sheet.CSV, file)
	if e := sheet.AsError(err); e == nil || e.Code != "too_many_rows" || e.Line != sheet.MaxRows+2 {
		t.Errorf("err = %v, want too_many_rows at %d", err, sheet.MaxRows+2)
	}
	if grown := int64(memory()) - int64(before); grown > 32<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// readAll counts records without keeping them.
func readAll(f sheet.Format, file string) (good, bad int, err error) {
	r, err := sheet.Open(f, strings.NewReader(file), int64(len(file)), sheet.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return good, bad, nil
		} else if err != nil {
			return good, bad, err
		}
		if len(rec.Errs) > 0 {
			bad++
		} else {
			good++
		}
	}
}

// A workbook of another program: shared texts, rich texts, dates, booleans,
// formulas with a value, gaps.
func TestForeignWorkbook(t *testing.T) {
	t.Parallel()
	x := excelize.NewFile()
	defer x.Close()
	style, err := x.NewStyle(&excelize.Style{NumFmt: 14})
	if err != nil {
		t.Fatal(err)
	}
	set := func(cell string, v any) {
		t.Helper()
		if err := x.SetCellValue("Sheet1", cell, v); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"text", "day", "when", "n", "ok", "sum", "code"} {
		set(fmt.Sprintf("%c1", 'A'+i), name)
	}
	set("A3", "Zürich")
	set("B3", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC))
	set("C3", time.Date(2024, 2, 29, 13, 30, 0, 0, time.UTC))
	set("D3", 0.1)
	set("E3", true)
	set("G3", 123456)
	if err := errors.Join(x.SetCellFormula("Sheet1", "F3", "D3+1"), x.SetCellStyle("Sheet1", "B3", "B3", style),
		x.SetCellRichText("Sheet1", "A4", []excelize.RichTextRun{{Text: "two "}, {Text: "runs"}})); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := x.Write(&file); err != nil {
		t.Fatal(err)
	}
	o := kinds(map[string]string{"text": "string", "day": "date", "when": "date-time", "n": "number", "ok": "boolean", "code": "string"})
	got, wrong, err := read(sheet.XLSX, file.Bytes(), o)
	want := []any{
		map[string]any{"text": "Zürich", "day": "2024-02-29", "when": "2024-02-29T13:30:00Z", "n": 0.1, "ok": true, "code": "123456"},
		map[string]any{"text": "two runs"},
	}
	if err != nil || len(wrong) > 0 {
		t.Fatal(err, wrong)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestWriterLimits(t *testing.T) {
	t.Parallel()
	columns, err := sheet.NewColumns("s")
	if err != nil {
		t.Fatal(err)
	}
	w, err := sheet.NewWriter(sheet.XLSX, io.Discard, sheet.WriterOptions{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(jsontext.Value(`{"s":"` + strings.Repeat("ä", sheet.MaxCell+1) + `"}`))
	if e := sheet.AsError(err); e == nil || e.Code != "cell_too_long" || e.Line != 2 || e.Column != "s" {
		t.Errorf("err = %v, want cell_too_long at s2", err)
	}
	var unknown *sheet.UnknownColumnError
	if err := w.Write(jsontext.Value(`{"t":{"u":1}}`)); !errors.As(err, &unknown) || unknown.Path != "t.u" {
		t.Errorf("err = %v, want no column for t.u", err)
	}
	wide := jsontext.Value(`{"c0":0`)
	for i := range sheet.MaxColumns {
		wide = fmt.Appendf(wide, `,"d%d":1`, i)
	}
	if e := sheet.AsError(columns.Collect(append(wide, '}'))); e == nil || e.Code != "too_many_columns" {
		t.Errorf("err = %v, want too_many_columns", e)
	}
	if _, err := sheet.NewColumns("a", "a"); sheet.AsError(err) == nil {
		t.Errorf("err = %v, want duplicate_column", err)
	}
	if _, err := sheet.NewWriter(sheet.CSV, io.Discard, sheet.WriterOptions{}); err == nil {
		t.Error("a table without columns was begun")
	}
}

func TestWritePartial(t *testing.T) {
	t.Parallel()
	columns, err := sheet.NewColumns("properties", "did", "metadata.name")
	if err != nil {
		t.Fatal(err)
	}
	record := jsontext.Value(`{"did":"did:x:1","properties":{"a":1},"metadata":{"name":"n","x":{"y":2}},"links":{"self":"/"}}`)
	for f, want := range map[sheet.Format]string{
		sheet.CSV:    "properties,did,metadata.name\r\n\"{\"\"a\"\":1}\",did:x:1,n\r\n",
		sheet.NDJSON: "{\"properties\":{\"a\":1},\"did\":\"did:x:1\",\"metadata\":{\"name\":\"n\"}}\n",
	} {
		var out bytes.Buffer
		w, err := sheet.NewWriter(f, &out, sheet.WriterOptions{Columns: columns, Partial: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(record), w.Close()); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s = %q, want %q", f, out.String(), want)
		}
	}
}

func FuzzNDJSON(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n[]\n{"))
	f.Fuzz(func(t *testing.T, file []byte) { check(t, sheet.NDJSON, file) })
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\n1,\"x\"\"y\"\n"))
	f.Add([]byte("\xef\xbb\xbfa;b\r\n'=1;\"\r\n\"\r\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		check(t, sheet.CSV, file)
		// What both parsers take, both take for the same.
		if bytes.HasPrefix(file, []byte("\xef\xbb\xbf")) || bytes.ContainsAny(file, ";\t\r\x00'") {
			return
		}
		rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		good, bad, mine := readAll(sheet.CSV, string(file))
		if err == nil && mine == nil && len(rows) > 0 && good+bad != len(rows)-1 {
			t.Errorf("%d records, encoding/csv has %d: %q", good+bad, len(rows)-1, file)
		}
	})
}

func FuzzXLSX(f *testing.F) {
	file, _, err := write(sheet.XLSX, map[string]any{"a": 1.0, "b": "=x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, "")
	f.Add([]byte(nil), rowsXML(nameRow+`<row><c t="b"><v>1</v></c></row>`))
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		check(t, sheet.XLSX, file)
		if text != "" && text != "-" {
			check(t, sheet.XLSX, archive(t, text, nil))
		}
	})
}

// check wants every error to be one of the file, and every record to be JSON.
func check(t *testing.T, f sheet.Format, file []byte) {
	t.Helper()
	if _, _, err := read(f, file, sheet.Options{}); err != nil && sheet.AsError(err) == nil {
		t.Errorf("%s: %v is no error of the file %q", f, err, file)
	}
}

func BenchmarkRead(b *testing.B) {
	records := make([]any, 1000)
	for i := range records {
		records[i] = map[string]any{"type": "Device", "protocol": "did:ixo:protocol/clean-cooking", "properties": map[string]any{"serial": fmt.Sprintf("SN%d", i), "efficiency": 37.5, "fuel_type": "pellets", "model": "M1"}}
	}
	for _, f := range []sheet.Format{sheet.NDJSON, sheet.CSV, sheet.XLSX} {
		b.Run(string(f), func(b *testing.B) {
			file, _, err := write(f, records...)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := readAll(f, string(file)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(records))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// failing is a place that cannot be read.
type failing struct{}

var errPlace = errors.New("the disk is gone")

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errPlace }

// Trouble with the place a file is kept in is not the file's.
func TestPlaceFails(t *testing.T) {
	t.Parallel()
	for _, f := range []sheet.Format{sheet.NDJSON, sheet.CSV, sheet.XLSX} {
		r, err := sheet.Open(f, failing{}, 1000, sheet.Options{})
		if err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, errPlace) || sheet.AsError(err) != nil {
			t.Errorf("%s: err = %v, want %v", f, err, errPlace)
		}
	}
}

// A file that is no text is refused without what a terminal obeys, in the place and in
// the sentence.
func TestErrorsShowNoControlCharacters(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, want string }{
		"a binary file": {"PK\x03\x00\x1b[31mred,b\n1,2\n", "line 1, column PK\uFFFD\uFFFD\uFFFD[31mred: The name of the column is not valid UTF-8, or holds U+0000."},
		"a title":       {"a\x1b]0x\x07,a\x1b]0x\x07\n1,2\n", "line 1, column a\uFFFD]0x\uFFFD: The column appears twice: a\uFFFD]0x\uFFFD."},
		"turned text":   {"a\u202eb,a\u202eb\n1,2\n", "line 1, column a\uFFFDb: The column appears twice: a\uFFFDb."},
	} {
		_, _, err := read(sheet.CSV, []byte(tt.file), sheet.Options{})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %q, want %q", name, err, tt.want)
		}
	}
}
