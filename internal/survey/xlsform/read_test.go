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
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// workbook makes a file of sheets and their rows with another program. A cell
// that begins with "=" is a formula.
func workbook(t testing.TB, sheets map[string][][]string) []byte {
	t.Helper()
	x := excelize.NewFile()
	defer x.Close()
	for name, rows := range sheets {
		if _, err := x.NewSheet(name); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			for j, text := range row {
				cell, err := excelize.CoordinatesToCellName(j+1, i+1)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(text, "=") {
					err = errors.Join(x.SetCellValue(name, cell, 7), x.SetCellFormula(name, cell, text))
				} else if text != "" {
					err = x.SetCellValue(name, cell, text)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := x.DeleteSheet("Sheet1"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := x.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// findings are the items of a report in short.
func findings(r *xlsform.Report) []string {
	var out []string
	for _, i := range r.Items {
		if (i.Code == "consent" || i.Code == "back_check") && i.Row == 0 {
			continue // nearly every form of these tests has none
		}
		out = append(out, fmt.Sprintf("%s %s!%d/%s %s", i.Level, i.Sheet, i.Row, i.Column, i.Code))
	}
	return out
}

// A form as people write them.
var household = map[string][][]string{
	"survey": {
		{"type", "name", "label::English (en)", "label::Kiswahili (sw)", "hint", "required", "relevant", "constraint", "constraint message", "calculation", "appearance", "choice_filter", "default", "parameters", "media::image::English (en)", "my own"},
		{"start", "start"},
		{"end", "end"},
		{"deviceid", "device"},
		{"note", "", "Welcome!"},
		{"begin group", "about", "The household", "Kaya"},
		{"text", "head-name", "Name of the head", "Jina", "", "yes"},
		{"integer", "members", "How many people?", "Watu wangapi?", "Count children too", "TRUE", "", ". > 0 and . <= 30", "Between 1 and 30."},
		{"select_one yesno", "consent", "May we ask?", "Tunaweza?", "", "yes", "", "", "", "", "minimal"},
		{"select_multiple fuels or_other", "fuels", "Which fuels?", "", "", "", "${consent} = 'yes'", "count-selected(.) <= 3", "", "", "", "", "wood"},
		{"decimal", "cost", "Monthly cost", "", "", "", "selected(${fuels}, 'gas') and ${members} >= 2", "", "", "", "", "", "-1.5"},
		{"end group"},
		{"", ""},
		{"begin repeat", "stoves", "Stoves"},
		{"text", "kind", "Kind"},
		{"integer", "hours", "Hours a day", "", "", "", "${kind} != ''", ". >= 0 and . <= 24"},
		{"end repeat"},
		{"begin group", "more", "More"},
		{"calculate", "total", "", "", "", "", "", "", "", "sum(${hours}) * ${members}"},
		{"range", "score", "Score", "", "", "", "", "", "", "", "rating", "", "", "start=1 end=7"},
		{"range", "level", "Level", "", "", "", "", "", "", "", "", "", "", "start=0 end=1 step=0.25"},
		{"image", "photo", "Photo", "", "", "", "", "", "", "", "signature"},
		{"geopoint", "place", "Where?", "", "", "", "", "", "", "", "", "", "-1.28 36.8 0 0"},
		{"barcode", "code", "Serial"},
		{"date", "visit", "Visit", "", "", "", "", ". <= today()", "", "", "", "", "today()"},
		{"acknowledge", "ok", "Understood?"},
		{"begin_group", "inner", "Inner"},
		{"rank fuels", "best", "Best?", "", "", "${ok} = 'OK'"},
		{"video", "film", "Film"},
		{"end_group"},
		{"select_one fuels", "main_fuel", "Main fuel?", "", "", "", "", "", "", "", "", "selected(${fuels}, name)", "", "", "fuel.png"},
		{"text", "late", "Late", "", "", "", "format-date(today(), '%Y') = '2026'", "regex(., '[A-Z]+[0-9]+')", "", "", "", "", "", "", "", "x"},
		{"hidden", "secret", "", "", "", "", "", "", "", "", "", "", "abc"},
		{"end group"},
	},
	"choices": {
		{"list name", "name", "label::English (en)", "label::Kiswahili (sw)"},
		{"yesno", "yes", "Yes", "Ndiyo"},
		{"yesno", "no", "No", "Hapana"},
		{"fuels", "wood", "Wood", "Kuni"},
		{"fuels", "gas", "Gas", "Gesi"},
	},
	"settings": {{"form_title", "form_id", "version", "default_language"}, {"Household form", "household form", "2026", "English (en)"}},
	"notes":    {{"anything"}},
}

const householdTemplate = `{"templateId":"household-form","title":"Household form","defaultLanguage":"en","languages":["en","sw"],"sections":[
{"id":"main","questions":[{"id":"note_row_5","type":"note","label":{"en":"Welcome!"}}]},
{"id":"about","title":{"en":"The household","sw":"Kaya"},"questions":[
 {"id":"head_name","type":"text","label":{"en":"Name of the head","sw":"Jina"},"required":true,"pii":"direct"},
 {"id":"members","type":"integer","label":{"en":"How many people?","sw":"Watu wangapi?"},"hint":"Count children too","required":true,"constraint":"members > 0 && members <= 30","constraintMessage":"Between 1 and 30."},
 {"id":"consent","type":"consent","label":{"en":"May we ask?","sw":"Tunaweza?"},"required":true},
 {"id":"fuels","type":"multiple_choice","label":{"en":"Which fuels?"},"relevant":"consent == true","constraint":"count(fuels) <= 3","options":[{"value":"wood","label":{"en":"Wood","sw":"Kuni"}},{"value":"gas","label":{"en":"Gas","sw":"Gesi"}}],"other":true,"default":["wood"]},
 {"id":"cost","type":"number","label":{"en":"Monthly cost"},"relevant":"selected(fuels, \"gas\") && members >= 2","default":-1.5}]},
{"id":"main_2","questions":[{"id":"stoves","type":"repeat","label":{"en":"Stoves"},"questions":[{"id":"kind","type":"text","label":{"en":"Kind"}},
  {"id":"hours","type":"integer","label":{"en":"Hours a day"},"relevant":"answered(kind)","constraint":"hours >= 0 && hours <= 24"}]}]},
{"id":"more","title":{"en":"More"},"questions":[
 {"id":"total","type":"calculate","calculate":"total(stoves.map(e, e.hours)) * members"},
 {"id":"score","type":"rating","label":{"en":"Score"},"validation":{"min":1,"max":7,"step":1}},
 {"id":"level","type":"number","label":{"en":"Level"},"validation":{"min":0,"max":1,"step":0.25}},
 {"id":"photo","type":"signature","label":{"en":"Photo"},"pii":"direct"},
 {"id":"place","type":"geo","label":{"en":"Where?"},"pii":"indirect","default":{"lat":-1.28,"lon":36.8}},
 {"id":"code","type":"barcode","label":{"en":"Serial"}},
 {"id":"visit","type":"date","label":{"en":"Visit"},"constraint":"visit <= today"},
 {"id":"ok","type":"boolean","label":{"en":"Understood?"}},
 {"id":"inner","type":"group","label":{"en":"Inner"},"questions":[
  {"id":"best","type":"rank","label":{"en":"Best?"},"required":"ok == true","options":[{"value":"wood","label":{"en":"Wood","sw":"Kuni"}},{"value":"gas","label":{"en":"Gas","sw":"Gesi"}}]},
  {"id":"film","type":"file","label":{"en":"Film"},"pii":"indirect"}]},
 {"id":"main_fuel","type":"single_choice","label":{"en":"Main fuel?"},"choiceFilter":"selected(fuels, choice.value)","options":[{"value":"wood","label":{"en":"Wood","sw":"Kuni"}},{"value":"gas","label":{"en":"Gas","sw":"Gesi"}}]},
 {"id":"late","type":"text","label":{"en":"Late"},"relevant":"formatDate(today, \"%Y\") == \"2026\"","constraint":"late.matches(\"^(?:[A-Z]+[0-9]+)$\")"},
 {"id":"secret","type":"text","readOnly":true,"default":"abc"}]}]}`

func TestReadHousehold(t *testing.T) {
	t.Parallel()
	got, report, err := read(workbook(t, household))
	if err != nil {
		t.Fatalf("%+v", fault.As(err))
	}
	var want form.Template
	if err := json.Unmarshal([]byte(householdTemplate), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprint(document(&want)), fmt.Sprint(document(got))); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	wantItems := []string{
		"note notes!0/ sheet_ignored",
		"note settings!2/version column_ignored",
		"warning settings!2/form_id id_changed",
		"note survey!32/my own column_ignored",
		"note survey!2/type metadata", "note survey!3/type metadata", "note survey!4/type metadata",
		"note survey!5/name name_made",
		"note survey!7/name personal", "note survey!22/name personal", "note survey!23/name personal", "note survey!29/name personal", "note survey!9/type consent",
		"warning survey!7/name id_changed",
		"note survey!9/appearance appearance_ignored",
		"warning survey!25/default default_ignored",
		"note survey!26/type type_changed",
		"note survey!29/type type_changed",
		"note survey!31/media::image::English (en) media::image_ignored",
		"warning survey!33/type type_changed",
	}
	got2 := findings(report)
	slices.Sort(got2)
	slices.Sort(wantItems)
	if diff := cmp.Diff(wantItems, got2); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if err := same(got); err != nil {
		t.Error(err)
	}
}

// survey is a workbook of a survey with the columns type, name, label and
// others, and a list yn.
func survey(t testing.TB, columns []string, rows ...[]string) []byte {
	t.Helper()
	return workbook(t, map[string][][]string{
		"survey":  append([][]string{append([]string{"type", "name", "label"}, columns...)}, rows...),
		"choices": {{"list_name", "name", "label"}, {"yn", "yes", "Yes"}, {"yn", "no", "No"}},
	})
}

// What makes a workbook unusable is named with its cell, all of it at once.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	q := func(cells ...string) []string { return cells }
	for _, tt := range []struct {
		name string
		file []byte
		want []string
	}{
		{"no workbook", []byte("hello"), []string{"error !0/ not_xlsx"}},
		{"no survey", workbook(t, map[string][][]string{"choices": {{"name"}}}), []string{"error survey!0/ missing_sheet"}},
		{"an empty survey", workbook(t, map[string][][]string{"survey": {{"type", "name"}}}), []string{"error survey!0/ empty"}},
		{"a survey without rows", workbook(t, map[string][][]string{"survey": {}}), []string{"error survey!0/ empty"}},
		{"no choices", workbook(t, map[string][][]string{"survey": {{"type", "name"}, {"select_one a", "q"}}}), []string{"error survey!2/type unknown_list"}},
		{"an unknown type", survey(t, nil, q("hologram", "q")), []string{"error survey!2/type type_unknown"}},
		{"no list", survey(t, nil, q("select_one", "q")), []string{"error survey!2/type required"}},
		{"names twice", survey(t, nil, q("text", "a", "A"), q("integer", "a", "B")), []string{"error survey!3/name duplicate"}},
		{"sections twice", survey(t, nil, q("begin group", "g"), q("text", "a"), q("end group"), q("begin group", "g"), q("text", "b"), q("end group")), []string{"error survey!5/name duplicate"}},
		{"no name", survey(t, nil, q("text", "", "A")), []string{"error survey!2/name required"}},
		{"no type", survey(t, nil, q("", "a", "A")), []string{"error survey!2/type required"}},
		{"a group without end", survey(t, nil, q("begin group", "g"), q("text", "a")), []string{"error survey!2/type unbalanced"}},
		{"an end without group", survey(t, nil, q("text", "a"), q("end group"), q("end repeat")), []string{"error survey!3/type unbalanced", "error survey!4/type unbalanced"}},
		{"ends crosswise", survey(t, nil, q("begin group", "g"), q("begin repeat", "r"), q("text", "a"), q("end group"), q("end repeat")), []string{"error survey!5/type unbalanced", "error survey!6/type unbalanced"}},
		{"groups too deep for us", survey(t, nil, nested(8)...), []string{"error survey!6/type too_deep"}},
		{"groups too deep for anyone", survey(t, nil, nested(500)...), []string{"error survey!22/type too_deep"}},
		{"a broken expression", survey(t, []string{"relevant", "constraint"}, q("text", "a", "A", "${b} =", ". >")), []string{"error survey!2/relevant expression_invalid", "error survey!2/constraint expression_invalid"}},
		{"a question that is not there", survey(t, []string{"relevant"}, q("text", "a", "A", "${b} = 1")), []string{"error survey!2/relevant expression_invalid"}},
		{"a calculation we do not have", survey(t, []string{"calculation"}, q("calculate", "a", "A", "frobnicate('x')")), []string{"error survey!2/calculation expression_not_translated"}},
		{"a cycle", survey(t, []string{"relevant"}, q("text", "a", "A", "${b} = 'x'"), q("text", "b", "B", "${a} = 'y'")), []string{"error survey!2/relevant cycle"}},
		{"a calculation of nothing", survey(t, nil, q("calculate", "a", "A")), []string{"error survey!2/calculation required"}},
		{"a language without code", survey(t, []string{"label::Klingon"}, q("text", "a", "A", "B")), []string{"error survey!1/label::Klingon unknown_language"}},
		{"a language twice", survey(t, []string{"hint::English (en)", "hint::en"}, q("text", "a")), []string{"error survey!1/hint::en duplicate_column"}},
		{"our columns with nonsense", survey(t, []string{"hearth_min", "hearth_pii", "hearth_dontKnow", "hearth_default", "hearth_maxLength"}, q("text", "a", "A", "low", "much", "perhaps", "{", "x")), []string{
			"error survey!2/hearth_min invalid", "error survey!2/hearth_maxLength invalid", "error survey!2/hearth_dontKnow invalid", "error survey!2/hearth_default invalid",
			"error survey!2/hearth_pii not_allowed",
		}},
		{"marks the form does not know", survey(t, []string{"hearth_pii", "hearth_relevant"}, q("text", "a", "A", "much"), q("text", "b", "B", "", "nobody == 1")), []string{"error survey!2/hearth_pii not_allowed", "error survey!3/relevant expression"}},
		{"CEL that is none", survey(t, []string{"hearth_relevant"}, q("text", "b", "B", "nobody == 1")), []string{"error survey!2/relevant expression"}},
		{"choices twice", workbook(t, map[string][][]string{"survey": {{"type", "name"}, {"select_one a", "q"}}, "choices": {{"list_name", "name"}, {"a", "x"}, {"a", "x"}, {"", "y"}, {"a", ""}}}), []string{"error choices!3/name duplicate", "error choices!4/list_name required", "error choices!5/name required"}},
		{"the same choice twice", workbook(t, map[string][][]string{"survey": {{"type", "name"}, {"select_one a", "q"}}, "choices": {{"list_name", "name"}, {"a", "x"}, {"a", "x"}}}), []string{"error choices!3/name duplicate"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, report, err := read(tt.file)
			f := fault.As(err)
			if got != nil || f == nil || f.Code != "TEMPLATE_IMPORT_INVALID" || f.Kind != fault.Invalid {
				t.Fatalf("Read = %v, %v; want TEMPLATE_IMPORT_INVALID", got, err)
			}
			var errs []string
			for _, i := range findings(report) {
				if strings.HasPrefix(i, "error") {
					errs = append(errs, i)
				}
			}
			if diff := cmp.Diff(tt.want, errs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if len(f.Fields) != len(errs) {
				t.Errorf("fields = %+v, want %d", f.Fields, len(errs))
			}
			if i := report.Items[len(report.Items)-1]; i.Row > 0 && !strings.Contains(f.Fields[len(f.Fields)-1].Detail, fmt.Sprintf("row %d, column", i.Row)) {
				t.Errorf("detail = %q, want the place in it", f.Fields[len(f.Fields)-1].Detail)
			}
		})
	}
}

// nested are groups inside each other, n deep.
func nested(n int) [][]string {
	var rows [][]string
	for i := range n {
		rows = append(rows, []string{"begin group", fmt.Sprintf("g%d", i)})
	}
	rows = append(rows, []string{"text", "a"})
	for range n {
		rows = append(rows, []string{"end group"})
	}
	return rows
}

// What is odd but can be read.
func TestReadOdd(t *testing.T) {
	t.Parallel()
	q := func(cells ...string) []string { return cells }
	for _, tt := range []struct {
		name string
		file []byte
		want []string
		is   func(*form.Template) bool
	}{
		{"a formula", survey(t, nil, q("text", "a", "=1+1")), []string{"note survey!2/label formula"}, func(t *form.Template) bool { return t.Sections[0].Questions[0].Label[""] == "7" }},
		{
			"an expression the form does not take", survey(t, []string{"relevant"}, q("geopoint", "a", "A"), q("text", "b", "B", "${a} = 1"), q("text", "c", "C", "${b} = 1")),
			[]string{"note survey!2/name personal", "warning survey!3/relevant expression_not_translated"},
			func(t *form.Template) bool {
				return t.Sections[0].Questions[1].Relevant == "" && t.Sections[0].Questions[2].Relevant != ""
			},
		},
		{"a default that is no choice", survey(t, []string{"default"}, q("select_one yn", "a", "A", "maybe")), []string{"warning survey!2/default default_ignored"}, func(t *form.Template) bool { return t.Sections[0].Questions[0].Default.IsZero() }},
		{"an empty group", survey(t, nil, q("begin group", "g"), q("end group"), q("text", "a")), []string{"warning survey!2/type empty_group"}, func(t *form.Template) bool { return len(t.Sections) == 1 }},
		{"a group called main", survey(t, nil, q("begin group", "main"), q("text", "a"), q("end group"), q("text", "b")), nil, func(t *form.Template) bool { return t.Sections[0].ID == "main" && t.Sections[1].ID == "main_2" }},
		{
			"names of CEL", survey(t, []string{"relevant"}, q("begin group", "type"), q("text", "in"), q("text", "b", "B", "${in} = 'x'"), q("end group")),
			[]string{"warning survey!2/name id_changed", "warning survey!3/name id_changed"},
			func(t *form.Template) bool {
				return t.Sections[0].ID == "type_" && t.Sections[0].Questions[1].Relevant == `in_ == "x"`
			},
		},
		{"a quote that looks like a guard", survey(t, []string{"relevant"}, q("text", "a", "A"), q("text", "b", "B", "'-1' = ${a}")), nil, func(t *form.Template) bool { return t.Sections[0].Questions[1].Relevant == `a == "-1"` }},
		{
			"an other that is there already", workbook(t, map[string][][]string{"survey": {{"type", "name"}, {"select_one a or_other", "q"}}, "choices": {{"list_name", "name"}, {"a", "x"}, {"a", "other"}}}),
			[]string{"note survey!2/type option_ignored"},
			func(t *form.Template) bool {
				return len(t.Sections[0].Questions[0].Options) == 1 && t.Sections[0].Questions[0].Other
			},
		},
		{"a disabled row", survey(t, []string{"disabled"}, q("text", "a"), q("hologram", "b", "", "yes")), []string{"note survey!3/disabled row_ignored"}, nil},
		{
			"a value that is calculated", survey(t, []string{"calculation", "read_only"}, q("integer", "a"), q("integer", "b", "B", "${a} * 2", "yes"), q("integer", "c", "C", "${a} * 2")),
			[]string{"warning survey!3/type type_changed", "warning survey!4/calculation calculation_ignored"},
			func(t *form.Template) bool {
				return t.Sections[0].Questions[1].Calculate == "a * 2" && t.Sections[0].Questions[2].Type == form.Integer
			},
		},
		{
			"a fixed repeat", survey(t, []string{"repeat_count"}, q("begin repeat", "r", "R", "3"), q("text", "a"), q("end repeat"), q("begin repeat", "s", "S", "${b}"), q("text", "b"), q("end repeat")),
			[]string{"warning survey!5/repeat_count expression_not_translated"},
			func(t *form.Template) bool {
				return t.Sections[0].Questions[0].MinRepeats == 3 && t.Sections[0].Questions[0].MaxRepeats == 3
			},
		},
		{"languages by name", survey(t, []string{"hint::Swahili", "hint:French"}, q("text", "a", "A", "x", "y")), nil, func(t *form.Template) bool {
			return cmp.Equal(t.Sections[0].Questions[0].Hint, form.Text{"sw": "x", "fr": "y"})
		}},
		{"capitals", workbook(t, map[string][][]string{"Survey ": {{"Type", "Name", "LABEL"}, {"Select_One yn", "a", "A"}}, "CHOICES": {{"List Name", "Value", "Label"}, {"yn", "x", "X"}}}), nil, func(t *form.Template) bool { return len(t.Sections[0].Questions[0].Options) == 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, report, err := read(tt.file)
			if err != nil {
				t.Fatalf("%+v", fault.As(err))
			}
			if diff := cmp.Diff(tt.want, findings(report)); tt.want != nil && diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if tt.is != nil && !tt.is(got) {
				text, _ := document(got)
				t.Errorf("template = %s", text)
			}
		})
	}
}

// A name that several groups have is an id with the name of its group; what names
// it near by finds it, and the workbook we write is read as the same.
func TestNamesOfSeveralGroups(t *testing.T) {
	t.Parallel()
	file := survey(t, []string{"relevant"}, []string{"begin group", "home", "Home"}, []string{"begin group", "wife", "Wife"}, []string{"text", "name", "Name"}, []string{"integer", "age", "Age", "${name} != ''"}, []string{"end group"},
		[]string{"begin repeat", "child", "Child"}, []string{"text", "name", "Name"}, []string{"integer", "age", "Age", "${name} != ''"}, []string{"end repeat"}, []string{"end group"})
	got, report, err := read(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := same(got); err != nil {
		t.Error(err)
	}
	wife, child := got.Sections[0].Questions[0], got.Sections[0].Questions[1]
	for _, tt := range []struct{ q, id, name, relevant string }{{"wife/0", "name", "", ""}, {"wife/1", "age", "", "answered(wife.name)"}, {"child/0", "child_name", "name", ""}, {"child/1", "child_age", "age", "answered(child_name)"}} {
		q := wife.Questions[tt.q[len(tt.q)-1]-'0']
		if strings.HasPrefix(tt.q, "child") {
			q = child.Questions[tt.q[len(tt.q)-1]-'0']
		}
		if q.ID != tt.id || q.Name != tt.name || q.Relevant != tt.relevant {
			t.Errorf("%s = %s, called %q, asked when %q; want %+v", tt.q, q.ID, q.Name, q.Relevant, tt)
		}
	}
	if all := fmt.Sprint(findings(report)); strings.Count(all, "renamed") != 2 {
		t.Errorf("findings = %s", all)
	}
}
