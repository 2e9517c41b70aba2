package sheet_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// valuesBook is a workbook of one sheet with one row of texts as values.
func valuesBook(t interface{ Fatal(...any) }, row []string) []byte {
	var out bytes.Buffer
	w, err := sheet.NewBook(&out, "data")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sheet(); err != nil {
		t.Fatal(err)
	}
	var cells []jsontext.Value
	for _, text := range row {
		quoted, err := jsontext.AppendQuote(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		cells = append(cells, quoted)
	}
	if err := w.Values(cells...); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTypedTimes has another program see times as numbers it can compute with,
// and this one read the very texts they were made from.
func TestTypedTimes(t *testing.T) {
	t.Parallel()
	// want is what the other program reads: the days it counts, or the text.
	tests := []struct{ text, want string }{
		{"2026-01-02", "46024"},
		{"2026-01-02T12:00:00Z", "46024.5"},
		{"2026-01-02T06:00:00.000Z", "46024.25"},
		{"2026-01-02T03:04:05.678Z", "46024.12784349537"},
		{"1900-03-01", "61"},
		{"9999-12-31T23:59:59.999Z", "2958465.9999999884"},
		{"1900-02-28", "1900-02-28"},                               // before the days are certain
		{"2026-02-30", "2026-02-30"},                               // no day
		{"2026-01-02T12:00:00+03:00", "2026-01-02T12:00:00+03:00"}, // the offset would be lost
		{"2026-01-02T12:00Z", "2026-01-02T12:00Z"},
		{"2026-1-2", "2026-1-2"},
		{"+2026-01-0", "+2026-01-0"},
	}
	var given, want []string
	for _, test := range tests {
		given, want = append(given, test.text), append(want, test.want)
	}
	file := valuesBook(t, given)
	x, err := excelize.OpenReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rows, err := x.GetRows("data", excelize.Options{RawCellValue: true})
	if err != nil {
		t.Fatal(err)
	}
	got := rows[0]
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], "'")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the other program reads (-want +got):\n%s", diff)
	}
	shown, err := x.GetCellValue("data", "B1")
	if err != nil || shown != "2026-01-02T12:00:00Z" {
		t.Errorf("it shows %q, %v, want the time as it was written", shown, err)
	}
	_, back, _, err := texts(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{given}, back["data"]); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// TestTimesComeBack writes any time and reads it.
func TestTimesComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var row []string
		for range 50 {
			at := time.UnixMilli(rapid.Int64Range(-2203891200000-1e9, 253402300799999).Draw(t, "ms")).UTC()
			row = append(row, at.Format(rapid.SampledFrom([]string{time.DateOnly, "2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", time.RFC3339Nano}).Draw(t, "layout")))
		}
		_, back, _, err := texts(valuesBook(t, row))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{row}, back["data"]); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
}
