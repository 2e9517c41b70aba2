package xlsform_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// A form as KoboToolbox makes them: questions and groups alternate, choices
// depend on answers, and an answer says how often a group is repeated.
var kobo = map[string][][]string{
	"survey": {
		{"type", "name", "label::English (en)", "label::Kiswahili (sw)", "required", "relevant", "constraint", "constraint_message::English (en)", "calculation", "choice_filter", "repeat_count", "parameters", "default"},
		{"start", "start"},
		{"note", "intro", "Good morning", "Habari"},
		{"select_one county", "county", "County", "Kaunti", "true"},
		{"select_one sub", "sub", "Subcounty of ${county}", "", "true", "", "", "", "", "county=${county}"},
		{"begin_group", "people", "People", "Watu"},
		{"integer", "size", "How many live here?", "", "yes", "", ". >= 1 and . <= 20", "1 to 20 people"},
		{"end_group"},
		{"begin_repeat", "member", "Member", "", "", "", "", "", "", "", "${size}"},
		{"text", "name", "Name"},
		{"integer", "age", "Age", "", "yes", "", ". < 120"},
		{"select_multiple fuel", "gathers", "What do they gather?", "", "", "${age} > 5"},
		{"end_repeat"},
		{"calculate", "ages", "", "", "", "", "", "", "sum(${age})"},
		{"begin_group", "cooking", "Cooking", "Kupika", "", "${size} > 0"},
		{"select_multiple fuel or_other", "fuels", "Fuels"},
		{"select_one fuel", "first", "The main one", "", "", "", "", "", "", "selected(${fuels}, name)"},
		{"select_multiple place", "places", "Where?", "", "", "", "count-selected(.) <= 2", "", "", "kind = ${first} or kind = 'any'"},
		{"end_group"},
		{"range", "heat", "How hot?", "", "", "", "", "", "", "", "", "start=-4 end=10 step=2", "-2"},
		{"text", "more", "Anything else?"},
	},
	"choices": {
		{"list_name", "name", "label::English (en)", "label::Kiswahili (sw)", "county", "kind"},
		{"county", "nrb", "Nairobi"},
		{"county", "mak", "Makueni"},
		{"sub", "wes", "Westlands", "", "nrb"},
		{"sub", "lan", "Langata", "", "nrb"},
		{"sub", "mut", "Mutomo", "", "mak"},
		{"fuel", "wood", "Wood", "Kuni"},
		{"fuel", "gas", "Gas", "Gesi"},
		{"place", "yard", "Yard", "", "", "wood"},
		{"place", "kitchen", "Kitchen", "", "", "gas"},
		{"place", "shop", "Shop", "", "", "any"},
	},
	"settings": {{"form_title", "form_id", "default_language"}, {"Households", "kobo", "English (en)"}},
}

// order lists the sections and questions of a template.
func order(t *form.Template) string {
	var out []string
	var walk func(qs []form.Question)
	walk = func(qs []form.Question) {
		for _, q := range qs {
			out = append(out, q.ID)
			walk(q.Questions)
		}
	}
	for _, s := range t.Sections {
		out = append(out, s.ID+":")
		walk(s.Questions)
	}
	return strings.Join(out, " ")
}

func TestKobo(t *testing.T) {
	t.Parallel()
	got, report, err := read(workbook(t, kobo))
	if err != nil {
		t.Fatalf("%+v", fault.As(err).Fields)
	}
	const want = "main: intro county sub people: size main_2: member name age gathers ages cooking: fuels first places main_3: heat more"
	if order(got) != want {
		t.Errorf("order = %s, want %s", order(got), want)
	}
	if diff := cmp.Diff([]string{"note survey!2/type metadata", "warning survey!5/label::English (en) reference_not_filled", "note survey!10/name personal"}, findings(report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if err := same(got); err != nil {
		t.Error(err)
	}
	f, err := form.Compile(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, answers, wrong string }{
		{"all well", `{"main":{"county":"nrb","sub":"lan"},"people":{"size":2},"main_2":{"member":[{"age":3},{"age":30,"gathers":["wood"]}]},
			"cooking":{"fuels":["wood","gas"],"first":"wood","places":["yard","shop"]},"main_3":{"heat":4}}`, ""},
		{"a subcounty of another county", `{"main":{"county":"nrb","sub":"mut"}}`, "/responses/main/sub not_offered"},
		{"a subcounty of no county", `{"main":{"sub":"mut"}}`, "/responses/main/sub not_offered"},
		{"too few members", `{"people":{"size":2},"main_2":{"member":[{"age":3}]}}`, "/responses/main_2/member constraint"},
		{"members of nobody", `{"main_2":{"member":[{"age":3}]}}`, "/responses/main_2/member constraint"},
		{"nobody", `{"main_2":{"member":[]}}`, ""},
		{"a fuel that is not used", `{"people":{"size":1},"cooking":{"fuels":["gas"],"first":"wood"}}`, "/responses/cooking/first not_offered"},
		{"a place of another fuel", `{"people":{"size":1},"cooking":{"fuels":["gas"],"first":"gas","places":["shop","yard"]}}`, "/responses/cooking/places not_offered"},
		{"too many places", `{"people":{"size":1},"cooking":{"fuels":["gas"],"first":"gas","places":["shop","kitchen","yard"]}}`, "/responses/cooking/places constraint; /responses/cooking/places not_offered"},
		{"between the steps", `{"main_3":{"heat":3}}`, "/responses/main_3/heat step"},
		{"above the range", `{"main_3":{"heat":12}}`, "/responses/main_3/heat out_of_range"},
	} {
		r := f.Check(form.Input{Answers: []byte(tt.answers)})
		var wrong []string
		for _, w := range r.Wrong {
			wrong = append(wrong, w.Pointer+" "+w.Code)
		}
		if strings.Join(wrong, "; ") != tt.wrong {
			t.Errorf("%s: wrong = %q, want %q", tt.name, wrong, tt.wrong)
		}
	}
	r := f.Check(form.Input{Answers: []byte(`{"main":{"county":"nrb","sub":"lan"},"people":{"size":2}}`)})
	if !slices.ContainsFunc(r.Missing, func(m fault.Field) bool { return m.Pointer == "/responses/main_2/member" }) {
		t.Errorf("missing = %+v, want the members", r.Missing)
	}
}

// What XLSForm has a column for is there when a form goes out again.
func TestKoboOut(t *testing.T) {
	t.Parallel()
	got, _, err := read(workbook(t, kobo))
	if err != nil {
		t.Fatal(err)
	}
	file, err := write(got)
	if err != nil {
		t.Fatal(err)
	}
	survey, choices := rows(t, file, "survey", "name"), rows(t, file, "choices", "name")
	for _, tt := range []struct{ have, want string }{
		{survey["sub"]["choice_filter"], "county = ${county}"},
		{choices["mut"]["county"], "mak"},
		{survey["first"]["choice_filter"], "selected(${fuels}, name)"},
		{survey["places"]["choice_filter"], "kind = ${first} or kind = 'any'"},
		{survey["places"]["constraint"], "count-selected(.) <= 2"},
		{survey["member"]["repeat_count"], "${size}"},
		{survey["heat"]["type"] + " " + survey["heat"]["parameters"], "range start=-4 end=10 step=2"},
		{survey["heat"]["default"], "-2"},
		{rows(t, file, "settings", "form_id")["kobo"]["version"], "3"},
	} {
		if tt.have != tt.want {
			t.Errorf("cell = %q, want %q", tt.have, tt.want)
		}
	}
}

// A filter comes back as it was, whatever the choices are called.
func TestRoundTripFilter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		counties, towns := genOptions(t, "counties"), genOptions(t, "towns")
		kind := rapid.SampledFrom([]form.Type{form.SingleChoice, form.MultipleChoice}).Draw(t, "kind")
		for i := range towns {
			for range rapid.IntRange(0, 2).Draw(t, "rows") {
				row := map[string]string{"county": counties[rapid.IntRange(0, len(counties)-1).Draw(t, "county")].Value}
				if rapid.Bool().Draw(t, "more") {
					row["Sub_county"] = rapid.SampledFrom([]string{"x", "y z", "0"}).Draw(t, "sub")
				}
				if !slices.ContainsFunc(towns[i].Data, func(m map[string]string) bool { return maps.Equal(m, row) }) {
					towns[i].Data = append(towns[i].Data, row)
				}
			}
		}
		if !slices.ContainsFunc(towns, func(o form.Option) bool { return len(o.Data) > 0 && o.Data[0]["Sub_county"] != "" }) {
			towns[0].Data = []map[string]string{{"county": counties[0].Value, "Sub_county": "x"}}
		}
		filter := rapid.SampledFrom([]string{"choice.county == county", "choice.Sub_county == \"x\" || choice.value != county", "choice.county.startsWith(text(county))", "household.did == choice.county"}).Draw(t, "filter")
		tmpl := &form.Template{TemplateID: "t", Sections: []form.Section{{ID: "s", Questions: []form.Question{
			{ID: "county", Type: form.SingleChoice, Options: counties}, {ID: "town", Type: kind, Options: towns, ChoiceFilter: filter},
		}}}}
		if _, err := form.Compile(tmpl); err != nil {
			t.Fatalf("%+v", fault.As(err).Fields)
		}
		if err := same(tmpl); err != nil {
			t.Fatal(err)
		}
	})
}
