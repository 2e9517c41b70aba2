package xlsform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// wrong reads a workbook and gives what is wrong with it.
func wrong(t *testing.T, file []byte) []string {
	t.Helper()
	got, report, err := read(file)
	if got != nil || fault.CodeOf(err) != "TEMPLATE_IMPORT_INVALID" {
		t.Fatalf("Read = %v, %v; want TEMPLATE_IMPORT_INVALID", got, err)
	}
	var out []string
	for _, f := range findings(report) {
		if rest, ok := strings.CutPrefix(f, "error "); ok {
			out = append(out, rest)
		}
	}
	return out
}

// All mistakes of all sheets are named at once, and nothing that only follows
// from them.
func TestAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	sheets := func(end ...[]string) []byte {
		return workbook(t, map[string][][]string{
			"survey": append([][]string{
				{"type", "name", "label", "relevant", "constraint", "calculation", "choice_filter", "hearth_pii"},
				{"begin_group", "one", "One"},
				{"hologram", "a", "A"},
				{"text", "b", "B", "${a} = 'x' and ${c} = 'y'"},
				{"select_one nowhere", "c", "C"},
				{"text", "", "D", "${b} ="},
				{"integer", "b", "E", "", ". >> 4"},
				{"", "f", "F", "${nobody} = 1"},
				{"calculate", "g", "G", "", "", "frobnicate(${f})"},
				{"select_one l", "h", "H", "", "", "", "county = ${c}"},
				{"text", "i", "I", "selected(${c}, 'z')", "", "", "", "much"},
				{"begin_group", "two", "Two"},
				{"text", "again", "J", "${h} = 'x'"},
				{"end_group"},
			}, end...),
			"choices":  {{"list_name", "name", "label"}, {"l", "x", "X"}, {"l", "x", "Y"}, {"l", "", "Z"}, {"l", "a b", "A"}, {"l", "a;b", "A"}},
			"settings": {{"form_title", "default_language"}, {"T", "Klingon"}},
		})
	}
	want := []string{
		"settings!2/default_language unknown_language",
		"choices!3/name duplicate", "choices!4/name required", "choices!5/name invalid", "choices!6/name invalid",
		"survey!3/type type_unknown", "survey!5/type unknown_list", "survey!6/name required", "survey!7/name duplicate",
		"survey!6/relevant expression_invalid", "survey!7/constraint expression_invalid", "survey!8/relevant expression_invalid",
		"survey!9/calculation expression_not_translated", "survey!11/hearth_pii not_allowed",
	}
	closed := append([]string{}, want[:5]...)
	closed = append(closed, "survey!8/type required")
	closed = append(closed, want[5:]...)
	if diff := cmp.Diff(closed, wrong(t, sheets([]string{"end_group"}))); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	open := append([]string{}, closed[:6]...)
	open = append(open, "survey!2/type unbalanced")
	open = append(open, closed[6:]...)
	more := [][]string{{"begin_group", "three"}, {"text", "again"}, {"end_group"}}
	if diff := cmp.Diff(open, wrong(t, sheets(more...))); diff != "" {
		t.Errorf("errors with a group that is never closed (-want +got):\n%s", diff)
	}
}

// A semicolon separates choices in exports, wherever it comes from.
func TestChoiceValues(t *testing.T) {
	t.Parallel()
	file := workbook(t, map[string][][]string{
		"survey":  {{"type", "name"}, {"select_one l", "a"}},
		"choices": {{"list_name", "name", "hearth_value"}, {"l", "x", "a b"}, {"l", "y", "a;b"}},
	})
	if diff := cmp.Diff([]string{"choices!3/hearth_value invalid"}, wrong(t, file)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

const hard = `{"templateId":"e","sections":[{"id":"s","questions":[
{"id":"c","type":"calculate","calculate":"household.did"},
{"id":"n","type":"integer","validation":{"min":0,"max":10,"step":2}},
{"id":"d","type":"number","validation":{"min":0,"max":4,"step":2}},
{"id":"f","type":"number","validation":{"step":0.5}},
{"id":"county","type":"single_choice","options":["nrb","in mak"]},
{"id":"sub","type":"single_choice","options":[{"value":"wes","data":[{"county":"nrb"}]},{"value":"mut","data":[{"county":"in mak"}]}],"choiceFilter":"county == choice.county"},
{"id":"both","type":"multiple_choice","options":["wes","mut"],"constraint":"count(both) < 2","choiceFilter":"choice.value != county"},
{"id":"hand","type":"single_choice","options":["wes","mut"],"constraint":"!(hand in ['wes']) || county == 'nrb'"},
{"id":"either","type":"single_choice","options":["wes","mut"],"constraint":"(n > 1) || (n < 0) && (!(either in [\"wes\"]) || county == \"nrb\") && (!(either in [\"mut\"]) || county == \"x\")"},
{"id":"l","type":"repeat","label":{"en":"Stoves","sw":"Jiko"},"relevant":"n > 2","minRepeats":1,"maxRepeats":4,"questions":[{"id":"k","type":"text"}]},
{"id":"r","type":"repeat","constraint":"count(r) == coalesce(n + 1, 0)","required":"n + 1 > 0","questions":[{"id":"k2","type":"text","relevant":"household.group == 'x'"}]},
{"id":"after","type":"text","relevant":"c == \"x\""}]}]}`

func hardTemplate(t *testing.T) (*form.Template, []byte) {
	t.Helper()
	var tmpl form.Template
	if err := json.Unmarshal([]byte(hard), &tmpl); err != nil {
		t.Fatal(err)
	}
	file, err := write(&tmpl)
	if err != nil {
		t.Fatal(err)
	}
	return &tmpl, file
}

// Other programs get what their columns can say, and a list of what they
// cannot.
func TestWriteHard(t *testing.T) {
	t.Parallel()
	tmpl, file := hardTemplate(t)
	if err := same(tmpl); err != nil {
		t.Error(err)
	}
	survey, choices := rows(t, file, "survey", "name"), rows(t, file, "choices", "name")
	for _, tt := range []struct{ have, want string }{
		{survey["c"]["calculation"] + " " + survey["c"]["hearth_calculate"], `"" household.did`},
		{survey["n"]["type"] + " " + survey["n"]["parameters"], "range start=0 end=10 step=2"},
		{survey["d"]["type"] + " " + survey["d"]["parameters"] + " " + survey["d"]["hearth_type"], "range start=0 end=4 step=2 number"},
		{survey["f"]["type"] + " " + survey["f"]["constraint"], "decimal "},
		{survey["sub"]["choice_filter"] + " " + survey["sub"]["constraint"], "${county} = county "},
		{choices["wes"]["county"] + " " + survey["sub"]["hearth_choiceFilter"], "nrb county == choice.county"},
		{survey["both"]["choice_filter"] + " " + survey["both"]["constraint"], "name != ${county} count-selected(.) < 2"},
		{survey["hand"]["choice_filter"] + survey["hand"]["constraint"], "not(. = 'wes') or ${county} = 'nrb'"},
		{survey["either"]["choice_filter"] + survey["either"]["constraint"], "${n} > 1 or ${n} < 0 and (not(. = 'wes') or ${county} = 'nrb') and (not(. = 'mut') or ${county} = 'x')"},
		{survey["l_count"]["label::Kiswahili (sw)"] + survey["l_count"]["constraint"] + survey["l_count"]["relevant"], "Jiko Ngapi?. >= 1 and . <= 4${n} > 2"},
		{survey["l"]["repeat_count"], "${l_count}"},
		{survey["r"]["repeat_count"], "${n} + 1"},
	} {
		if tt.have != tt.want {
			t.Errorf("cell = %q, want %q", tt.have, tt.want)
		}
	}
	for _, row := range rows(t, file, "choices", "name") {
		for header := range row {
			if strings.Contains(header, "::") {
				t.Errorf("the sheet choices has a column %s: other programs take it for a language", header)
			}
		}
	}
	var notes []string
	for row, n := range rows(t, file, "hearth_notes", "row") {
		notes = append(notes, row+" "+n["column"]+" "+n["code"])
	}
	if diff := cmp.Diff(map[string]bool{"3 calculation not_in_xlsform": true, "6 constraint not_in_xlsform": true, "8 choice_filter not_in_xlsform": true, "17 relevant not_in_xlsform": true}, set(notes)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func set(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

// Where somebody changed what those columns say, it counts.
func TestEditedHard(t *testing.T) {
	t.Parallel()
	_, file := hardTemplate(t)
	for _, tt := range []struct {
		sheet, row string
		changes    map[string]string
		id, want   string // the question as JSON
		items      []string
	}{
		{"survey", "sub", map[string]string{"choice_filter": ""}, "sub", `{"id":"sub","type":"single_choice","options":[{"value":"wes","data":[{"county":"nrb"}]},{"value":"mut","data":[{"county":"in mak"}]}]}`, []string{"choice_filter changed"}},
		{"survey", "sub", map[string]string{"choice_filter": "county = ${county}"}, "sub", `{"id":"sub","type":"single_choice","options":[{"value":"wes","data":[{"county":"nrb"}]},{"value":"mut","data":[{"county":"in mak"}]}],"choiceFilter":"choice.county == county"}`, []string{"choice_filter changed"}},
		{"survey", "sub", map[string]string{"choice_filter": "name != ${county}", "constraint": ". != 'mut'"}, "sub", `{"id":"sub","type":"single_choice","options":[{"value":"wes","data":[{"county":"nrb"}]},{"value":"mut","data":[{"county":"in mak"}]}],"constraint":"sub != \"mut\"","choiceFilter":"choice.value != county"}`, []string{"choice_filter changed"}},
		{"choices", "wes", map[string]string{"county": "option_2"}, "sub", `{"id":"sub","type":"single_choice","options":[{"value":"wes","data":[{"county":"option_2"}]},{"value":"mut","data":[{"county":"in mak"}]}],"choiceFilter":"county == choice.county"}`, nil},
		{"survey", "both", map[string]string{"constraint": ""}, "both", `{"id":"both","type":"multiple_choice","options":["wes","mut"],"choiceFilter":"choice.value != county"}`, []string{"constraint changed"}},
		{"survey", "r", map[string]string{"repeat_count": "${n}"}, "r", `{"id":"r","type":"repeat","constraint":"count(r) == coalesce(n, 0)","required":"n > 0","questions":[{"id":"k2","type":"text","relevant":"household.group == 'x'"}]}`, []string{"repeat_count changed"}},
		{"survey", "r", map[string]string{"repeat_count": "5"}, "r", `{"id":"r","type":"repeat","minRepeats":5,"maxRepeats":5,"questions":[{"id":"k2","type":"text","relevant":"household.group == 'x'"}]}`, []string{"repeat_count changed"}},
		{"survey", "l_count", map[string]string{"constraint": ". <= 9"}, "l", `{"id":"l","type":"repeat","label":{"en":"Stoves","sw":"Jiko"},"relevant":"n > 2","constraint":"count(l) == coalesce(l_count, 0)","required":"l_count > 0","questions":[{"id":"k","type":"text"}]}`, []string{"repeat_count changed"}},
		{"survey", "n", map[string]string{"parameters": "start=0 end=3 step=0.5"}, "n", `{"id":"n","type":"number","validation":{"min":0,"max":3,"step":0.5}}`, nil},
		{"survey", "c", map[string]string{"calculation": "${n} + 1"}, "c", `{"id":"c","type":"calculate","calculate":"n + 1"}`, nil},
	} {
		t.Run(fmt.Sprintf("%s %v", tt.row, tt.changes), func(t *testing.T) {
			t.Parallel()
			got, report, err := read(edit(t, file, tt.sheet, tt.row, tt.changes))
			if err != nil {
				t.Fatalf("%+v", fault.As(err).Fields)
			}
			var want form.Question
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			have, _ := json.Marshal(question(got.Sections[0].Questions, tt.id))
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
}

// A cascade of many choices is kept, and a list that is too long for a question
// becomes a file.
func TestLongCascade(t *testing.T) {
	t.Parallel()
	for _, n := range []int{500, 1500} {
		choices := [][]string{{"list_name", "name", "label", "county"}, {"c", "county_1", "One"}, {"c", "county_2", "Two"}}
		for i := range n {
			choices = append(choices, []string{"l", fmt.Sprintf("ward_%d", i), fmt.Sprintf("Ward %d", i), fmt.Sprintf("county_%d", i%9)})
		}
		f, all, report := taken(t, map[string][][]string{
			"survey":  {{"type", "name", "constraint", "choice_filter", "calculation"}, {"select_one c", "county"}, {"select_one l", "ward", ". != 'ward_1'", "county = ${county}"}, {"calculate", "said", "", "", "jr:choice-name(${ward}, '${ward}')"}},
			"choices": choices,
		})
		var want []string
		if n > form.MaxOptions {
			want = []string{"note survey!3/type list_kept_as_file"}
		}
		if diff := cmp.Diff(want, report); diff != "" && n > form.MaxOptions {
			t.Errorf("%d: report (-want +got):\n%s", n, diff)
		}
		if q := all["ward"]; q.Constraint != `ward != "ward_1"` || q.ChoiceFilter != "choice.county == county" || (q.OptionsFrom != nil) != (n > form.MaxOptions) {
			t.Errorf("%d: constraint %s, filter %s, from %v", n, q.Constraint, q.ChoiceFilter, q.OptionsFrom)
		}
		for answers, want := range map[string][]string{
			`{"main":{"county":"county_1","ward":"ward_10"}}`: nil,
			`{"main":{"county":"county_1","ward":"ward_1"}}`:  {"/responses/main/ward constraint"},
			`{"main":{"county":"county_2","ward":"ward_10"}}`: {"/responses/main/ward not_offered"},
			`{"main":{"county":"county_2","ward":"ward_x"}}`:  {"/responses/main/ward not_an_option"},
		} {
			if diff := cmp.Diff(want, wrongs(f, answers)); diff != "" {
				t.Errorf("%d: %s (-want +got): %s", n, answers, diff)
			}
		}
	}
}

// Texts name questions as they are called after the import.
func TestReferences(t *testing.T) {
	t.Parallel()
	got, report, err := read(survey(t, nil, []string{"text", "head-name", "Name"}, []string{"text", "age", "How old is ${head-name}?"}))
	if err != nil {
		t.Fatal(err)
	}
	if label := got.Sections[0].Questions[1].Label[""]; label != "How old is ${head_name}?" {
		t.Errorf("label = %s", label)
	}
	if diff := cmp.Diff([]string{"warning survey!2/name id_changed", "note survey!2/name personal", "warning survey!3/label reference_not_filled"}, findings(report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if err := same(got); err != nil {
		t.Error(err)
	}
}

// Workbooks that were written when a filter was kept as a constraint are read:
// their filter counts.
func TestFilterKeptAsConstraint(t *testing.T) {
	t.Parallel()
	f, all, report := taken(t, map[string][][]string{
		"survey": {
			{"type", "name", "label", "constraint", "choice_filter", "hearth_constraint"},
			{"begin_group", "s"},
			{"select_one county", "county", "County"},
			{"select_one town", "town", "Town", "", "${county} = county", `(!(town in ["a"]) || county == "x") && (!(town in ["b"]) || county == "y")`},
			{"end_group", "s"},
		},
		"choices":  {{"list_name", "name", "label", "county"}, {"county", "x", "X"}, {"county", "y", "Y"}, {"town", "a", "A", "x"}, {"town", "b", "B", "y"}},
		"settings": {{"form_id", "hearth_format"}, {"old", "1"}},
	})
	if q := all["town"]; q.Constraint != "" || q.ChoiceFilter != "county == choice.county" {
		t.Errorf("constraint %s, filter %s", q.Constraint, q.ChoiceFilter)
	}
	if diff := cmp.Diff([]string{"warning survey!4/constraint changed"}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/responses/s/town not_offered"}, wrongs(f, `{"s":{"county":"x","town":"b"}}`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
