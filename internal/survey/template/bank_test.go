package template_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
)

// bank is a form of the shipped templates.
func bank(t *testing.T, id string, sections ...string) *form.Form {
	t.Helper()
	f, v, err := template.New(template.Config{}).Form(t.Context(), nil, "ws", template.Ref{ID: id, Sections: sections}) // no store is asked
	if err != nil || !v.Shipped || v.Version != 2 {
		t.Fatalf("%s: %+v, %v %v", id, v, err, fields(err))
	}
	return f
}

func check(f *form.Form, answers string) *form.Result {
	return f.Check(form.Input{Answers: jsontext.Value(answers), Now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
}

func pointers(list []fault.Field) string {
	out := make([]string, len(list))
	for i, f := range list {
		out[i] = strings.TrimPrefix(f.Pointer, "/responses/")
	}
	return strings.Join(out, " ")
}

// Every question of the bank is in its section and stage.
func TestBank(t *testing.T) {
	t.Parallel()
	const (
		consent     = "consent: consent_given respondent_is_main_cook language carbon_rights_waiver"
		eligibility = "eligibility eligibilityCriteria: current_cooking target_area household_in_other_programme owns_target_device baseline_stove_type willing_to_participate"
		cooking     = "cooking_patterns cookingPatterns: devices(type fuel days_per_week meals_per_day role) kitchen_location ventilation fuel_amount_per_week(fuel_type amount) fuel_source collection_hours fuel_cost_month heating_device lighting_source electricity_source"
		perceptions = "stove_perceptions stovePerceptions: satisfaction would_recommend perceived_smoke perceived_savings willingness_to_pay preferred_device"
		meals       = "usage: used_last_7_days meals_yesterday_by_device(project_stove old_device other_device) hours_last_day still_uses_old_device reasons_non_use "
	)
	for id, want := range map[string][]string{
		"baseline-v1": {consent, eligibility, "socio_economic socioEconomicData: household_size children_under_5 income_band housing_type head_education density", cooking, perceptions},
		"follow-up-v1": {
			consent, "installation: install_date installed_by serial_number condition photo gps training_received problems", meals + "what_works_well", perceptions,
		},
		"monitoring-v1": {
			consent, eligibility, cooking, meals + "stove_in_good_condition old_device_disposed satisfaction",
			"impact: fuel_cost_month hours_saved respiratory_symptoms use_of_saved_time burns",
		},
	} {
		doc := bank(t, id).Template()
		var got []string
		for _, s := range doc.Sections {
			got = append(got, strings.TrimSpace(s.ID+" "+s.Flag)+": "+names(s.Questions))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n got %s\nwant %s", id, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
		for _, l := range doc.Completeness() {
			if !l.Complete {
				t.Errorf("%s in %s: %d of %d texts, missing %v", id, l.Language, l.Present, l.Total, l.Missing)
			}
		}
		if !bank(t, id).HasConsent() || doc.ReviewIntervalDays != 365 || !slices.Equal(doc.Languages, []string{"en", "sw"}) {
			t.Errorf("%s: consent %v, every %d days, in %v", id, bank(t, id).HasConsent(), doc.ReviewIntervalDays, doc.Languages)
		}
	}
}

func names(qs []form.Question) string {
	var out []string
	for _, q := range qs {
		name := q.ID
		if len(q.Questions) > 0 {
			name += "(" + names(q.Questions) + ")"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// The two questions of the interface document are as it shows them.
func TestDocumentedQuestions(t *testing.T) {
	t.Parallel()
	doc := bank(t, "baseline-v1").Template()
	cooking, size := doc.Sections[1].Questions[0], doc.Sections[2].Questions[0]
	if cooking.ID != "current_cooking" || cooking.Type != form.MultipleChoice || !cooking.Required.Always {
		t.Errorf("current_cooking = %+v", cooking)
	}
	var options []string
	for _, o := range cooking.Options {
		if len(o.Label) > 0 || o.Exclusive || o.Score != nil {
			t.Errorf("option %s is no plain string", o.Value)
		}
		options = append(options, o.Value)
	}
	if !slices.Equal(options, []string{"wood", "charcoal", "lpg", "electric"}) {
		t.Errorf("options = %v", options)
	}
	if v := size.Validation; size.ID != "household_size" || size.Type != form.Number || *v.Min != 1 || *v.Max != 20 || v.Step != nil {
		t.Errorf("household_size = %+v", size)
	}
	if got := doc.Validations.RequiredSections; !slices.Equal(got, []string{"eligibility"}) {
		t.Errorf("required sections = %v", got)
	}
}

// documented are the sections that the documented survey body selects.
func documented() []string {
	return []string{"consent", "eligibility", "socio_economic", "cooking_patterns", "stove_perceptions"}
}

// The documented response is taken, and is not whole: nobody has said yes.
func TestDocumentedResponse(t *testing.T) {
	t.Parallel()
	f := bank(t, "baseline-v1", documented()...)
	r := check(f, `{"eligibility":{"current_cooking":["wood","charcoal"]},"socio_economic":{"household_size":5}}`)
	if !r.OK() || len(r.Missing) > 0 || len(r.Dropped) > 0 || r.Complete || len(r.NoConsent) != 1 || r.Answered != 2 || r.Consent != nil {
		t.Errorf("wrong %v, missing %v, dropped %v, complete %v, answered %d of %d", r.Wrong, r.Missing, r.Dropped, r.Complete, r.Answered, r.Relevant)
	}
	for answers, want := range map[string]string{
		`{"socio_economic":{"household_size":5}}`:                                                        "eligibility eligibility/current_cooking",
		`{"eligibility":{"current_cooking":["wood"]},"consent":{"consent_given":false}}`:                 "",
		`{"consent":{"consent_given":false}}`:                                                            "",
		`{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"children_under_5":2}}`:           "",
		`{"eligibility":{"current_cooking":["lpg"]},"cooking_patterns":{"kitchen_location":"outdoors"}}`: "",
	} {
		r := check(f, answers)
		got := pointers(r.Missing)
		if !r.OK() || got != want && !(want != "" && strings.HasPrefix(got, "eligibility")) {
			t.Errorf("%s: wrong %v, missing %s, want %s", answers, r.Wrong, got, want)
		}
	}
	for answers, want := range map[string]string{
		`{"eligibility":{"current_cooking":"wood"}}`:                                                                            "eligibility/current_cooking",
		`{"eligibility":{"current_cooking":["coal"]}}`:                                                                          "eligibility/current_cooking/0",
		`{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":21}}`:                                   "socio_economic/household_size",
		`{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":2,"children_under_5":3}}`:               "socio_economic/children_under_5",
		`{"eligibility":{"current_cooking":["wood"]},"usage":{"used_last_7_days":true},"stove_perceptions":{"satisfaction":6}}`: "stove_perceptions/satisfaction usage",
	} {
		got := strings.Split(pointers(check(f, answers).Wrong), " ")
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: wrong %v, want %s", answers, got, want)
		}
	}
}

// A household that has agreed is asked everything that matters.
func TestInterviewIsWhole(t *testing.T) {
	t.Parallel()
	f := bank(t, "baseline-v1")
	r := check(f, `{"consent":{"consent_given":true},"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":5}}`)
	for _, must := range []string{"consent/respondent_is_main_cook", "eligibility/target_area", "socio_economic/income_band", "cooking_patterns/devices", "stove_perceptions/satisfaction"} {
		if !slices.Contains(strings.Fields(pointers(r.Missing)), must) {
			t.Errorf("%s is not missed in %s", must, pointers(r.Missing))
		}
	}
	if r.Complete || r.Consent == nil || !*r.Consent {
		t.Errorf("complete %v, consent %v", r.Complete, r.Consent)
	}
	for id, answers := range interviews() {
		f := bank(t, id)
		r := check(f, answers)
		if !r.OK() || !r.Complete || len(r.Missing) > 0 || len(r.Dropped) > 0 || r.Completeness < 0.8 {
			t.Errorf("%s: wrong %v, missing %v, dropped %v, %.2f", id, r.Wrong, r.Missing, r.Dropped, r.Completeness)
		}
		if r := check(f, `{"consent":{"consent_given":false}}`); !r.OK() || !r.Complete || r.Relevant != 1 {
			t.Errorf("%s refused: wrong %v, missing %v, complete %v, %d asked", id, r.Wrong, r.Missing, r.Complete, r.Relevant)
		}
		if id == "baseline-v1" {
			continue
		}
		if r := check(f, `{}`); r.Complete || !strings.Contains(pointers(r.Missing), "consent/consent_given") {
			t.Errorf("%s without anything: complete %v, missing %s", id, r.Complete, pointers(r.Missing))
		}
	}
}

// interviews are whole answers to the shipped templates.
func interviews() map[string]string {
	const consent = `"consent":{"consent_given":true,"respondent_is_main_cook":true,"language":"sw","carbon_rights_waiver":true}`
	const eligibility = `"eligibility":{"current_cooking":["wood","charcoal"],"target_area":true,"household_in_other_programme":{"noAnswer":"dont_know"},"owns_target_device":false,"baseline_stove_type":"three_stone","willing_to_participate":true}`
	const cooking = `"cooking_patterns":{"devices":[{"type":"three_stone","fuel":"wood","days_per_week":7,"meals_per_day":2,"role":"main"},{"type":{"other":"drum"},"fuel":"charcoal","days_per_week":2,"role":"secondary"}],
		"kitchen_location":"separate_building","ventilation":"door","fuel_amount_per_week":[{"fuel_type":"wood","amount":{"value":25.5,"unit":"kg"}}],"fuel_source":["collected","bought"],"collection_hours":6,
		"fuel_cost_month":1200,"heating_device":"none","lighting_source":"solar","electricity_source":"solar_home"}`
	const perceptions = `"stove_perceptions":{"satisfaction":4,"would_recommend":true,"perceived_smoke":"little","perceived_savings":"less","willingness_to_pay":2500,"preferred_device":"improved"}`
	const usage = `"usage":{"used_last_7_days":true,"meals_yesterday_by_device":{"project_stove":2,"old_device":1},"hours_last_day":2.5,`
	return map[string]string{
		"baseline-v1": `{` + consent + `,` + eligibility + `,"socio_economic":{"household_size":5,"children_under_5":1,"income_band":{"noAnswer":"refused"},"housing_type":"mud","head_education":"primary","density":"low"},` +
			cooking + `,` + perceptions + `}`,
		"follow-up-v1": `{` + consent + `,"installation":{"install_date":"2026-05-02","serial_number":"SN-1","condition":"good","training_received":true,"problems":["none"],
			"photo":"sha256:` + strings.Repeat("ab", 32) + `","gps":{"lat":-1.2,"lon":36.8},"installed_by":"Amina"},` + usage + `"still_uses_old_device":true,"what_works_well":["saves_fuel",{"other":"looks"}]},` + perceptions + `}`,
		"monitoring-v1": `{` + consent + `,` + eligibility + `,` + cooking + `,` + usage + `"still_uses_old_device":false,"stove_in_good_condition":true,"old_device_disposed":"destroyed","satisfaction":5},
			"impact":{"fuel_cost_month":300,"hours_saved":4,"respiratory_symptoms":["none"],"use_of_saved_time":["income"],"burns":0}}`,
	}
}

// Personal data is kept apart, and a reason for not using the stove is asked
// only when it was not used.
func TestBankDetails(t *testing.T) {
	t.Parallel()
	r := check(bank(t, "follow-up-v1"), interviews()["follow-up-v1"])
	want := []string{"/responses/installation/gps", "/responses/installation/installed_by", "/responses/installation/photo"}
	got := slices.Sorted(slices.Values(r.Masked))
	if !slices.Equal(got, want) {
		t.Errorf("masked = %v, want %v", got, want)
	}
	monitoring := bank(t, "monitoring-v1")
	r = check(monitoring, `{"consent":{"consent_given":true},"usage":{"used_last_7_days":false}}`)
	if got := pointers(r.Missing); !strings.Contains(got, "usage/reasons_non_use") || strings.Contains(got, "usage/old_device_disposed") {
		t.Errorf("missing = %s", got)
	}
	r = check(monitoring, `{"usage":{"used_last_7_days":true,"reasons_non_use":["broken"]}}`)
	if len(r.Dropped) != 1 {
		t.Errorf("dropped = %v", r.Dropped)
	}
	if r := check(bank(t, "follow-up-v1"), `{"installation":{"install_date":"2026-06-09"}}`); pointers(r.Wrong) != "installation/install_date" {
		t.Errorf("a day to come: wrong %v", r.Wrong)
	}
	problems := check(bank(t, "follow-up-v1"), `{"installation":{"problems":["none","smoke"]}}`)
	if problems.OK() {
		t.Error("none beside a problem is taken")
	}
}

// An interview that answers no more than it must is whole: the threshold asks for
// nothing that is not required.
func TestLeastInterviewIsWhole(t *testing.T) {
	t.Parallel()
	for id, text := range interviews() {
		f := bank(t, id)
		var answers map[string]map[string]jsontext.Value
		if err := json.Unmarshal([]byte(text), &answers); err != nil {
			t.Fatal(err)
		}
		result := func() *form.Result {
			sent, err := json.Marshal(answers)
			if err != nil {
				t.Fatal(err)
			}
			return check(f, string(sent))
		}
		for _, section := range answers {
			for name, said := range section {
				if delete(section, name); len(result().Missing) > 0 || len(result().NoConsent) > 0 {
					section[name] = said
				}
			}
		}
		if r := result(); !r.Complete {
			t.Errorf("%s: the least interview answers %d of %d and is not complete: %v", id, r.Answered, r.Relevant, r.Missing)
		}
	}
}
