package form_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// baseline is a questionnaire of 40 questions with the sections of the
// standard bank.
const baseline = `{"templateId":"baseline-v1","sections":[
	{"id":"consent","questions":[
		{"id":"consent_given","type":"consent","required":true},
		{"id":"respondent_is_main_cook","type":"boolean"},
		{"id":"language","type":"single_choice","options":["en","sw"]},
		{"id":"respondent_name","type":"text","pii":"direct"},
		{"id":"phone","type":"text","pii":"direct","validation":{"regex":"\\+?[0-9 ]{7,15}"}},
		{"id":"where","type":"geo","pii":"indirect"}
	]},
	{"id":"eligibility","relevant":"consent_given == true","questions":[
		{"id":"current_cooking","type":"multiple_choice","required":true,"options":["wood","charcoal","lpg","electric"]},
		{"id":"target_area","type":"boolean"},
		{"id":"household_in_other_programme","type":"boolean"},
		{"id":"owns_target_device","type":"boolean"},
		{"id":"baseline_stove_type","type":"single_choice","options":["three_stone","mud_no_grate","improved"],"other":true},
		{"id":"willing_to_participate","type":"boolean"},
		{"id":"why_not","type":"text","relevant":"willing_to_participate == false"}
	]},
	{"id":"socio_economic","questions":[
		{"id":"household_size","type":"number","validation":{"min":1,"max":20}},
		{"id":"children_under_5","type":"integer","validation":{"min":0},"constraint":"children_under_5 <= household_size"},
		{"id":"income_band","type":"single_choice","options":["a","b","c","d"],"dontKnow":true,"refuse":true},
		{"id":"housing_type","type":"single_choice","options":["mud","brick","wood"]},
		{"id":"head_education","type":"single_choice","options":["none","primary","secondary","higher"]},
		{"id":"density","type":"single_choice","options":["low","medium","high"]},
		{"id":"adults","type":"calculate","calculate":"household_size - coalesce(children_under_5, 0)"}
	]},
	{"id":"cooking_patterns","questions":[
		{"id":"devices","type":"repeat","minRepeats":1,"maxRepeats":10,"questions":[
			{"id":"type","type":"single_choice","options":["three_stone","mud","lpg"],"required":true},
			{"id":"fuel","type":"single_choice","options":["wood","charcoal","lpg"]},
			{"id":"days_per_week","type":"integer","validation":{"min":0,"max":7}},
			{"id":"meals_per_day","type":"integer","validation":{"min":0,"max":10},"relevant":"days_per_week > 0"},
			{"id":"main","type":"boolean"}
		]},
		{"id":"kitchen_location","type":"single_choice","options":["inside","outside"]},
		{"id":"ventilation","type":"rating"},
		{"id":"fuel_amount","type":"quantity","units":["kg","bag"]},
		{"id":"fuel_source","type":"multiple_choice","options":["bought","collected"]},
		{"id":"collection_hours","type":"number","relevant":"selected(fuel_source, 'collected')"},
		{"id":"fuel_cost_month","type":"number","relevant":"selected(fuel_source, 'bought')"},
		{"id":"meals_week","type":"calculate","calculate":"sum(devices.map(d, d.days_per_week * d.meals_per_day))"},
		{"id":"heating_device","type":"boolean"},
		{"id":"lighting_source","type":"single_choice","options":["kerosene","solar","grid"]}
	]},
	{"id":"stove_perceptions","questions":[
		{"id":"satisfaction","type":"rating"},
		{"id":"would_recommend","type":"boolean"},
		{"id":"perceived_smoke","type":"rating"},
		{"id":"willingness_to_pay","type":"number"},
		{"id":"preferred_device","type":"text"},
		{"id":"photo","type":"photo"}
	]}
],"validations":{"requiredSections":["eligibility"],"completionThreshold":0.8}}`

const baselineAnswers = `{"consent":{"consent_given":true,"respondent_is_main_cook":true,"language":"sw","respondent_name":"Amina Odhiambo","phone":"+254 700 000000","where":{"lat":-1.2921,"lon":36.8219,"accuracy":4.5}},
"eligibility":{"current_cooking":["wood","charcoal"],"target_area":true,"household_in_other_programme":false,"owns_target_device":false,"baseline_stove_type":"three_stone","willing_to_participate":true},
"socio_economic":{"household_size":5,"children_under_5":2,"income_band":{"noAnswer":"refused"},"housing_type":"mud","head_education":"primary","density":"low"},
"cooking_patterns":{"devices":[{"type":"three_stone","fuel":"wood","days_per_week":7,"meals_per_day":2,"main":true},{"type":"lpg","fuel":"lpg","days_per_week":2,"meals_per_day":1,"main":false}],"kitchen_location":"inside","ventilation":2,"fuel_amount":{"value":35.5,"unit":"kg"},"fuel_source":["bought","collected"],"collection_hours":6.5,"fuel_cost_month":1200,"heating_device":false,"lighting_source":"solar"},
"stove_perceptions":{"satisfaction":3,"would_recommend":true,"perceived_smoke":4,"willingness_to_pay":2500,"preferred_device":"a clean gas stove with two burners","photo":"` + sum + `"}}`

func TestBaseline(t *testing.T) {
	t.Parallel()
	r := check(compile(t, baseline), baselineAnswers)
	if !r.Complete || len(r.Dropped) > 0 || len(r.Masked) != 3 || len(r.Attachments) != 1 {
		t.Errorf("wrong %s, missing %s, dropped %v, masked %v, %v of it", said(r.Wrong), said(r.Missing), r.Dropped, r.Masked, r.Completeness)
	}
}

func BenchmarkCheck(b *testing.B) {
	f := compile(b, baseline)
	in := form.Input{Answers: jsontext.Value(baselineAnswers), Now: now}
	b.ReportAllocs()
	b.SetBytes(int64(len(in.Answers)))
	for b.Loop() {
		if r := f.Check(in); !r.Complete {
			b.Fatal(said(r.Wrong), said(r.Missing))
		}
	}
}

func BenchmarkCheckDocumented(b *testing.B) {
	f := compile(b, documented)
	in := form.Input{Answers: jsontext.Value(`{"eligibility":{"current_cooking":["wood","charcoal"]},"socio_economic":{"household_size":5}}`), Now: now}
	b.ReportAllocs()
	for b.Loop() {
		f.Check(in)
	}
}

// BenchmarkCanonicalize is the bound: sorting and writing the same bytes.
func BenchmarkCanonicalize(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		v := jsontext.Value(baselineAnswers)
		if err := v.Canonicalize(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	tpl := template(b, baseline)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := form.Compile(tpl); err != nil {
			b.Fatal(err)
		}
	}
}
