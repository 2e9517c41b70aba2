package xlsform_test

import (
	"bytes"
	"fmt"
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

// A report says which sections answers stand under, for a form names no main.
func TestReportNamesSections(t *testing.T) {
	t.Parallel()
	_, report, err := read(workbook(t, map[string][][]string{"survey": {
		{"type", "name", "label"},
		{"text", "a", "A"},
		{"integer", "b", "B"},
		{"begin group", "farm", "Farm"},
		{"text", "c", "C"},
		{"end group"},
		{"text", "d", "D"},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	want := []xlsform.Made{{ID: "main", Row: 2, Questions: 2}, {ID: "farm", Row: 4, Questions: 1}, {ID: "main_2", Row: 7, Questions: 1}}
	if !slices.Equal(report.Sections, want) {
		t.Errorf("sections = %+v, want %+v", report.Sections, want)
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
	asked := func(rows [][]string) (found []string, consent []string) {
		file := workbook(t, map[string][][]string{"survey": rows, "choices": {{"list_name", "name", "label"}, {"yn", "yes", "Yes"}, {"yn", "no", "No"}, {"three", "yes", "Yes"}, {"three", "no", "No"}, {"three", "later", "Later"}}})
		tmpl, report, err := xlsform.Read(bytes.NewReader(file), int64(len(file)), xlsform.Beside{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range report.Items {
			if i.Code == "consent" || i.Code == "back_check" {
				found = append(found, fmt.Sprintf("%d %s", i.Row, i.Code))
			}
		}
		for _, q := range tmpl.Sections[0].Questions {
			if q.Type == form.Consent {
				consent = append(consent, q.ID)
			}
		}
		return found, consent
	}
	for _, tt := range []struct {
		name    string
		rows    [][]string
		found   []string
		consent []string
	}{
		{"none", rows, []string{"0 consent", "0 back_check"}, nil},
		{"by its name", [][]string{{"type", "name", "label", "hearth_backCheckClass"}, {"select_one yn", "do_you_consent", "May we ask?", "1"}, {"text", "a", "A"}}, []string{"2 consent"}, []string{"do_you_consent"}},
		{"by its label", [][]string{{"type", "name", "label"}, {"acknowledge", "q1", "Do you agree to take part?"}, {"text", "a", "A"}}, []string{"2 consent", "0 back_check"}, []string{"q1"}},
		{"to pictures", [][]string{{"type", "name", "label"}, {"select_one yn", "photo_consent", "May we take a picture?"}}, []string{"0 consent", "0 back_check"}, nil},
		{"three answers", [][]string{{"type", "name", "label"}, {"select_one three", "consent", "May we ask?"}}, []string{"0 consent", "0 back_check"}, nil},
		{"the form says which", [][]string{{"type", "name", "label", "hearth_type"}, {"select_one yn", "ask", "May we ask?", "consent"}, {"select_one yn", "consent_2", "Do you agree?"}}, []string{"0 back_check"}, []string{"ask"}},
		{"the form says it is not", [][]string{{"type", "name", "label", "hearth_type"}, {"select_one yn", "consent", "May we ask?", "none"}}, []string{"0 consent", "0 back_check"}, nil},
	} {
		found, consent := asked(tt.rows)
		if diff := cmp.Diff([][]string{tt.found, tt.consent}, [][]string{found, consent}); diff != "" {
			t.Errorf("%s (-want +got): %s", tt.name, diff)
		}
	}
}

// A consent that was recognised is compared as the form does.
func TestReadConsent(t *testing.T) {
	t.Parallel()
	f, _, _ := taken(t, map[string][][]string{
		"survey":  {{"type", "name", "label", "relevant"}, {"select_one yn", "consent", "May we ask?"}, {"text", "a", "A", "${consent} = 'yes'"}, {"text", "b", "B", "selected(${consent}, 'no')"}},
		"choices": {{"list_name", "name", "label"}, {"yn", "yes", "Yes"}, {"yn", "no", "No"}},
	})
	r := f.Check(form.Input{Answers: jsontext.Value(`{"main":{"consent":true,"a":"x","b":"y"}}`)})
	if !f.HasConsent() || r.Consent == nil || !*r.Consent || string(r.Answers) != `{"main":{"a":"x","consent":true}}` {
		t.Errorf("answers = %s, consent %v", r.Answers, r.Consent)
	}
}

// Labels say who a question is about where its name does not.
func TestReadPersonalLabels(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"type", "name", "label::English (en)", "label::Français (fr)"}}
	want := map[string]form.PII{}
	for i, tt := range []struct {
		typ, en, fr string
		pii         form.PII
	}{
		{"text", "What is your name?", "", form.PIIDirect},
		{"text", "Respondent", "Numéro de téléphone", form.PIIDirect},
		{"integer", "What is your phone number?", "", form.PIIDirect},
		{"integer", "How many mobile phones do you own?", "", ""},
		{"text", "Name of the village", "", ""},
		{"text", "What do you call the stove brand by name?", "", ""},
		{"text", "ID number on the card", "", form.PIIDirect},
		{"date", "When were you born?", "", form.PIIIndirect},
		{"integer", "Year of birth", "", form.PIIIndirect},
		{"integer", "Age in years", "", ""},
		{"select_one yn", "Do you know his name?", "", ""},
		{"text", "What did ${name} say?", "", ""},
	} {
		id := fmt.Sprintf("q%d", i)
		rows, want[id] = append(rows, []string{tt.typ, id, tt.en, tt.fr}), tt.pii
	}
	rows = append(rows, []string{"text", "name", "", "", ""})
	want["name"] = form.PIIDirect
	_, all, _ := taken(t, map[string][][]string{"survey": rows, "choices": {{"list_name", "name", "label"}, {"yn", "yes", "Yes"}, {"yn", "no", "No"}}})
	for id, pii := range want {
		if got := all[id].PII; got != pii {
			t.Errorf("%s %v is marked %q, want %q", id, all[id].Label, got, pii)
		}
	}
}

// Every column of ours is documented, and no other.
func TestColumnsAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, c := range xlsform.HearthColumns() {
		documented[c.Sheet+" "+c.Name] = true
	}
	written := xlsform.WrittenColumns()
	for name := range written {
		if !documented[name] {
			t.Errorf("%s is not documented", name)
		}
	}
	for name := range documented {
		if !written[name] {
			t.Errorf("%s is documented and never written", name)
		}
	}
}
