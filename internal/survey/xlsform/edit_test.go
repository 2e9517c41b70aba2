package xlsform_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

const edited = `{"templateId":"e","title":{"en":"Title","sw":"Kichwa"},"sections":[{"id":"s","questions":[
{"id":"n","type":"integer","required":true,"validation":{"min":1,"max":20},"constraint":"n != 13"},
{"id":"a","type":"text","relevant":"n>3","required":"n > 4"},
{"id":"h","type":"text","relevant":"household.group == \"x\""},
{"id":"b","type":"boolean"},{"id":"w","type":"household_ref"},
{"id":"r","type":"rating","validation":{"max":7}},
{"id":"l","type":"repeat","minRepeats":2,"maxRepeats":2,"questions":[{"id":"k","type":"text","default":"x"}]},
{"id":"c","type":"calculate","calculate":"n+1"},
{"id":"m","type":"multiple_choice","options":["a b","d",{"value":"c","exclusive":true}],"default":["a b","d"]}]}]}`

// edit changes cells of the row of a question in a workbook we wrote.
func edit(t *testing.T, file []byte, sheet, name string, changes map[string]string) []byte {
	t.Helper()
	x, err := excelize.OpenReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rows, err := x.GetRows(sheet)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(rows, func(r []string) bool { return len(r) > 1 && (r[1] == name || sheet == "settings" && r[1] == "e") })
	for header, text := range changes {
		cell, err := excelize.CoordinatesToCellName(slices.Index(rows[0], header)+1, at+1)
		if err != nil {
			t.Fatalf("%s of %s: %v in %q", header, name, err, rows[0])
		}
		if err := x.SetCellValue(sheet, cell, text); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := x.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Where somebody changed a workbook of ours, what they wrote counts.
func TestEdited(t *testing.T) {
	t.Parallel()
	var tmpl form.Template
	if err := json.Unmarshal([]byte(edited), &tmpl); err != nil {
		t.Fatal(err)
	}
	if err := same(&tmpl); err != nil {
		t.Fatal(err)
	}
	file, err := write(&tmpl)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		changes map[string]string
		want    string // the question as JSON
		items   []string
	}{
		{"n", map[string]string{"constraint": ". < 40"}, `{"id":"n","type":"integer","required":true,"constraint":"n < 40"}`, []string{"constraint changed", "constraint changed"}},
		{"n", map[string]string{"constraint": "", "required": "no"}, `{"id":"n","type":"integer"}`, []string{"constraint changed", "constraint changed"}},
		{"n", map[string]string{"label": "How many?"}, `{"id":"n","type":"integer","label":"How many?","required":true,"constraint":"n != 13","validation":{"min":1,"max":20}}`, nil},
		{"a", map[string]string{"relevant": "${n} > 5"}, `{"id":"a","type":"text","required":"n > 4","relevant":"n > 5"}`, []string{"relevant changed"}},
		{"a", map[string]string{"relevant": "", "required": "yes"}, `{"id":"a","type":"text","required":true}`, []string{"relevant changed", "required changed"}},
		{"a", map[string]string{"required": "${n} = 1"}, `{"id":"a","type":"text","required":"n == 1","relevant":"n>3"}`, []string{"required changed"}},
		{"h", map[string]string{"relevant": "${n} = 1"}, `{"id":"h","type":"text","relevant":"n == 1"}`, []string{"relevant changed"}},
		{"h", map[string]string{"hearth_relevant": "household.group == 'y'"}, `{"id":"h","type":"text","relevant":"household.group == 'y'"}`, nil},
		{"b", map[string]string{"type": "integer"}, `{"id":"b","type":"integer"}`, []string{"type changed"}},
		{"w", map[string]string{"type": "barcode"}, `{"id":"w","type":"barcode"}`, []string{"type changed"}},
		{"r", map[string]string{"parameters": "start=0 end=3"}, `{"id":"r","type":"rating","validation":{"min":0,"max":3,"step":1}}`, nil},
		{"l", map[string]string{"repeat_count": "4"}, `{"id":"l","type":"repeat","questions":[{"id":"k","type":"text","default":"x"}],"minRepeats":4,"maxRepeats":4}`, nil},
		{"l", map[string]string{"repeat_count": ""}, `{"id":"l","type":"repeat","questions":[{"id":"k","type":"text","default":"x"}]}`, []string{"repeat_count changed"}},
		{"c", map[string]string{"calculation": "${n} + 2"}, `{"id":"c","type":"calculate","calculate":"n + 2"}`, nil},
		{"m", map[string]string{"default": "option_1"}, `{"id":"m","type":"multiple_choice","options":["a b","d",{"value":"c","exclusive":true}],"default":["a b"]}`, nil},
	} {
		t.Run(fmt.Sprintf("%s %v", tt.name, tt.changes), func(t *testing.T) {
			t.Parallel()
			got, report, err := read(edit(t, file, "survey", tt.name, tt.changes))
			if err != nil {
				t.Fatalf("%+v", fault.As(err).Fields)
			}
			var want form.Question
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			have, _ := json.Marshal(question(got.Sections[0].Questions, tt.name))
			wanted, _ := json.Marshal(want)
			if diff := cmp.Diff(string(wanted), string(have)); diff != "" {
				t.Errorf("question (-want +got):\n%s", diff)
			}
			var items []string
			for _, i := range report.Items {
				items = append(items, i.Column+" "+i.Code)
			}
			if diff := cmp.Diff(tt.items, items); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
	got, _, err := read(edit(t, file, "settings", "", map[string]string{"form_title": "New"}))
	if err != nil || !cmp.Equal(got.Title, form.Plain("New")) {
		t.Errorf("title = %v, %v; want New", got.Title, err)
	}
}

// Files that want to hurt.
func TestHostile(t *testing.T) {
	t.Parallel()
	wide := make([]string, 500)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d", i)
	}
	big := [][]string{{"type", "name", "label"}}
	for i := range 600 {
		big = append(big, []string{"text", fmt.Sprintf("q%d", i), strings.Repeat("x", 32_000)})
	}
	notes := [][]string{{"type", "name", "label", "appearance"}}
	for i := range 1500 {
		notes = append(notes, []string{"text", fmt.Sprintf("q%d", i%950), "", "odd"})
	}
	crowd, choices := [][]string{{"type", "name"}}, [][]string{{"list_name", "name"}}
	for i := range 900 {
		crowd = append(crowd, []string{"select_one l", fmt.Sprintf("q%d", i)})
		choices = append(choices, []string{"l", fmt.Sprint(i)})
	}
	texts, groups := [][]string{{"type", "name"}}, [][]string{{"type", "name"}}
	for i := range 1001 {
		texts = append(texts, []string{"text", fmt.Sprintf("q%d", i)})
	}
	for i := range 120 {
		groups = append(groups, []string{"begin group", fmt.Sprintf("g%d", i)}, []string{"note", fmt.Sprintf("n%d", i)}, []string{"end group"})
	}
	many := map[string][][]string{"survey": {{"type", "name"}, {"text", "a"}}}
	for i := range 60 {
		many[fmt.Sprintf("x%d", i)] = nil
	}
	for _, tt := range []struct {
		name, code string
		sheets     map[string][][]string
	}{
		{"many columns", "too_many_columns", map[string][][]string{"survey": {wide}}},
		{"much text", "too_large", map[string][][]string{"survey": big}},
		{"many findings", "duplicate", map[string][][]string{"survey": notes}},
		{"one list for all", "too_many", map[string][][]string{"survey": crowd, "choices": choices}},
		{"many sections", "too_many", map[string][][]string{"survey": groups}},
		{"many questions", "too_many", map[string][][]string{"survey": texts}},
		{"many sheets", "", many},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, report, err := read(workbook(t, tt.sheets))
			if tt.code == "" {
				if err != nil || got == nil || len(findings(report)) > 20 {
					t.Errorf("Read = %v, %v with %d items", got, err, len(report.Items))
				}
				return
			}
			f := fault.As(err)
			if got != nil || f == nil || len(f.Fields) == 0 || f.Fields[0].Code != tt.code || len(report.Items) > 1000 || len(f.Fields) > 100 {
				t.Errorf("Read = %v, %+v with %d items; want %s", got, f, len(report.Items), tt.code)
			}
		})
	}
}

// Made with our own writer: the other one takes its time.
func TestHostileManyRows(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := sheet.NewBook(&out, "survey")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sheet(), w.Row("type", "name")); err != nil {
		t.Fatal(err)
	}
	for range 20_001 {
		if err := w.Row("note", "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, _, err := read(out.Bytes())
	if f := fault.As(err); got != nil || f == nil || f.Fields[0].Code != "too_large" {
		t.Errorf("Read = %v, %v; want too_large", got, err)
	}
}

// A text that no cell can hold is a fault, not a broken file.
func TestWriteTooLarge(t *testing.T) {
	t.Parallel()
	words := make([]string, 50)
	for i := range words {
		words[i] = strings.Repeat("ä", 900) + fmt.Sprint(i)
	}
	tmpl := sampleTemplate(t)
	tmpl.Sections[0].Questions[0].Indicators = words
	if _, err := write(tmpl); fault.CodeOf(err) != "TEMPLATE_EXPORT_TOO_LARGE" {
		t.Errorf("err = %v, want TEMPLATE_EXPORT_TOO_LARGE", err)
	}
}

func FuzzRead(f *testing.F) {
	file, err := write(sampleTemplate(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, "text", "${a} = 1", "label::English (en)")
	f.Add(file, "select_multiple l", "k = ${a} or selected(${a}, name)", "hint")
	f.Add(file, "begin repeat", "${a} + 1", "hint::en")
	f.Fuzz(func(t *testing.T, file []byte, typ, expr, header string) {
		if _, _, err := read(file); err != nil && fault.As(err) == nil {
			t.Errorf("%v is no fault", err)
		}
		if strings.ContainsRune(typ+expr+header, 0) || len(typ+expr+header) > 10_000 || strings.HasPrefix(typ, "=") || strings.HasPrefix(expr, "=") || strings.HasPrefix(header, "=") {
			return
		}
		rows := [][]string{
			{"type", "name", "relevant", "constraint", "default", "choice_filter", "repeat_count", header},
			{"text", "a", "", "", "", "", "", "x"},
			{typ, "b", expr, expr, expr, expr, expr, "y"},
			{"text", "c"},
			{"end repeat"},
		}
		choices := [][]string{{"list_name", "name", "k"}, {"l", "x", "1"}, {"l", "y", "2"}}
		got, _, err := xlsform.Read(bytesOf(workbook(t, map[string][][]string{"survey": rows, "choices": choices})))
		if err != nil && fault.As(err) == nil {
			t.Errorf("%v is no fault", err)
		}
		if got != nil {
			if _, err := form.Compile(got); err != nil {
				t.Errorf("the form does not take what was read: %v", err)
			}
		}
	})
}

func bytesOf(file []byte) (*bytes.Reader, int64, xlsform.Beside) {
	return bytes.NewReader(file), int64(len(file)), xlsform.Beside{}
}
