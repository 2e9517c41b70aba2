package sheet_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// read gives all records of a file as values, and what was wrong as text.
func read(f sheet.Format, file []byte, o sheet.Options) (records []any, wrong []string, err error) {
	r, err := sheet.Open(f, bytes.NewReader(file), int64(len(file)), o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, wrong, nil
		} else if err != nil {
			return records, wrong, err
		}
		for _, e := range rec.Errs {
			wrong = append(wrong, e.Error())
		}
		if rec.JSON == nil {
			continue
		}
		var v any
		if err := json.Unmarshal(rec.JSON, &v); err != nil {
			return nil, nil, fmt.Errorf("line %d is not JSON: %w: %s", rec.Line, err, rec.JSON)
		}
		records = append(records, v)
	}
}

// write makes a file of records with all columns they need.
func write(f sheet.Format, records ...any) ([]byte, *sheet.Columns, error) {
	columns, err := sheet.NewColumns()
	if err != nil {
		return nil, nil, err
	}
	texts := make([]jsontext.Value, len(records))
	for i, rec := range records {
		if texts[i], err = json.Marshal(rec, json.Deterministic(true)); err != nil {
			return nil, nil, err
		}
		if err := columns.Collect(texts[i]); err != nil {
			return nil, nil, err
		}
	}
	var out bytes.Buffer
	o := sheet.WriterOptions{Columns: columns}
	if f == sheet.NDJSON {
		o.Columns = nil
	}
	w, err := sheet.NewWriter(f, &out, o)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range texts {
		if err := w.Write(text); err != nil {
			return nil, nil, err
		}
	}
	err = w.Close()
	return out.Bytes(), columns, err
}

// kinds looks kinds up by path.
func kinds(m map[string]string) sheet.Options {
	return sheet.Options{Kind: func(path string) string { return m[path] }}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]sheet.Format{
		"text/csv": sheet.CSV, "text/csv; charset=utf-8": sheet.CSV, "application/x-ndjson": sheet.NDJSON, "application/ndjson": sheet.NDJSON,
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": sheet.XLSX, "application/json": "", "": "", "???": "",
	} {
		if got := sheet.FormatOf(contentType); got != want {
			t.Errorf("FormatOf(%q) = %q, want %q", contentType, got, want)
		}
	}
	if sheet.Format("pdf").Known() || !sheet.CSV.Known() || sheet.FormatOf(sheet.CSV.MediaType()) != sheet.CSV {
		t.Error("Known or MediaType is wrong")
	}
}

func TestReadTyped(t *testing.T) {
	t.Parallel()
	typed := kinds(map[string]string{"n": "number", "i": "number", "b": "boolean", "o": "object", "a": "array", "s": "text", "loc.x": "any"})
	for _, tt := range []struct {
		name, file string
		want       []any
		wrong      []string
	}{
		{"kinds", "n,i,b,o,a,s\r\n1.50,7,TRUE,\"{\"\"x\"\":1}\",\"[1]\",5\r\n", []any{map[string]any{"n": 1.5, "i": 7.0, "b": true, "o": map[string]any{"x": 1.0}, "a": []any{1.0}, "s": "5"}}, nil},
		{"semicolons", "n;s\n1;a,b\n", []any{map[string]any{"n": 1.0, "s": "a,b"}}, nil},
		{"tabs and a mark", "\xef\xbb\xbfn\ts\n1\tä\n", []any{map[string]any{"n": 1.0, "s": "ä"}}, nil},
		{"no end of line", "s\na", []any{map[string]any{"s": "a"}}, nil},
		{"nested", "p.x,p.y\\.z,q\n1,2,\n,,3\n", []any{map[string]any{"p": map[string]any{"x": "1", "y.z": "2"}}, map[string]any{"q": "3"}}, nil},
		{"empty cells", "s,n\n,\n\n\"\",1\n", []any{map[string]any{}, map[string]any{"n": 1.0}}, nil},
		{"short row", "s,n\na\n", []any{map[string]any{"s": "a"}}, nil},
		{"blank names at the end", "s,,\na,,\nb,,x\n", []any{map[string]any{"s": "a"}}, []string{"line 3, column 3: The cell stands in a column without a name."}},
		{"all that is wrong", "n,b,o,s\nx,maybe,[],ok\n1,true,{},ok\n", []any{map[string]any{"n": 1.0, "b": true, "o": map[string]any{}, "s": "ok"}}, []string{
			"line 2, column n: The cell must be a number, with a point before its decimals.",
			"line 2, column b: The cell must be true or false.", "line 2, column o: The cell must hold a JSON object.",
		}},
		{"lines inside quotes", "s,n\n\"a\nb\",x\nc,1\n", []any{map[string]any{"s": "c", "n": 1.0}}, []string{"line 2, column n: The cell must be a number, with a point before its decimals."}},
		{"not UTF-8", "s\n\xff\xfe\nb\n", []any{map[string]any{"s": "b"}}, []string{"line 2, column s: The text is not valid UTF-8."}},
		{"nul", "s\na\x00b\nc\n", []any{map[string]any{"s": "c"}}, []string{"line 2, column s: The text is not valid UTF-8, or holds U+0000."}},
		{"value and members", "s,s.x\na,\n,b\na,b\n", []any{map[string]any{"s": "a"}, map[string]any{"s": map[string]any{"x": "b"}}}, []string{"line 4, column s: The cell is a value, and other cells of the row are members of it."}},
		{"any kind", "loc.x\n1.5\ntrue\n007\nx\n", []any{loc(1.5), loc(true), loc("007"), loc("x")}, nil},
		{"unknown kind", "m\n5\ntrue\n\"[1,2]\"\n[oops\n", []any{map[string]any{"m": "5"}, map[string]any{"m": "true"}, map[string]any{"m": []any{1.0, 2.0}}, map[string]any{"m": "[oops"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, wrong, err := read(sheet.CSV, []byte(tt.file), typed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wrong, wrong); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func loc(v any) any { return map[string]any{"loc": map[string]any{"x": v}} }

func TestReadMapping(t *testing.T) {
	t.Parallel()
	o := kinds(map[string]string{"properties.size": "number"})
	o.Mapping = map[string]string{"Persons": "properties.size", "Note": ""}
	got, _, err := read(sheet.CSV, []byte("Persons,Note,type\n4,secret,Household\n"), o)
	want := []any{map[string]any{"properties": map[string]any{"size": 4.0}, "type": "Household"}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("read = %v, %v; want %v", got, err, want)
	}
	o.Mapping["Missing"] = "x"
	if _, _, err := read(sheet.CSV, []byte("Persons,Note\n"), o); sheet.AsError(err) == nil || sheet.AsError(err).Code != "unknown_column" {
		t.Errorf("err = %v, want unknown_column", err)
	}
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	file := "\xef\xbb\xbf{\"a\":1}\n\n  {\"b\":[2]}\r\n[1]\n{\"a\":1,\"a\":2}\n{\"a\":1} x\n{\"a\":\"\xff\"}\n{\"a\":" + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}\n" +
		"{\"a\":\"" + strings.Repeat("x", sheet.MaxLine) + "\"}\n{\"z\":null}"
	got, wrong, err := read(sheet.NDJSON, []byte(file), sheet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []any{map[string]any{"a": 1.0}, map[string]any{"b": []any{2.0}}, map[string]any{"z": nil}}; !cmp.Equal(got, want) {
		t.Errorf("records = %v, want %v", got, want)
	}
	want := []string{
		"line 4: The line must be one JSON object.", "line 5, column 8: A member appears twice: /a.", "line 6: There is data after the JSON object.",
		"line 7, column 7: The line is not valid JSON.", "line 8: Arrays and objects nest at most 64 deep.", "line 9: The line has more than 1048576 bytes.",
	}
	if diff := cmp.Diff(want, wrong); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// The fixture of formulas comes back unchanged, and other programs see nothing
// they would run.
func TestFormulas(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/formulas.json")
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	if err := json.Unmarshal(text, &cells); err != nil {
		t.Fatal(err)
	}
	var records []any
	for _, c := range cells {
		records = append(records, map[string]any{"s": c, "n": -5.5, "b": true})
	}
	typed := kinds(map[string]string{"s": "text", "n": "number", "b": "boolean"})
	for _, f := range []sheet.Format{sheet.CSV, sheet.XLSX, sheet.NDJSON} {
		file, _, err := write(f, records...)
		if err != nil {
			t.Fatal(err)
		}
		got, wrong, err := read(f, file, typed)
		if err != nil || len(wrong) > 0 {
			t.Fatalf("%s: %v %v", f, err, wrong)
		}
		if diff := cmp.Diff(records, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
		if f == sheet.NDJSON {
			continue
		}
		rows := otherParser(t, f, file)
		if len(rows) != len(records)+1 {
			t.Fatalf("%s: another parser sees %d rows, want %d", f, len(rows), len(records)+1)
		}
		column := slices.Index(rows[0], "s")
		for i, row := range rows[1:] {
			if cell := strings.TrimLeft(row[column], " \u00a0\ufeff\u200b\u000b\u3000"); cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("%s: cell %q of %q would run", f, cell, cells[i])
			}
			if n := row[slices.Index(rows[0], "n")]; n != "-5.5" {
				t.Errorf("%s: number = %q, want -5.5 as it is", f, n)
			}
		}
	}
}

// otherParser reads a file with a parser that is not ours.
func otherParser(t *testing.T, f sheet.Format, file []byte) [][]string {
	t.Helper()
	if f == sheet.CSV {
		rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	x, err := excelize.OpenReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, cell := range []string{"A2", "B2", "C2", "C3"} {
		if formula, err := x.GetCellFormula("Sheet1", cell); err != nil || formula != "" {
			t.Errorf("formula of %s = %q, %v; want none", cell, formula, err)
		}
	}
	rows, err := x.GetRows("Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Any record whose values a table can hold comes back as it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-z.\\='][a-z.\\=' ]{0,3}[a-z]`)
	scalar := rapid.OneOf(
		rapid.Map(rapid.StringN(1, 12, -1).Filter(storable), func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(-1e12, 1e12), func(f float64) any { return f }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.SliceOfN(rapid.StringN(0, 5, -1), 0, 3), func(list []string) any {
			out := make([]any, len(list))
			for i, s := range list {
				out[i] = s
			}
			return out
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		inner := rapid.MapOfN(name, scalar, 0, 4).Draw(t, "inner")
		record := rapid.MapOfN(name, scalar, 1, 4).Draw(t, "record")
		record["inner"] = any(inner)
		for _, f := range []sheet.Format{sheet.NDJSON, sheet.CSV, sheet.XLSX} {
			file, columns, err := write(f, record)
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			got, wrong, err := read(f, file, sheet.Options{Kind: kindsOf(columns, record)})
			if err != nil || len(wrong) > 0 || len(got) != 1 {
				t.Fatalf("%s: %v %v in %q", f, err, wrong, file)
			}
			if diff := cmp.Diff(any(record), got[0]); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", f, diff)
			}
		}
	})
}

// In columns nobody declares a value keeps its type.
func TestRoundTripUndeclared(t *testing.T) {
	t.Parallel()
	texts := []string{
		"-1", "1e5", "true", "false", "null", "[1]", "{}", `{"a":1}`, `"quoted"`, `"`, "", " 5", "5 ", "007", "=1+1", "'-1", "-x", "[oops", "1,5", "\t7", "x\ny", " =1", "\uFEFF+1",
	}
	undeclared := func(string) string { return "any" }
	check := func(record map[string]any) error {
		for _, f := range []sheet.Format{sheet.CSV, sheet.XLSX} {
			file, err := writeKinds(f, record, undeclared)
			if err != nil {
				return err
			}
			got, wrong, err := read(f, file, sheet.Options{Kind: undeclared})
			if err != nil || len(wrong) > 0 || len(got) != 1 {
				return fmt.Errorf("%s: %v %v in %q", f, err, wrong, file)
			}
			if diff := cmp.Diff(asAny(record), got[0]); diff != "" {
				return fmt.Errorf("%s (-want +got):\n%s", f, diff)
			}
		}
		return nil
	}
	for _, text := range texts {
		if err := check(map[string]any{"s": text, "n": 5.0, "b": true, "a": []any{"1"}}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	value := rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[-+0-9.eE"\[\]{}=' ]{0,6}`), asAny[string]), rapid.Map(rapid.Float64Range(-1e12, 1e12), asAny[float64]), rapid.Map(rapid.Bool(), asAny[bool]),
	)
	rapid.Check(t, func(t *rapid.T) {
		if err := check(rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), value, 1, 4).Draw(t, "record")); err != nil {
			t.Fatal(err)
		}
	})
}

func asAny[T any](v T) any { return v }

// writeKinds writes a record with what is declared of it.
func writeKinds(f sheet.Format, record any, kind func(string) string) ([]byte, error) {
	text, err := json.Marshal(record, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	columns, err := sheet.NewColumns()
	if err != nil {
		return nil, err
	}
	if err := columns.Collect(text); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := sheet.NewWriter(f, &out, sheet.WriterOptions{Columns: columns, Kind: kind})
	if err != nil {
		return nil, err
	}
	err = errors.Join(w.Write(text), w.Close())
	return out.Bytes(), err
}

// storable leaves out what is text to nobody.
func storable(s string) bool {
	return !strings.ContainsAny(s, "\x00\uFFFD") && !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[")
}

// kindsOf is what a protocol would say of a record.
func kindsOf(columns *sheet.Columns, record map[string]any) func(string) string {
	kinds := map[string]string{}
	var walk func(prefix string, m map[string]any)
	walk = func(prefix string, m map[string]any) {
		for name, v := range m {
			path := prefix + strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(name)
			switch v := v.(type) {
			case map[string]any:
				kinds[path] = "object"
				walk(path+".", v)
			case float64:
				kinds[path] = "number"
			case bool:
				kinds[path] = "boolean"
			case []any:
				kinds[path] = "array"
			default:
				kinds[path] = "string"
			}
		}
	}
	walk("", record)
	return func(path string) string { return kinds[path] }
}
