package xlsform_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// taken reads a workbook that must be taken, and gives its questions by id.
func taken(t *testing.T, sheets map[string][][]string) (*form.Form, map[string]form.Question, []string) {
	t.Helper()
	file := workbook(t, sheets)
	tmpl, report, err := xlsform.Read(bytes.NewReader(file), int64(len(file)), xlsform.Beside{})
	if err != nil {
		t.Fatalf("Read: %v (%v)", err, findings(report))
	}
	f, err := form.Compile(tmpl)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]form.Question{}
	for _, s := range tmpl.Sections {
		for _, q := range s.Questions {
			all[q.ID] = q
		}
	}
	return f, all, findings(report)
}

// wrongs are the codes of what is wrong with answers.
func wrongs(f *form.Form, answers string) []string {
	var out []string
	for _, w := range f.Check(form.Input{Answers: jsontext.Value(answers), Now: time.Now()}).Wrong {
		out = append(out, w.Pointer+" "+w.Code)
	}
	return out
}

// TestReadCascade has a filter decide between choices of the same name.
func TestReadCascade(t *testing.T) {
	t.Parallel()
	sheets := map[string][][]string{
		"survey": {{"type", "name", "label", "choice_filter"}, {"select_one states", "state", "S"}, {"select_one counties", "county", "C", "${state}=cf"}},
		"choices": {
			{"list_name", "name", "label", "cf"},
			{"states", "texas", "Texas"},
			{"states", "washington", "Washington"},
			{"states", "ohio", "Ohio"},
			{"counties", "king", "King", "washington"},
			{"counties", "pierce", "Pierce", "washington"},
			{"counties", "king", "King", "texas"},
		},
		"settings": {{"allow_choice_duplicates"}, {"yes"}},
	}
	f, all, _ := taken(t, sheets)
	if got := len(all["county"].Options); got != 2 {
		t.Errorf("county has %d options, want 2", got)
	}
	for answers, want := range map[string][]string{
		`{"main":{"state":"texas","county":"king"}}`:        nil,
		`{"main":{"state":"washington","county":"king"}}`:   nil,
		`{"main":{"state":"washington","county":"pierce"}}`: nil,
		`{"main":{"state":"texas","county":"pierce"}}`:      {"/responses/main/county not_offered"},
		`{"main":{"state":"ohio","county":"king"}}`:         {"/responses/main/county not_offered"},
	} {
		if diff := cmp.Diff(want, wrongs(f, answers)); diff != "" {
			t.Errorf("%s (-want +got): %s", answers, diff)
		}
	}
	sheets["settings"] = nil
	file := workbook(t, sheets)
	if _, report, err := xlsform.Read(bytes.NewReader(file), int64(len(file)), xlsform.Beside{}); err == nil || !slices.Contains(findings(report), "error choices!7/name duplicate") {
		t.Errorf("a form that does not say so: %v, %v; want a duplicate", err, findings(report))
	}
}

// TestReadAsWritten takes what public workbooks have.
func TestReadAsWritten(t *testing.T) {
	t.Parallel()
	f, all, report := taken(t, map[string][][]string{
		"survey": {
			{"type", "name", "label::English", "choice_filter", "calculation"},
			{"uri:deviceid", "device", ""},
			{"select one from sexes or specify other", "sex", "Sex"},
			{"select_one_external wards", "ward", "Ward", "of=${sex}"},
			{"select_one sexes", "labelled", "Labelled", "label::English != ''"},
			{"select_one sexes", "odd", "Odd", "of=male"},
			{"osm c1", "map", "Map"},
		},
		"choices":          {{"list name", "name", "label::English", "of"}, {"sexes", "male", "Male"}, {"sexes", "female", "Female"}},
		"external_choices": {{"list_name", "name", "label", "of"}, {"wards", "w1", "One", "male"}, {"wards", "w2", "Two", "female"}},
	})
	want := []string{
		"note settings!0/default_language default_language",
		"note survey!2/type metadata",
		"note survey!6/choice_filter expression_changed",
		"note survey!6/choice_filter expression_changed",
		"warning survey!7/type type_changed",
	}
	slices.Sort(report)
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got): %s", diff)
	}
	if q := all["sex"]; !q.Other || len(q.Options) != 2 {
		t.Errorf("sex = %+v, want two options and other", q)
	}
	for answers, want := range map[string][]string{
		`{"main":{"sex":"male","ward":"w1","labelled":"male"}}`: nil,
		`{"main":{"sex":"male","ward":"w2"}}`:                   {"/responses/main/ward not_offered"},
		`{"main":{"odd":"male"}}`:                               {"/responses/main/odd not_offered"}, // male is no column, and so nothing is offered
	} {
		if diff := cmp.Diff(want, wrongs(f, answers)); diff != "" {
			t.Errorf("%s (-want +got): %s", answers, diff)
		}
	}
}

// TestReadChance has a response keep the values that are made by chance.
func TestReadChance(t *testing.T) {
	t.Parallel()
	f, _, _ := taken(t, map[string][][]string{"survey": {
		{"type", "name", "label", "calculation"},
		{"text", "a", "A"},
		{"calculate", "id", "", "once(uuid())"},
		{"calculate", "two", "", "uuid()"},
		{"calculate", "die", "", "int(random() * 6) + 1"},
		{"begin repeat", "r", "R"},
		{"text", "b", "B"},
		{"calculate", "key", "", "uuid()"},
		{"end repeat"},
	}})
	check := func(id string) string {
		return string(f.Check(form.Input{Answers: jsontext.Value(`{"main":{"a":"x","r":[{"b":"1"},{"b":"2"}]}}`), Now: time.Now(), Response: map[string]any{"id": id}}).Answers)
	}
	first := check("r1")
	if again := check("r1"); again != first {
		t.Errorf("the same response is %s and then %s", first, again)
	}
	if other := check("r2"); other == first {
		t.Errorf("another response has the same values: %s", other)
	}
	var uuids []string
	for _, part := range bytes.Split([]byte(first), []byte{'"'}) {
		if len(part) == 36 {
			uuids = append(uuids, string(part))
		}
	}
	slices.Sort(uuids)
	if len(slices.Compact(uuids)) != 4 {
		t.Errorf("%s has not four different values", first)
	}
}

// TestReadPersonal marks what looks personal, unless the form says otherwise,
// and asks for the consent.
func TestReadPersonal(t *testing.T) {
	t.Parallel()
	rows := [][]string{
		{"type", "name", "label", "appearance", "hearth_pii"},
		{"text", "respondentName", "Who?"},
		{"integer", "phone_number", "Phone"},
		{"text", "national_id", "Card"},
		{"text", "village_name", "Village"},
		{"text", "stove_name", "Stove", "", "none"},
		{"image", "sign", "Sign", "signature"},
		{"image", "kitchen", "Photo"},
		{"geopoint", "spot", "Where?"},
		{"date", "date_of_birth", "Born"},
		{"date", "visit", "Visit"},
		{"text", "name", "Name", "", "none"},
	}
	_, all, report := taken(t, map[string][][]string{"survey": rows})
	for id, want := range map[string]form.PII{
		"respondentName": form.PIIDirect, "phone_number": form.PIIDirect, "national_id": form.PIIDirect, "sign": form.PIIDirect,
		"kitchen": form.PIIIndirect, "spot": form.PIIIndirect, "date_of_birth": form.PIIIndirect,
		"village_name": "", "visit": "", "stove_name": form.PIINone, "name": form.PIINone,
	} {
		if got := all[id].PII; got != want {
			t.Errorf("%s is marked %q, want %q", id, got, want)
		}
	}
	if n := len(report); n != 7 {
		t.Errorf("%d findings, want the 7 questions that were marked: %v", n, report)
	}
	asked := func(rows [][]string) (lines []int) {
		file := workbook(t, map[string][][]string{"survey": rows, "choices": {{"list_name", "name", "label"}, {"yn", "yes", "Yes"}, {"yn", "no", "No"}}})
		_, report, err := xlsform.Read(bytes.NewReader(file), int64(len(file)), xlsform.Beside{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range report.Items {
			if i.Code == "consent" {
				lines = append(lines, i.Row)
			}
		}
		return lines
	}
	if got := asked(rows); !slices.Equal(got, []int{0}) {
		t.Errorf("without a consent question rows %v are named, want 0", got)
	}
	if got := asked([][]string{{"type", "name", "label"}, {"select_one yn", "do_you_consent", "May we ask?"}}); !slices.Equal(got, []int{2}) {
		t.Errorf("rows %v are named as the consent, want 2", got)
	}
	if got := asked([][]string{{"type", "name", "label", "hearth_type"}, {"select_one yn", "do_you_consent", "May we ask?", "consent"}}); got != nil {
		t.Errorf("rows %v are named though the form says which it is", got)
	}
}
