package form_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// household is a template with all kinds of logic.
const household = `{
	"sections": [
		{"id":"consent","questions":[{"id":"consent_given","type":"consent","required":true}]},
		{"id":"cooking","relevant":"consent_given == true","questions":[
			{"id":"fuels","type":"multiple_choice","options":["wood","lpg","none"],"other":true,"required":true},
			{"id":"wood_kg","type":"number","unit":"kg","relevant":"selected(fuels, 'wood')","required":"count(fuels) == 1","constraint":"wood_kg <= 100","constraintMessage":{"en":"Too much wood.","sw":"Kuni nyingi mno."}},
			{"id":"wood_year","type":"calculate","calculate":"wood_kg * 52"},
			{"id":"cost","type":"number"},
			{"id":"devices","type":"repeat","minRepeats":1,"questions":[
				{"id":"type","type":"single_choice","options":["mud","gas"],"required":true},
				{"id":"hours","type":"number","relevant":"type != 'gas'"},
				{"id":"share","type":"calculate","calculate":"hours / sum(devices.map(d, d.hours))"},
				{"id":"place","type":"integer","constraint":"place == index"},
				{"id":"parts","type":"repeat","questions":[{"id":"part","type":"text","relevant":"type == 'mud' && index == 0"}]}
			]},
			{"id":"total","type":"calculate","calculate":"sum(devices.map(d, d.hours))"},
			{"id":"gas_cost","type":"number","relevant":"devices.exists(d, d.type == 'gas')"}
		]},
		{"id":"impact","questions":[
			{"id":"cost","type":"number","constraint":"cost <= cooking.cost"},
			{"id":"adopter","type":"text","relevant":"household.group == 'adopter' && household.attributes.rooms > 1 && response.round == 2"},
			{"id":"since","type":"date","constraint":"since <= today"},
			{"id":"g","type":"group","relevant":"fuels != null","questions":[{"id":"inner","type":"number"},{"id":"twice","type":"calculate","calculate":"coalesce(inner, 4) * 2"}]}
		]}
	]
}`

func TestLogic(t *testing.T) {
	t.Parallel()
	f := compile(t, household)
	device := `"devices":[{"type":"mud","hours":3,"place":0},{"type":"gas","hours":9},{"type":"mud","hours":1}]`
	for _, tt := range []struct{ name, answers, want, wrong, missing, dropped string }{
		{
			"nothing agreed", `{"consent":{"consent_given":false},"cooking":{"fuels":["wood"],"wood_kg":5}}`,
			`{"consent":{"consent_given":false}}`, "", "", "/responses/cooking/fuels /responses/cooking/wood_kg",
		},
		{
			"calculated", `{"consent":{"consent_given":true},"cooking":{"fuels":["wood"],"wood_kg":5,` + device + `}}`,
			`{"consent":{"consent_given":true},"cooking":{"devices":[{"hours":3,"place":0,"share":0.75,"type":"mud"},{"type":"gas"},{"hours":1,"share":0.25,"type":"mud"}],"fuels":["wood"],"total":4,"wood_kg":5,"wood_year":260},"impact":{"g":{"twice":8}}}`,
			"", "", "/responses/cooking/devices/1/hours",
		},
		{
			"required by an expression", `{"consent":{"consent_given":true},"cooking":{"fuels":["wood"]}}`,
			`{"consent":{"consent_given":true},"cooking":{"fuels":["wood"]},"impact":{"g":{"twice":8}}}`,
			"", "/responses/cooking/wood_kg required; /responses/cooking/devices required", "",
		},
		{
			"other is seen as other", `{"consent":{"consent_given":true},"cooking":{"fuels":[{"other":"dung"},"lpg"],"wood_kg":4,"devices":[{"type":"gas"}],"gas_cost":4}}`,
			`{"consent":{"consent_given":true},"cooking":{"devices":[{"type":"gas"}],"fuels":[{"other":"dung"},"lpg"],"gas_cost":4,"total":0},"impact":{"g":{"twice":8}}}`,
			"", "", "/responses/cooking/wood_kg",
		},
		{
			"constraints", `{"consent":{"consent_given":true},"cooking":{"fuels":["wood"],"wood_kg":101,"cost":5,"devices":[{"type":"mud","place":1}]},"impact":{"cost":6,"since":"2026-03-15"}}`,
			"", "/responses/cooking/wood_kg constraint; /responses/cooking/devices/0/place constraint; /responses/impact/cost constraint; /responses/impact/since constraint", "", "",
		},
		{
			"a constraint on what is missing", `{"consent":{"consent_given":true},"cooking":{"fuels":["lpg"],"devices":[{"type":"mud"}]},"impact":{"cost":6,"since":"2026-03-14"}}`,
			"", "", "", "",
		},
		{
			"required in an element, nested", `{"consent":{"consent_given":true},"cooking":{"fuels":["lpg"],"devices":[{"parts":[{"part":"a"}]},{"type":"mud","parts":[{"part":"a"},{"part":"b"}]}]}}`,
			`{"consent":{"consent_given":true},"cooking":{"devices":[{"parts":[{}]},{"parts":[{"part":"a"},{}],"type":"mud"}],"fuels":["lpg"],"total":0},"impact":{"g":{"twice":8}}}`,
			"", "/responses/cooking/devices/0/type required", "/responses/cooking/devices/0/parts/0/part /responses/cooking/devices/1/parts/1/part",
		},
		{
			"a group that is not asked", `{"impact":{"g":{"inner":1},"adopter":"x"}}`,
			`{}`, "", "/responses/consent/consent_given required", "/responses/impact/adopter /responses/impact/g",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := check(f, tt.answers)
			if tt.want != "" && string(r.Answers) != tt.want {
				t.Errorf("Answers = %s\n want      %s", r.Answers, tt.want)
			}
			if said(r.Wrong) != tt.wrong || said(r.Missing) != tt.missing || strings.Join(r.Dropped, " ") != tt.dropped {
				t.Errorf("wrong %s, want %s\nmissing %s, want %s\ndropped %s, want %s", said(r.Wrong), tt.wrong, said(r.Missing), tt.missing, r.Dropped, tt.dropped)
			}
		})
	}
}

func TestContextOfExpressions(t *testing.T) {
	t.Parallel()
	f := compile(t, household)
	in := form.Input{
		Answers:   jsontext.Value(`{"consent":{"consent_given":true},"cooking":{"fuels":["wood"],"wood_kg":200},"impact":{"adopter":"x"}}`),
		Household: map[string]any{"group": "adopter", "attributes": map[string]any{"rooms": 2.0}},
		Response:  map[string]any{"round": 2, "language": "sw", "startedAt": "2026-03-14T10:00:00Z", "submittedAt": time.Date(2026, 3, 14, 10, 30, 0, 0, time.UTC)},
		Now:       now,
	}
	r := f.Check(in)
	if len(r.Dropped) != 0 || len(r.Wrong) != 1 || r.Wrong[0].Detail != "Kuni nyingi mno." {
		t.Errorf("dropped %v, wrong %+v; want the constraint in Kiswahili", r.Dropped, r.Wrong)
	}
	for source, want := range map[string]bool{
		`household.group == 'adopter'`:                                      true,
		`fuels != null && 'wood' in fuels`:                                  true,
		`response.submittedAt - response.startedAt < duration('40m')`:       true,
		`household.attributes.none == 1`:                                    false,
		`answered(household) && !answered(impact.g) && answered(cooking)`:   true,
		`cooking.devices.size() > 0`:                                        false,
		`today.getDate() == 14`:                                             true,
		`response.collector == null`:                                        true,
		`impact.cost > 1`:                                                   false,
		`cooking.wood_year == 10400`:                                        true,
		`household.did == null && response.mode == null && consent != null`: true,
	} {
		p, err := f.Condition(source)
		if err != nil {
			t.Errorf("Condition(%s) = %v", source, err)
			continue
		}
		if got, err := r.Holds(p); got != want {
			t.Errorf("Holds(%s) = %v (%v), want %v", source, got, err, want)
		}
	}
	for _, source := range []string{`cost > 1`, `hours > 1`, `index == 1`, `household.name == ''`, `fuels`, `cooking`} {
		if _, err := f.Condition(source); err == nil {
			t.Errorf("Condition(%s) = nil, want an error", source)
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	f := compile(t, household)
	s, err := f.Select([]string{"impact", "cooking"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Sections(); !slices.Equal(got, []string{"cooking", "impact"}) || s.HasConsent() || !f.HasConsent() {
		t.Errorf("Sections() = %v, HasConsent() = %v and %v", got, s.HasConsent(), f.HasConsent())
	}
	// consent_given is null, so cooking is not asked; it is no error.
	r := check(s, `{"cooking":{"fuels":["wood"]},"impact":{"g":{"inner":2}}}`)
	if !r.OK() || len(r.Missing) != 0 || string(r.Answers) != `{}` || fmt.Sprint(r.Dropped) != "[/responses/cooking/fuels /responses/impact/g]" {
		t.Errorf("Check() = %s, wrong %s, dropped %v", r.Answers, said(r.Wrong), r.Dropped)
	}
	r = check(s, `{"consent":{"consent_given":true}}`)
	if said(r.Wrong) != "/responses/consent unknown_section" {
		t.Errorf("an answer to a section that is not selected: %s", said(r.Wrong))
	}
	if _, err := f.Select([]string{"impact", "x", "y"}); err == nil || !strings.Contains(err.Error(), "TEMPLATE_INVALID") {
		t.Errorf("Select(x, y) = %v", err)
	}
	if all, err := f.Select(nil); err != nil || len(all.Sections()) != 3 {
		t.Errorf("Select(nil) = %v, %v", all.Sections(), err)
	}
}

func TestRequiredSectionThatIsNotSelected(t *testing.T) {
	t.Parallel()
	f := compile(t, documented)
	s, err := f.Select([]string{"eligibility"})
	if err != nil {
		t.Fatal(err)
	}
	if r := check(s, `{"eligibility":{"current_cooking":["lpg"]}}`); !r.Complete {
		t.Errorf("Check() misses %s", said(r.Missing))
	}
}

func TestConsent(t *testing.T) {
	t.Parallel()
	f := compile(t, questions(`{"id":"a","type":"consent","refuse":true},{"id":"b","type":"consent"}`))
	for answers, want := range map[string]string{
		`{"s":{"a":true}}`:                   "true",
		`{"s":{"a":true,"b":true}}`:          "true",
		`{"s":{"a":true,"b":false}}`:         "false",
		`{"s":{"a":false,"b":true}}`:         "false",
		`{"s":{"a":{"noAnswer":"refused"}}}`: "false",
		`{"s":{}}`:                           "none",
		`{"s":{"a":"yes"}}`:                  "none",
		`{"s":{"a":null,"b":true}}`:          "true",
	} {
		r, got := check(f, answers), "none"
		if r.Consent != nil {
			got = fmt.Sprint(*r.Consent)
		}
		if got != want {
			t.Errorf("Check(%s).Consent = %s, want %s", answers, got, want)
		}
	}
}

func TestExpressionsHaveABudget(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"id":"c%d","type":"calculate","calculate":"sum(r.map(x, count(r.filter(y, y.a != x.a))))"}`, i))
	}
	f := compile(t, questions(`{"id":"r","type":"repeat","questions":[{"id":"a","type":"number"}]},`+strings.Join(list, ",")))
	start := time.Now()
	r := check(f, `{"s":{"r":[`+strings.Repeat(`{"a":1},`, 199)+`{"a":2}]}}`)
	if said(r.Wrong) != "/responses too_costly" {
		t.Errorf("Check() = %s after %v, want too_costly", said(r.Wrong), time.Since(start))
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	f := compile(t, questions(`{"id":"a","type":"photo"},{"id":"r","type":"repeat","questions":[{"id":"b","type":"audio"}]},{"id":"n","type":"number"},{"id":"c","type":"file","relevant":"n == 1"}`))
	other := strings.Replace(sum, "e3", "a3", 1)
	r := check(f, `{"s":{"a":"`+sum+`","r":[{"b":"`+other+`"},{"b":"`+sum+`"}],"c":"`+strings.Replace(sum, "e3", "b3", 1)+`"}}`)
	if !slices.Equal(r.Attachments, []string{other, sum}) {
		t.Errorf("Attachments = %v, want each once and none that was not asked for", r.Attachments)
	}
}
