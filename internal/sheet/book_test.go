package sheet_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// texts gives all rows of a workbook by sheet, and the numbers of the rows.
func texts(file []byte) (names []string, rows map[string][][]string, lines map[string][]int64, err error) {
	b, err := sheet.OpenBook(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, nil, err
	}
	rows, lines = map[string][][]string{}, map[string][]int64{}
	for i, name := range b.Sheets() {
		err := b.Rows(i, func(line int64, cells []sheet.Cell) error {
			row := make([]string, len(cells))
			for i, c := range cells {
				row[i] = c.Text + c.Bad
			}
			rows[name] = append(rows[name], row)
			lines[name] = append(lines[name], line)
			return nil
		})
		if err != nil {
			return nil, nil, nil, err
		}
	}
	return b.Sheets(), rows, lines, nil
}

func writeBook(sheets []string, rows map[string][][]string) ([]byte, error) {
	var out bytes.Buffer
	w, err := sheet.NewBook(&out, sheets...)
	if err != nil {
		return nil, err
	}
	for _, name := range sheets {
		if err := w.Sheet(); err != nil {
			return nil, err
		}
		for _, row := range rows[name] {
			if err := w.Row(row...); err != nil {
				return nil, err
			}
		}
	}
	err = w.Close()
	return out.Bytes(), err
}

// What we write comes back, and another program sees the same sheets and
// nothing it would run.
func TestBookRoundTrip(t *testing.T) {
	t.Parallel()
	cell := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[=+@'\-" a\n_x0]{1,8}`), rapid.StringN(1, 8, -1).Filter(func(s string) bool { return !strings.ContainsAny(s, "\x00\uFFFD") }))
	rapid.Check(t, func(t *rapid.T) {
		sheets := []string{"survey", "a & b <c>", "settings"}
		want := map[string][][]string{}
		for _, name := range sheets {
			for range rapid.IntRange(0, 3).Draw(t, "rows") {
				row := append(rapid.SliceOfN(cell, 0, 3).Draw(t, "row"), "x") // a row ends with a cell
				want[name] = append(want[name], row)
			}
		}
		file, err := writeBook(sheets, want)
		if err != nil {
			t.Fatal(err)
		}
		names, got, _, err := texts(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sheets, names); diff != "" {
			t.Fatalf("sheets (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("rows (-want +got):\n%s", diff)
		}
	})
}

func TestBookElsewhere(t *testing.T) {
	t.Parallel()
	file, err := writeBook([]string{"one", "two"}, map[string][][]string{"one": {{"a", "", "=1+1"}}, "two": {{"@b"}, {"-2", "plain"}}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := excelize.OpenReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if got := x.GetSheetList(); !cmp.Equal(got, []string{"one", "two"}) {
		t.Errorf("sheets = %q", got)
	}
	for name, want := range map[string][][]string{"one": {{"a", "", "'=1+1"}}, "two": {{"'@b"}, {"'-2", "plain"}}} {
		if got, err := x.GetRows(name); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s = %q, %v; want %q", name, got, err, want)
		}
		if f, err := x.GetCellFormula(name, "C1"); err != nil || f != "" {
			t.Errorf("formula of %s = %q, %v; want none", name, f, err)
		}
	}
}

// Cells of another program: numbers, dates, booleans, formulas, errors, gaps.
func TestBookForeign(t *testing.T) {
	t.Parallel()
	x := excelize.NewFile()
	defer x.Close()
	var errs []error
	_, err := x.NewSheet("second")
	errs = append(errs, err)
	for cell, v := range map[string]any{"A1": 0.1, "B1": 7, "C1": true, "D1": "'=x", "E1": time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), "A5": "after a gap"} {
		errs = append(errs, x.SetCellValue("second", cell, v))
	}
	errs = append(errs, x.SetCellFormula("second", "F1", "B1*2"))
	var file bytes.Buffer
	if err := errors.Join(append(errs, x.Write(&file))...); err != nil {
		t.Fatal(err)
	}
	_, rows, lines, err := texts(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"0.1", "7", "true", "=x", "2024-02-29", ""}, {"after a gap"}}, rows["second"]); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 5}, lines["second"]); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	b, err := sheet.OpenBook(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	err = b.Rows(1, func(_ int64, cells []sheet.Cell) error {
		if !cells[3].Guarded || cells[0].Guarded || !cells[5].Computed || cells[0].Computed {
			t.Errorf("cells = %+v, want D1 guarded and F1 computed", cells)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("err = %v, want that of the caller", err)
	}
}

func TestBookHostile(t *testing.T) {
	t.Parallel()
	const book = `<workbook xmlns="m" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>%s</sheets></workbook>`
	for _, tt := range []struct {
		name string
		file []byte
		code string
	}{
		{"no archive", []byte("hello"), "not_xlsx"},
		{"no sheet", archive(t, "", map[string]string{"xl/workbook.xml": fmt.Sprintf(book, "")}), "not_xlsx"},
		{"a sheet without its part", archive(t, rowsXML(""), map[string]string{"xl/workbook.xml": fmt.Sprintf(book, `<sheet name="x" r:id="a"/><sheet name="y" r:id="b"/>`)}), "not_xlsx"},
		{"too many sheets", archive(t, rowsXML(""), map[string]string{"xl/workbook.xml": fmt.Sprintf(book, strings.Repeat(`<sheet r:id="a"/>`, 10_001))}), "not_xlsx"},
		{"a list of sheets without end", bomb(t, "xl/workbook.xml", "<workbook><sheets>", "<sheet/>", 5<<20), "too_large"},
		{"a text that is not there", archive(t, rowsXML(`<row r="1"><c t="s"><v>3</v></c></row>`), nil), "not_xlsx"},
		{"XML that ends early", archive(t, "<worksheet><sheetData><row>", nil), "not_xlsx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, _, err := texts(tt.file)
			if e := sheet.AsError(err); e == nil || e.Code != tt.code {
				t.Errorf("err = %v, want %s", err, tt.code)
			}
		})
	}
}

func TestBookLimits(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{nil, {""}, {"a", "A"}, {"a/b"}, {"'a"}, {strings.Repeat("ä", 32)}, {"a\x00"}, make([]string, 101)} {
		if _, err := sheet.NewBook(io.Discard, names...); err == nil {
			t.Errorf("NewBook(%q) was begun", names)
		}
	}
	w, err := sheet.NewBook(io.Discard, "one", "two")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sheet(); err != nil {
		t.Fatal(err)
	}
	for code, row := range map[string][]string{"cell_too_long": {strings.Repeat("ä", sheet.MaxCell+1)}, "too_many_columns": make([]string, sheet.MaxColumns+1), "not_text": {"a\x00"}} {
		if e := sheet.AsError(w.Row(row...)); e == nil || e.Code != code {
			t.Errorf("err = %v, want %s", e, code)
		}
	}
	if err := w.Close(); err == nil {
		t.Error("a book without its second sheet was closed")
	}
	if err := errors.Join(w.Sheet(), w.Close()); err != nil {
		t.Error(err)
	}
	if err := w.Sheet(); err == nil {
		t.Error("a third of two sheets was begun")
	}
}

// The bombs of these tests are what they seem.
func TestBombIsWhole(t *testing.T) {
	t.Parallel()
	file := bomb(t, "xl/x.xml", "start", "abc", 300<<10)
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.Open("xl/x.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r) // checks size and sum
	if err != nil || !bytes.HasPrefix(got, []byte("startabcabc")) || len(got) < 300<<10 || bytes.Count(got, []byte("abc"))*3 != len(got)-5 {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

func FuzzBook(f *testing.F) {
	file, err := writeBook([]string{"a", "b"}, map[string][][]string{"a": {{"x", "=1"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, _, _, err := texts(file); err != nil && sheet.AsError(err) == nil {
			t.Errorf("%v is no error of the file %q", err, file)
		}
	})
}

// TestBookStyled reads rows that are styled far beyond what is written in them,
// as spreadsheet programs leave them.
func TestBookStyled(t *testing.T) {
	t.Parallel()
	x := excelize.NewFile()
	defer x.Close()
	style, err := x.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range []error{
		x.SetCellValue("Sheet1", "A1", "type"), x.SetCellValue("Sheet1", "B1", "name"),
		x.SetCellStyle("Sheet1", "A1", "AMJ1", style), // column 1,024
		x.SetCellValue("Sheet1", "A2", "text"), x.SetCellStyle("Sheet1", "A2", "AMJ2", style),
	} {
		if do != nil {
			t.Fatal(do)
		}
	}
	var file bytes.Buffer
	if err := x.Write(&file); err != nil {
		t.Fatal(err)
	}
	_, rows, _, err := texts(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := rows["Sheet1"]; len(got) != 2 || got[0][0] != "type" || got[0][1] != "name" || got[1][0] != "text" {
		t.Errorf("rows = %d, the first of them %v", len(got), got[0][:2])
	}
	if err := x.SetCellValue("Sheet1", "AMJ2", "x"); err != nil {
		t.Fatal(err)
	}
	file.Reset()
	if err := x.Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err = texts(file.Bytes()); sheet.AsError(err) == nil || sheet.AsError(err).Code != "too_many_columns" {
		t.Errorf("a value in column 1,024: err = %v, want too_many_columns", err)
	}
}
