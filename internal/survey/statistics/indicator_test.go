package statistics_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/statistics"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// aimTemplate has the questions of most indicators, symptoms that are sealed, and
// one question that a mark names.
const aimTemplate = `{"templateId":"aims","title":"Aims","validations":{"completionThreshold":0.01},"sections":[
	{"id":"consent","questions":[{"id":"agree","type":"consent"},{"id":"respondent_is_main_cook","type":"boolean"}]},
	{"id":"home","questions":[
		{"id":"target_area","type":"boolean"},{"id":"household_size","type":"integer"},
		{"id":"used_last_7_days","type":"boolean"},{"id":"lit_today","type":"boolean","indicators":["usage.used"]},
		{"id":"still_uses_old_device","type":"boolean"},{"id":"fuel_cost_month","type":"number"},
		{"id":"week","type":"repeat","indicators":["fuel_per_capita"],"questions":[
			{"id":"fuel_type","type":"single_choice","options":["wood","charcoal","lpg"]},{"id":"amount","type":"quantity","units":["kg","sack"]}]},
		{"id":"respiratory_symptoms","type":"multiple_choice","options":["none","cough"],"pii":"indirect"},
		{"id":"burns","type":"integer"},{"id":"hours_saved","type":"number"}]}]}`

const drawn = `"method":"simple_random","size":20,"confidence":0.9,"population":400,"drawnElsewhere":{"method":"R","by":"did:ixo:org/1","at":"2026-01-02T00:00:00Z",
	"documentHash":"abababababababababababababababababababababababababababababababab"}`

type aims struct{ *surveytest.Env }

func newAims(t testing.TB, d *db.DB) *aims {
	t.Helper()
	v := &aims{surveytest.New(t, d)}
	figures := statistics.New(statistics.Config{DB: d, Surveys: v.Surveys, Responses: v.Responses})
	figures.Routes(v.API)
	statistics.NewIndicators(figures).Routes(v.API)
	v.Must(t, "ws owner", "POST /v1/templates", aimTemplate, nil)
	v.Must(t, "ws owner", "POST /v1/templates/aims/publish", `{}`, nil)
	return v
}

// start makes an active survey of 20 households, the last 8 of the comparison
// group where there are groups.
func (v *aims) start(t testing.TB, id, stage string, groups bool) {
	t.Helper()
	v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":%q,"type":%q,"projectId":%q,"templateId":"aims","sampling":{%s},"modes":["phone"],
		"window":{"start":"2024-01-01T00:00:00Z"},"collectors":["did:key:ann"],"eligibility":{"expression":"home.household_size != 99"}}`, id, stage+"Survey", surveytest.Project, drawn), nil)
	var items []string
	for i := range 20 {
		group := ""
		if groups {
			group = `,"group":"` + map[bool]string{true: "comparison", false: "adopter"}[i >= 12] + `"`
		}
		items = append(items, fmt.Sprintf(`{"householdId":"did:ixo:household/%d"%s}`, i, group))
	}
	v.Must(t, "ws owner", "POST /v1/surveys/"+id+"/households", `{"items":[`+strings.Join(items, ",")+`]}`, nil)
	v.Must(t, "ws owner", "POST /v1/surveys/"+id+"/activate", `{"reason":"test"}`, nil)
}

// cost is what a household spends.
func cost(i int, by float64) float64 { return by + float64(i*i%7) }

// answer has all households but two answer.
func (v *aims) answer(t testing.TB, id string, round int, by float64) {
	t.Helper()
	for i := range 18 {
		week := []map[string]any{{"fuel_type": "wood", "amount": map[string]any{"value": by + float64(i), "unit": "kg"}}}
		if i < 2 {
			week = append(week, map[string]any{"fuel_type": "charcoal", "amount": map[string]any{"value": 3, "unit": "kg"}})
		}
		if i == 5 {
			week = []map[string]any{{"fuel_type": "wood", "amount": map[string]any{"value": 1, "unit": "sack"}}}
		}
		size := 2 + i%4
		if i == 17 {
			size = 99 // not eligible
		}
		body, err := json.Marshal(map[string]any{
			"responseId": fmt.Sprintf("%s-%d-%d", id, round, i), "householdId": fmt.Sprintf("did:ixo:household/%d", i), "timestamp": "2026-03-02T09:00:00Z", "mode": "phone",
			"responses": map[string]any{
				"consent": map[string]any{"agree": true, "respondent_is_main_cook": i%5 > 0},
				"home": map[string]any{
					"target_area": i != 3 || round == 1, "household_size": size, "used_last_7_days": true, "lit_today": i%3 > 0, "still_uses_old_device": i%4 == 0,
					"fuel_cost_month": cost(i, by), "week": week, "respiratory_symptoms": []string{"cough"}, "burns": i % 2, "hours_saved": float64(i) / 2,
				},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		v.Must(t, "ws ann", "POST /v1/surveys/"+id+"/responses", string(body), nil)
	}
}

func (v *aims) get(t testing.TB, who, id, query string) (api.SurveyIndicators, map[string]api.Indicator) {
	t.Helper()
	var out api.SurveyIndicators
	v.Must(t, "ws "+who, "GET /v1/surveys/"+id+"/indicators"+query, "", &out)
	return out, byID(out.Indicators)
}

func byID(list []api.Indicator) map[string]api.Indicator {
	out := map[string]api.Indicator{}
	for _, i := range list {
		out[i.ID] = i
	}
	return out
}

func text(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Figures of one question are those of the statistics, to the digit.
func TestSameFigures(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		v.start(t, "s", "Monitoring", true)
		v.answer(t, "s", 1, 10)
		head, got := v.get(t, "auditor", "s", "")
		for id, question := range map[string]string{"usage": "home/lit_today", "stacking": "home/still_uses_old_device", "fuelCost": "home/fuel_cost_month"} {
			var s api.SurveyStatistics
			v.Must(t, "ws auditor", "GET /v1/surveys/s/statistics?question="+question, "", &s)
			want := s.Estimates[0]
			want.Option = ""
			if e := got[id].Estimates; len(e) != 1 || text(t, e[0]) != text(t, want) || got[id].Questions[0].Question != question {
				t.Errorf("%s of %+v: %s, want %s", id, got[id].Questions, text(t, e), text(t, want))
			}
			if text(t, head.Counted) != text(t, s.Counted) {
				t.Errorf("counted %+v, want %+v", head.Counted, s.Counted)
			}
		}
		if q := got["usage"].Questions[0]; q.By != "mark" {
			t.Errorf("the mark of the template does not count: %+v", q)
		}
		var s api.SurveyStatistics
		v.Must(t, "ws auditor", "GET /v1/surveys/s/statistics?question=home/fuel_cost_month&by=group&compare=comparison,adopter", "", &s)
		saved, want := got["sdg1"].Difference, s.Differences[0]
		if saved == nil || math.Abs(*saved.Estimate-12**want.Estimate) > 1e-9 || math.Abs(*saved.SE-12**want.SE) > 1e-9 || math.Abs(*saved.Low-12**want.Low) > 1e-9 || *saved.DF != *want.DF || len(got["sdg1"].Estimates) != 2 {
			t.Errorf("sdg1 %s, want 12 × %s", text(t, saved), text(t, want))
		}
	})
}

// What is made of several questions.
func TestDerived(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		v.start(t, "s", "Monitoring", false)
		v.answer(t, "s", 1, 10)
		_, got := v.get(t, "owner", "s", "?fnrb=0.5")
		var kg, people, hours, burns, cooks float64
		for i := range 17 { // one is not eligible
			if i != 5 {
				kg, people = kg+10+float64(i), people+float64(2+i%4)
			}
			if i%5 > 0 {
				cooks, hours, burns = cooks+1, hours+float64(i)/2, burns+float64(i%2)
			}
		}
		for id, want := range map[string]float64{"fuelPerHead": kg / people, "fuelPerHousehold": kg / 16, "sdg5": hours / cooks, "sdg3Burns": burns / cooks} {
			e := got[id].Estimates
			if len(e) == 0 || e[0].Estimate == nil || math.Abs(*e[0].Estimate-want) > 1e-9 || e[0].Low == nil || !got[id].Computable {
				t.Errorf("%s %s, want %v", id, text(t, got[id]), want)
			}
		}
		if f := got["fuelPerHead"]; len(f.Estimates) != 2 || f.Estimates[0].Option != "wood" || f.Estimates[1].Suppressed || f.LeftOut.Units != 1 {
			t.Errorf("fuels %s", text(t, f))
		}
		if f := got["sdg5"]; f.LeftOut.Outside != 4 {
			t.Errorf("main cooks: %s", text(t, f.LeftOut))
		}
		for id, want := range map[string]string{"sdg3": "home/respiratory_symptoms are sealed", "sdg3Symptoms": "sealed", "sdg7": `indicators: ["sdg7.stove"]`, "sdg13": "no comparison group", "sdg1": "no comparison group"} {
			if i := got[id]; i.Computable || !strings.Contains(i.Reason, want) || i.Formula == "" || i.Estimates != nil {
				t.Errorf("%s: %s, want a reason with %q", id, text(t, i), want)
			}
		}
	})
}

// A household that was asked and does not name a fuel uses none of it; one that
// skipped the question, or whose kg nobody knows, is in no figure of the fuel.
func TestNoFuel(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		v.start(t, "s", "Monitoring", true)
		for i := range 18 {
			week := `"week":[{"fuel_type":"wood","amount":{"value":10,"unit":"kg"}}],`
			switch {
			case i >= 8 && i < 14:
				week = `"week":[],`
			case i == 14:
				week = `"week":[{"fuel_type":"charcoal","amount":{"value":4,"unit":"kg"}}],`
			case i == 15:
				week = ""
			case i == 16:
				week = `"week":[{"fuel_type":"wood","amount":{"value":1,"unit":"sack"}}],`
			case i == 17:
				week = `"week":[{"fuel_type":"wood"}],`
			}
			v.Must(t, "ws ann", "POST /v1/surveys/s/responses", fmt.Sprintf(`{"responseId":"r%d","householdId":"did:ixo:household/%d","timestamp":"2026-03-02T09:00:00Z","mode":"phone",
				"responses":{"consent":{"agree":true},"home":{%s"household_size":2}}}`, i, i, week), nil)
		}
		_, got := v.get(t, "owner", "s", "")
		for id, want := range map[string]string{
			"fuelPerHousehold": " wood 5.3333 of 15 charcoal 0.2353 of 17", "fuelPerHead": " wood 2.6667 of 15 charcoal 0.1176 of 17",
		} {
			said := ""
			for _, e := range got[id].Estimates {
				said += fmt.Sprintf(" %s %.4f of %d", e.Option, *e.Estimate, *e.N)
			}
			if said != want || got[id].LeftOut.Units != 1 || got[id].LeftOut.Silent != 2 {
				t.Errorf("%s of%s, want%s; left out %s", id, said, want, text(t, got[id].LeftOut))
			}
		}
		const wood, charcoal = 365.25 / 7 / 1000 * .0156 * 112 * .3, 365.25 / 7 / 1000 * .0295 * 112 * .3
		if s := got["sdg13"]; len(s.Estimates) != 2 || math.Abs(*s.Estimates[0].Estimate-4*charcoal/3) > 1e-9 || math.Abs(*s.Estimates[1].Estimate-80*wood/12) > 1e-9 || s.LeftOut.Silent != 2 {
			t.Errorf("sdg13 %s, want %v and %v", text(t, s), 4*charcoal/3, 80*wood/12)
		}
	})
}

// A project compares with its baseline, and knows its periods.
func TestProject(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		const path = "GET /v1/projects/did:ixo:project%2Fone/indicators"
		v.start(t, "before", "Baseline", false)
		v.answer(t, "before", 1, 30)
		v.start(t, "after", "Monitoring", false)
		v.answer(t, "after", 1, 10)
		var p api.ProjectIndicators
		v.Must(t, "ws owner", path, "", &p)
		got := byID(p.Indicators)
		// Every household spends 20 less: nothing varies.
		if s := got["sdg1"]; !s.Computable || math.Abs(*s.Difference.Estimate-240) > 1e-9 || *s.Difference.SE > 1e-6 || s.Difference.Common != 17 || len(s.Sources) != 2 || s.Sources[0].SurveyID != "before" || len(s.Estimates) != 2 {
			t.Errorf("sdg1 %s", text(t, s))
		}
		want := 20. / 1000 * 365.25 / 7 * .0156 * 112 * .3
		if s := got["sdg13"]; !s.Computable || math.Abs(*s.Difference.Estimate-want) > 1e-9 || !strings.Contains(s.Formula, "0.3 (fnrb)") {
			t.Errorf("sdg13 %s, want %v", text(t, s), want)
		}
		if u := got["usage"]; !u.Computable || u.Sources[0].SurveyID != "after" || len(p.Surveys) != 2 || p.Surveys[0].Source.SurveyID != "after" {
			t.Errorf("usage %s of %d surveys", text(t, u), len(p.Surveys))
		}
		p = api.ProjectIndicators{}
		v.Must(t, "ws auditor", path+"?to=2023-12-31", "", &p)
		if len(p.Surveys) != 0 || len(p.Indicators) != len(got) || p.Indicators[0].Computable || p.Indicators[0].Reason == "" {
			t.Errorf("before all surveys: %s", text(t, p))
		}
		for request, code := range map[string]string{
			"auditor " + path + "?from=yesterday": "INVALID_PARAMETER", "auditor " + path + "?fnrb=2": "INVALID_PARAMETER", "auditor " + path + "?from=2024-02-01&to=2024-01-01": "INVALID_PARAMETER",
			"stranger " + path: "PROJECT_NOT_FOUND", "reader " + path: "SCOPE_MISSING", "auditor GET /v1/projects/did:ixo:project%2Fnone/indicators": "PROJECT_NOT_FOUND",
			"stranger GET /v1/surveys/after/indicators": "SURVEY_NOT_FOUND", "auditor GET /v1/surveys/after/indicators?round=7": "ROUND_NOT_FOUND",
		} {
			who, request, _ := strings.Cut(request, " ")
			if w := v.Send(t, "ws "+who, request, ""); !strings.Contains(w.Body.String(), code) {
				t.Errorf("%s as %s: %d %s, want %s", request, who, w.Code, w.Body, code)
			}
		}
		if w := v.Send(t, "other auditor", path, ""); w.Code != 404 {
			t.Errorf("another workspace: %d", w.Code)
		}
	})
}

// No figure tells of a few households, alone or beside another one.
func TestHidden(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		v.start(t, "before", "Baseline", false)
		v.answer(t, "before", 1, 30)
		v.start(t, "s", "Monitoring", true)
		v.answer(t, "s", 1, 10)
		shown := func(i api.Indicator) (n int) {
			for _, e := range i.Estimates {
				if e.Estimate != nil {
					n++
				}
			}
			if i.Difference != nil && i.Difference.Estimate != nil {
				n++
			}
			return n
		}
		_, got := v.get(t, "auditor", "s", "")
		for id, why := range map[string]string{
			"fuelPerHead": "two households use charcoal, which all fuel less the wood would tell", "fuelPerHousehold": "the same",
			"sdg5": "four others than main cooks have said their hours", "sdg3Burns": "four others than main cooks",
			"sdg13": "two households use charcoal: with two values of fnrb the rest follows",
		} {
			if !got[id].Computable || shown(got[id]) != 0 {
				t.Errorf("%s shows %s, although %s", id, text(t, got[id]), why)
			}
		}
		for id, want := range map[string]int{"usage": 1, "fuelCost": 1, "sdg1": 3} {
			if shown(got[id]) != want {
				t.Errorf("%s shows %s, want %d figures", id, text(t, got[id]), want)
			}
		}
		if _, err := v.DB.Exec(t.Context(), `UPDATE responses SET vstatus = 'verified' WHERE response_id <> 's-1-2'`); err != nil {
			t.Fatal(err)
		}
		if _, got = v.get(t, "auditor", "s", "?verified=true"); shown(got["usage"]) != 0 {
			t.Errorf("all less the verified ones would be one household: %s", text(t, got["usage"]))
		}
		if _, got = v.get(t, "owner", "s", "?verified=true"); shown(got["usage"]) != 1 {
			t.Errorf("an owner sees %s of the verified ones", text(t, got["usage"]))
		}
		var p api.ProjectIndicators
		v.Must(t, "ws auditor", "GET /v1/projects/did:ixo:project%2Fone/indicators", "", &p)
		if i := byID(p.Indicators)["sdg13"]; shown(i) != 0 {
			t.Errorf("sdg13 against the baseline shows %s", text(t, i))
		}
		_, all := v.get(t, "owner", "s", "")
		for id, want := range map[string]int{"fuelPerHead": 2, "sdg5": 1, "sdg13": 3} {
			if shown(all[id]) != want {
				t.Errorf("an owner sees %s, want %d figures", text(t, all[id]), want)
			}
		}
	})
}

// Inclusion is followed over rounds.
func TestInclusion(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		v.start(t, "s", "Monitoring", false)
		v.answer(t, "s", 1, 10)
		v.Must(t, "ws owner", "POST /v1/surveys/s/rounds", `{}`, nil)
		v.answer(t, "s", 2, 10)
		got, _ := v.get(t, "auditor", "s", "")
		if len(got.Inclusion) != 2 || got.Inclusion[0].Round != 2 || got.Source.Round != 2 {
			t.Fatalf("inclusion %s", text(t, got.Inclusion))
		}
		for i, want := range []float64{16. / 17, 1} {
			one := got.Inclusion[i]
			if one.Answered != 17 || one.Ineligible != 1 || len(one.Criteria) != 1 || one.Criteria[0].ID != "targetArea" || math.Abs(*one.Criteria[0].Estimate-want) > 1e-9 || one.Criteria[0].Low == nil {
				t.Errorf("round %d: %s, want %v", one.Round, text(t, one), want)
			}
		}
	})
}

// The shipped templates have the questions of these indicators.
func TestShipped(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":"m","type":"MonitoringSurvey","projectId":%q,"template":{"eligibilityCriteria":true,"cookingPatterns":true},"sampling":{"method":"census"}}`, surveytest.Project), nil)
		_, got := v.get(t, "auditor", "m", "")
		for id, want := range map[string]string{
			"usage": "usage/used_last_7_days", "stacking": "usage/still_uses_old_device", "sdg1": "cooking_patterns/fuel_cost_month", "sdg5": "consent/respondent_is_main_cook, impact/hours_saved",
			"fuelPerHousehold": "cooking_patterns/fuel_amount_per_week/amount, cooking_patterns/fuel_amount_per_week/fuel_type", "sdg7": "eligibility/baseline_stove_type",
			"sdg3Burns": "consent/respondent_is_main_cook, impact/burns",
		} {
			var found []string
			for _, q := range got[id].Questions {
				found = append(found, q.Question)
			}
			if strings.Join(found, ", ") != want || got[id].Computable || got[id].Reason == "" {
				t.Errorf("%s is made of %v (%s), want %s", id, found, got[id].Reason, want)
			}
		}
	})
}

// A question of the right id and the wrong type is named, with the type it needs.
func TestWrongType(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newAims(t, d)
		v.Must(t, "ws owner", "POST /v1/templates", `{"templateId":"wrong","title":"Wrong","sections":[{"id":"h","questions":[{"id":"agree","type":"consent"},{"id":"respondent_is_main_cook","type":"boolean"},
			{"id":"respiratory_symptoms","type":"boolean"},{"id":"burns","type":"boolean"},{"id":"homes","type":"repeat","questions":[{"id":"fuel_cost_month","type":"number"}]}]}]}`, nil)
		v.Must(t, "ws owner", "POST /v1/templates/wrong/publish", `{}`, nil)
		v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":"w","type":"MonitoringSurvey","projectId":%q,"templateId":"wrong","sampling":{"method":"census"}}`, surveytest.Project), nil)
		_, got := v.get(t, "owner", "w", "")
		const symptoms, burns = "The question h/respiratory_symptoms has the type boolean, and symptoms needs single_choice or multiple_choice.", "The question h/burns has the type boolean, and burns needs number, integer or quantity."
		for id, want := range map[string]string{
			"sdg3": symptoms + " " + burns + ` Mark a suitable question with indicators: ["sdg3.symptoms"].`, "sdg3Burns": burns + ` Mark a suitable question with indicators: ["sdg3Burns.burns"].`,
			"fuelCost": `The question h/homes/fuel_cost_month is asked several times in one interview, and cost needs one that is asked once. Mark a suitable question with indicators: ["fuelCost.cost"].`,
			"sdg5":     `The template has no question for: hours. Mark a suitable question with indicators: ["sdg5.hours"].`,
		} {
			if got[id].Computable || got[id].Reason != want {
				t.Errorf("%s: %s, want %s", id, got[id].Reason, want)
			}
		}
	})
}
