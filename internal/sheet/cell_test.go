package sheet_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/xuri/excelize/v2"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// What AppendCSV writes is what a Writer writes.
func FuzzAppendCSV(f *testing.F) {
	for _, s := range []string{
		"", "a", "a b", " a", "a ", "=1+1", "'=1", "'a", "-5", "+1", "@x", "\t=1", "a,b", "a;b", `say "hi"`, `"`, "a\nb", "a\r\nb", "é", "\u00a0a", "a\u00a0", "\u2028=1", "＝1", "\ufeff=1", "[1]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted, err := jsontext.AppendQuote(nil, s)
		if err != nil {
			return // not UTF-8
		}
		columns, err := sheet.NewColumns("a", "b")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := sheet.NewWriter(sheet.CSV, &out, sheet.WriterOptions{Columns: columns, Continue: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(append(append([]byte(`{"a":`), quoted...), `,"b":1}`...)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := string(sheet.AppendCSV(nil, s)) + ",1\r\n"
		if got != out.String() {
			t.Errorf("AppendCSV(%q) = %q, want %q", s, got, out.String())
		}
		rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || len(rows) != 1 {
			t.Errorf("%q: %v, %d rows", got, err, len(rows))
		}
	})
}

func TestBookValues(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := sheet.NewBook(&out, "data")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sheet(); err != nil {
		t.Fatal(err)
	}
	wide := make([]jsontext.Value, 1500)
	wide[1499] = jsontext.Value(`"last"`)
	for _, row := range [][]jsontext.Value{{jsontext.Value(`1.5`), nil, jsontext.Value(`true`), jsontext.Value(`"=1+1"`)}, wide} {
		if err := w.Values(row...); err != nil {
			t.Fatal(err)
		}
	}
	err = w.Values(jsontext.Value(`1`), jsontext.Value(`"`+strings.Repeat("x", sheet.MaxCell+1)+`"`))
	if e := sheet.AsError(err); e == nil || e.Code != "cell_too_long" || e.Column != "B" || e.Line != 3 {
		t.Errorf("a long cell: %v", err)
	}
	if e := sheet.AsError(w.Values(make([]jsontext.Value, 16_385)...)); e == nil || e.Code != "too_many_columns" {
		t.Errorf("a wide row: %v", e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	book, err := sheet.OpenBook(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = book.Rows(0, func(_ int64, cells []sheet.Cell) error {
		for _, c := range cells {
			got = append(got, c.Text)
		}
		return nil
	})
	if all := strings.Join(got[:4], "|"); err != nil && !strings.Contains(err.Error(), "column") || all != "1.5||true|=1+1" {
		t.Errorf("cells = %s, %v", all, err)
	}
}

// TestBookBare: what is not to be read again has its texts as they are, and
// nothing in it is a formula.
func TestBookBare(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := sheet.NewBook(&out, "data")
	if err != nil {
		t.Fatal(err)
	}
	w.Bare()
	texts := []string{"=1+1", "+254700", "-12345678901234567890", "@x", "'=1", "\t=1"}
	cells := make([]jsontext.Value, len(texts))
	for i, s := range texts {
		if cells[i], err = jsontext.AppendQuote(nil, s); err != nil {
			t.Fatal(err)
		}
	}
	cells[2] = jsontext.Value(texts[2]) // a number of more digits than are kept
	if err := errors.Join(w.Sheet(), w.Values(cells...), w.Close()); err != nil {
		t.Fatal(err)
	}
	x, err := excelize.OpenReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rows, err := x.GetRows("data")
	if err != nil || len(rows) != 1 || !slices.Equal(rows[0], texts) {
		t.Errorf("cells = %q, %v; want %q", rows, err, texts)
	}
	if f, err := x.GetCellFormula("data", "A1"); err != nil || f != "" {
		t.Errorf("formula = %q, %v; want none", f, err)
	}
}
