package xlsform_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// items is the path to the rows of a file.
const items = "/root" + "/item"

// pulling is a form whose choices and values come from files.
var pulling = map[string][][]string{
	"survey": {
		{"type", "name", "label", "choice_filter", "calculation", "appearance", "parameters", "relevant"},
		{"select_one counties", "county", "County"},
		{"select_one_from_file villages.csv", "village", "Village", "county = ${county} and pop > 50"},
		{"select_multiple_from_file Villages.csv", "near", "Near", "", "", "", "value=label, label=county"},
		{"select_one found", "searched", "Searched", "", "", "minimal search('villages', 'contains', 'label', ${part}, 'county', ${county})"},
		{"text", "part", "Part"},
		{"calculate", "pop", "", "", "pulldata('villages', 'pop', 'name', ${village})"},
		{"calculate", "people", "", "", "sum(instance('villages')" + items + "[county = ${county}]/pop)"},
		{"calculate", "many", "", "", "count(instance('villages')" + items + "[county = ${county} and pop > 100])"},
		{"calculate", "all", "", "", "count(instance('villages')" + items + ")"},
		{"calculate", "said", "", "", "jr:choice-name(${village}, '${village}')"},
		{"note", "large", "Large", "", "", "", "", "pulldata('villages', 'pop', 'name', ${village}) > 100"},
	},
	"choices":  {{"list_name", "name", "label"}, {"counties", "kitui", "Kitui"}, {"counties", "makueni", "Makueni"}, {"found", "name", "label"}},
	"settings": {{"form_id"}, {"pulling"}},
}

const villages = "name,label,county,pop,title\nv1,Mutomo,kitui,120,a\nv2,Ikutha,kitui,40,b\nv3,Wote,makueni,200,c\nv4,Mutituni,kitui,60,d\n"

// readWith reads a workbook with files.
func readWith(t *testing.T, sheets map[string][][]string, files map[string]string) (*form.Template, []string, error) {
	t.Helper()
	beside := xlsform.Beside{Files: map[string][]byte{}}
	for name, text := range files {
		beside.Files[name] = []byte(text)
	}
	file := workbook(t, sheets)
	tmpl, report, err := xlsform.Read(bytes.NewReader(file), int64(len(file)), beside)
	return tmpl, findings(report), err
}

func TestFiles(t *testing.T) {
	t.Parallel()
	tmpl, report, err := readWith(t, pulling, map[string]string{"villages.csv": villages, "unused.csv": "a\n"})
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	if diff := cmp.Diff([]string{"note unused.csv!0/ file_ignored"}, slices.DeleteFunc(report, func(s string) bool { return strings.Contains(s, "consent") })); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if len(tmpl.Files) != 1 || tmpl.Files[0].Name != "villages.csv" || tmpl.Files[0].Rows != 4 {
		t.Errorf("files = %+v, want one", tmpl.Files)
	}
	f, err := form.Compile(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ answers, want string }{
		{`{"county":"kitui","village":"v1","near":["Wote","Ikutha"],"part":"MUT","searched":"v4"}`, `{"main":{"all":4,"county":"kitui","many":1,"near":["Wote","Ikutha"],"part":"MUT","people":220,"pop":"120","said":"Mutomo","searched":"v4","village":"v1"}}`},
		{`{"county":"makueni","village":"v3"}`, `{"main":{"all":4,"county":"makueni","many":1,"people":200,"pop":"200","said":"Wote","village":"v3"}}`},
		{`{"county":"kitui","village":"v2"}`, "/responses/main/village not_offered"},
		{`{"county":"kitui","village":"v3"}`, "/responses/main/village not_offered"},
		{`{"county":"kitui","village":"v9"}`, "/responses/main/village not_an_option"},
		{`{"near":["v1"]}`, "/responses/main/near/0 not_an_option"},
		{`{"county":"kitui","part":"mut","searched":"v2"}`, "/responses/main/searched not_offered"},
		{`{"county":"makueni","part":"mut","searched":"v1"}`, "/responses/main/searched not_offered"},
	} {
		r := f.Check(form.Input{Answers: []byte(`{"main":` + tt.answers + `}`)})
		got := string(r.Answers)
		if len(r.Wrong) > 0 {
			got = r.Wrong[0].Pointer + " " + r.Wrong[0].Code
		}
		if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.answers, got, tt.want)
		}
	}
	out, err := write(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	survey := rows(t, out, "survey", "name")
	for _, tt := range []struct{ have, want string }{
		{survey["village"]["type"] + " " + survey["village"]["choice_filter"], "select_one_from_file villages.csv county = ${county} and number(pop) > 50"},
		{survey["near"]["type"] + " " + survey["near"]["parameters"], "select_multiple_from_file villages.csv value=label label=county"},
		{survey["pop"]["calculation"], "pulldata('villages', 'pop', 'name', ${village})"},
		{survey["said"]["calculation"], "pulldata('villages', 'label', 'name', ${village})"},
	} {
		if tt.have != tt.want {
			t.Errorf("cell = %q, want %q", tt.have, tt.want)
		}
	}
	// Our own workbook is read with the files that the template has.
	back, more, err := xlsform.Read(bytes.NewReader(out), int64(len(out)), xlsform.Beside{Stored: tmpl.Files})
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	if diff := cmp.Diff(mustDocument(t, tmpl), mustDocument(t, back)); diff != "" || len(more.Items) > 0 {
		t.Errorf("read back (-want +got):\n%s%+v", diff, more.Items)
	}
}

func mustDocument(t *testing.T, tmpl *form.Template) string {
	t.Helper()
	text, err := document(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What is not here is named with its row before anything else happens.
func TestMissingFiles(t *testing.T) {
	t.Parallel()
	rows := map[string][][]string{
		"survey": {
			{"type", "name", "label", "calculation", "relevant", "appearance", "choice_filter", "parameters"},
			{"select_one_from_file towns.csv", "town", "Town"},
			{"calculate", "pop", "", "pulldata('towns', 'pop', 'name', ${town})"},
			{"text", "a", "A", "", "instance('towns')" + items + "[name = 'x']/pop > 3"},
			{"select_one l", "b", "B", "", "", "search('towns')"},
			{"select_one_from_file places.geojson", "c", "C"},
			{"select_one_from_file villages.csv", "d", "D", "", "", "", "", "value=code"},
			{"calculate", "e", "", "pulldata('villages', 'people', 'name', ${d})"},
			{"select_one_from_file broken.csv", "f", "F"},
			{"select_one l", "g", "G", "", "", "search('villages', 'matches', 'zone', 'x')"},
		},
		"choices": {{"list_name", "name", "label"}, {"l", "name", "label"}},
	}
	_, report, err := readWith(t, rows, map[string]string{"villages.csv": villages, "broken.csv": "name\na\nb,c\n"})
	if fault.CodeOf(err) != "TEMPLATE_IMPORT_INVALID" {
		t.Fatalf("err = %v", err)
	}
	want := []string{
		"error survey!2/type missing_file",
		"error survey!5/type missing_file",
		"error survey!6/type file_kind",
		"error survey!7/type missing_column",
		"error broken.csv!3/ too_many_cells",
		"error survey!3/calculation missing_file",
		"error survey!4/relevant missing_file",
		"error survey!8/calculation expression_invalid",
		"error survey!10/appearance missing_column",
	}
	got := slices.DeleteFunc(report, func(s string) bool { return !strings.HasPrefix(s, "error") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// A loop asks its questions for each choice of a list.
func TestLoop(t *testing.T) {
	t.Parallel()
	tmpl, report, err := readWith(t, map[string][][]string{
		"survey": {
			{"type", "name", "label", "relevant", "calculation"},
			{"integer", "people", "People"},
			{"begin loop over stoves", "each", "Stoves", "${people} > 0"},
			{"integer", "hours", "How long is the %(label)s used?"},
			{"text", "why", "Why is the %(name)s not used?", "${hours} = 0"},
			{"end loop"},
			{"calculate", "total", "", "", "${hours_wood} + ${hours_gas}"},
		},
		"choices": {{"list_name", "name", "label"}, {"stoves", "wood", "wood stove"}, {"stoves", "gas", "gas stove"}},
	}, nil)
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	if want := "main: people each: each_wood hours_wood why_wood each_gas hours_gas why_gas main_2: total"; order(tmpl) != want {
		t.Errorf("order = %s, want %s", order(tmpl), want)
	}
	if !slices.Contains(report, "note survey!3/type loop_unrolled") {
		t.Errorf("report = %v", report)
	}
	gas := tmpl.Sections[1].Questions[1]
	if gas.Label[""] != "gas stove" || gas.Relevant != "" || tmpl.Sections[1].Relevant != "people > 0" || gas.Questions[0].Label[""] != "How long is the gas stove used?" || gas.Questions[1].Relevant != "each.each_gas.hours_gas == 0" && gas.Questions[1].Relevant != "each_gas.hours_gas == 0" {
		t.Errorf("gas = %+v", gas)
	}
	f, err := form.Compile(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	r := f.Check(form.Input{Answers: []byte(`{"main":{"people":2},"each":{"each_wood":{"hours_wood":0,"why_wood":"smoke"},"each_gas":{"hours_gas":3}}}`)})
	if !r.OK() || !strings.Contains(string(r.Answers), `"total":3`) || len(r.Dropped) > 0 {
		t.Errorf("answers = %s, wrong %+v, dropped %v", r.Answers, r.Wrong, r.Dropped)
	}
	_, report, err = readWith(t, map[string][][]string{"survey": {{"type", "name", "label"}, {"begin loop over stoves", "each", "Stoves"}, {"text", "a", "A"}, {"end loop"}}}, nil)
	if err == nil || !slices.Contains(report, "error survey!2/type unknown_list") {
		t.Errorf("a loop over nothing: %v", report)
	}
	deep := [][]string{{"type", "name", "label"}}
	for i := range 8 {
		deep = append(deep, []string{"begin loop over l", fmt.Sprintf("l%d", i), "L"})
	}
	deep = append(deep, []string{"text", "a", "A"})
	for range 8 {
		deep = append(deep, []string{"end loop"})
	}
	choices := [][]string{{"list_name", "name", "label"}}
	for i := range 30 {
		choices = append(choices, []string{"l", fmt.Sprintf("c%d", i), "C"})
	}
	_, report, err = readWith(t, map[string][][]string{"survey": deep, "choices": choices}, nil)
	if err == nil || !slices.ContainsFunc(report, func(s string) bool { return strings.HasSuffix(s, "too_many") }) {
		t.Errorf("loops in loops: %v", report)
	}
}

// A workbook includes others that come with it.
func TestInclude(t *testing.T) {
	t.Parallel()
	main := map[string][][]string{"survey": {
		{"type", "name", "label", "relevant"},
		{"text", "a", "A"},
		{"include", "yes or no"},
		{"text", "b", "B", "${good} = 'yes'"},
	}}
	other := workbook(t, map[string][][]string{
		"survey":  {{"name", "type", "label"}, {"good", "select_one yn", "Good?"}, {"bad", "hologram", "Bad"}},
		"choices": {{"list_name", "name", "label"}, {"yn", "yes", "Yes"}, {"yn", "no", "No"}},
	})
	_, report, err := readWith(t, main, map[string]string{"Yes or No.xlsx": string(other)})
	if err == nil || !slices.Contains(report, "error yes or no.xlsx survey!3/type type_unknown") {
		t.Errorf("a mistake in the other workbook: %v", report)
	}
	other = workbook(t, map[string][][]string{
		"survey":  {{"name", "type", "label"}, {"good", "select_one yn", "Good?"}},
		"choices": {{"list_name", "name", "label"}, {"yn", "yes", "Yes"}, {"yn", "no", "No"}},
	})
	tmpl, _, err := readWith(t, main, map[string]string{"Yes or No.xlsx": string(other)})
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	if want := "main: a good b"; order(tmpl) != want || len(tmpl.Sections[0].Questions[1].Options) != 2 {
		t.Errorf("order = %s, want %s", order(tmpl), want)
	}
	_, report, err = readWith(t, main, nil)
	if err == nil || !slices.Contains(report, "error survey!3/type missing_file") {
		t.Errorf("a workbook that is not here: %v", report)
	}
}

// Functions over those elements of a repeat that meet a condition.
func TestSomeOnly(t *testing.T) {
	t.Parallel()
	tmpl, _, err := readWith(t, map[string][][]string{"survey": {
		{"type", "name", "label", "calculation"},
		{"begin repeat", "people", "People"},
		{"text", "first", "First"},
		{"integer", "age", "Age"},
		{"geopoint", "at", "Where"},
		{"end repeat"},
		{"integer", "least", "Least"},
		{"calculate", "n", "", "count-if(${people}, ${age} >= ${least})"},
		{"calculate", "sum", "", "sum-if(${age}, ${age} >= ${least})"},
		{"calculate", "low", "", "min-if(${age}, ${age} >= ${least})"},
		{"calculate", "high", "", "max-if(${age}, ${age} < ${least})"},
		{"calculate", "who", "", "join-if(', ', ${first}, ${age} >= ${least})"},
		{"calculate", "way", "", "round(distance(${at}) div 1000, 0)"},
	}}, nil)
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	f, err := form.Compile(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	r := f.Check(form.Input{Answers: []byte(`{"main":{"least":18,"people":[{"first":"Ann","age":20,"at":{"lat":0,"lon":0}},{"first":"Bo","age":4},{"first":"Cy","age":40,"at":{"lat":0,"lon":1}},{"first":"Di"}]}}`)})
	for _, want := range []string{`"n":2`, `"sum":60`, `"low":20`, `"high":4`, `"who":"Ann, Cy"`, `"way":111`} {
		if !strings.Contains(string(r.Answers), want) {
			t.Errorf("answers = %s, want %s", r.Answers, want)
		}
	}
}

// What is calculated once is not calculated again.
func TestOnce(t *testing.T) {
	t.Parallel()
	tmpl, _, err := readWith(t, map[string][][]string{"survey": {
		{"type", "name", "label", "calculation"},
		{"integer", "x", "X"},
		{"calculate", "first", "", "once(${x} * 2)"},
		{"calculate", "now", "", "${x} * 2"},
		{"begin repeat", "r", "R"},
		{"integer", "y", "Y"},
		{"calculate", "was", "", "once(${y})"},
		{"end repeat"},
	}}, nil)
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	if err := same(tmpl); err != nil {
		t.Error(err)
	}
	f, err := form.Compile(tmpl)
	if err != nil || !f.Keeps() {
		t.Fatal(f.Keeps(), err)
	}
	stored := f.Check(form.Input{Answers: []byte(`{"main":{"x":1,"r":[{"y":5},{}]}}`)})
	r := f.Check(form.Input{Answers: []byte(`{"main":{"x":4,"r":[{"y":6},{"y":7},{"y":8}]}}`), Before: stored.Answers})
	if want := `{"main":{"first":2,"now":8,"r":[{"was":5,"y":6},{"was":7,"y":7},{"was":8,"y":8}],"x":4}}`; string(r.Answers) != want {
		t.Errorf("answers = %s, want %s", r.Answers, want)
	}
}
