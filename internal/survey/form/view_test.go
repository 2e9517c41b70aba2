package form_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

func TestView(t *testing.T) {
	t.Parallel()
	f := compile(t, `{"title":"T","sections":[{"id":"s","title":{"en":"S","sw":"Sehemu"},"questions":[
		{"id":"a","type":"single_choice","required":true,"label":{"en":"A","sw":"Swali"},"options":["x",{"value":"y","label":{"en":"Y","sw":"Ndiyo"}}]},
		{"id":"b","type":"number","unit":"kg","relevant":"a == 'y'"},
		{"id":"c","type":"calculate","calculate":"b * 2"},
		{"id":"g","type":"group","questions":[{"id":"d","type":"text","hint":"h"}]},
		{"id":"r","type":"repeat","questions":[{"id":"e","type":"text"}]}]}]}`)
	for _, tt := range []struct{ answers, want string }{
		{"", `[{"id":"s","title":"Sehemu","relevant":true,"questions":[
			{"id":"a","type":"single_choice","label":"Swali","relevant":true,"required":true,"options":[{"value":"x","label":"x"},{"value":"y","label":"Ndiyo"}]},
			{"id":"b","type":"number","label":"b","unit":"kg","relevant":false,"required":false},
			{"id":"c","type":"calculate","label":"c","relevant":true,"required":false,"readOnly":true},
			{"id":"g","type":"group","label":"g","relevant":true,"required":false,"questions":[{"id":"d","type":"text","label":"d","hint":"h","relevant":true,"required":false}]},
			{"id":"r","type":"repeat","label":"r","relevant":true,"required":false,"questions":[{"id":"e","type":"text","label":"e","relevant":true,"required":false}]}]}]`},
		{`{"s":{"a":"y","b":2,"r":[{"e":"z"}]}}`, `[{"id":"s","title":"Sehemu","relevant":true,"questions":[
			{"id":"a","type":"single_choice","label":"Swali","relevant":true,"required":true,"answer":"y","options":[{"value":"x","label":"x"},{"value":"y","label":"Ndiyo"}]},
			{"id":"b","type":"number","label":"b","unit":"kg","relevant":true,"required":false,"answer":2},
			{"id":"c","type":"calculate","label":"c","relevant":true,"required":false,"readOnly":true,"answer":4},
			{"id":"g","type":"group","label":"g","relevant":true,"required":false,"questions":[{"id":"d","type":"text","label":"d","hint":"h","relevant":true,"required":false}]},
			{"id":"r","type":"repeat","label":"r","relevant":true,"required":false,"questions":[{"id":"e","type":"text","label":"e","relevant":true,"required":false,"answer":"z"}],
				"elements":[[{"id":"e","type":"text","label":"e","relevant":true,"required":false,"answer":"z"}]]}]}]`},
	} {
		var r *form.Result
		if tt.answers != "" {
			r = check(f, tt.answers)
		}
		got, err := json.Marshal(f.View("sw", r))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.NewReplacer("\n", "", "\t", "").Replace(tt.want); string(got) != want {
			t.Errorf("View() =\n%s\nwant\n%s", got, want)
		}
	}
}

// What is asked in one element of a repeat may not be asked in another; options
// that are the same in all are said once.
func TestViewOfElements(t *testing.T) {
	t.Parallel()
	f := compile(t, `{"title":"T","sections":[{"id":"s","questions":[{"id":"r","type":"repeat","questions":[
		{"id":"age","type":"integer"},{"id":"school","type":"boolean","relevant":"age < 18"},{"id":"sex","type":"single_choice","options":["f","m"]}]}]}]}`)
	r := f.View("en", check(f, `{"s":{"r":[{"age":40},{"age":9,"sex":"f"}]}}`))[0].Questions[0]
	if len(r.Elements) != 2 || r.Elements[0][1].Relevant || !r.Elements[1][1].Relevant {
		t.Errorf("elements = %+v, want school in the second only", r.Elements)
	}
	if len(r.Questions[2].Options) != 2 || len(r.Elements[1][2].Options) != 0 || string(r.Elements[1][2].Answer.Value) != `"f"` {
		t.Errorf("questions = %+v, elements = %+v", r.Questions, r.Elements)
	}
}

// Texts show the answers that they name.
func TestViewFillsTexts(t *testing.T) {
	t.Parallel()
	f := compile(t, `{"title":"T","languages":["en","sw"],"sections":[{"id":"s","title":"Home of ${name}","questions":[
		{"id":"name","type":"text"},
		{"id":"fuel","type":"single_choice","options":[{"value":"wood","label":{"en":"Firewood","sw":"Kuni"}}],"label":"Fuel of ${name}"},
		{"id":"fuels","type":"multiple_choice","options":["gas",{"value":"wood","label":{"en":"Firewood","sw":"Kuni"}}]},
		{"id":"kg","type":"number","label":"${fuel} a day","hint":"${ fuels }"},
		{"id":"double","type":"calculate","calculate":"kg * 2"},
		{"id":"spot","type":"geo","label":"${double} kg, ${nobody}"},
		{"id":"people","type":"repeat","label":"People of ${spot}","questions":[{"id":"who","type":"text"},{"id":"age","type":"integer","label":"Age of ${who}, ${index} in ${name}"}]}]},
		{"id":"o","questions":[{"id":"end","type":"note","label":"Thank you, ${name}. ${who}"}]}]}`)
	words := func(answers string) string {
		var out []string
		for _, s := range f.View("sw", check(f, answers)) {
			out = append(out, s.Title)
			for _, q := range s.Questions {
				out = append(out, q.Label, q.Hint)
				for _, e := range q.Elements {
					out = append(out, e[1].Label)
				}
			}
		}
		return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "|")
	}
	for answers, want := range map[string]string{
		`{"s":{"name":"Ann","fuel":"wood","fuels":["gas","wood"],"kg":2.5,"spot":{"lat":1,"lon":2},"people":[{"who":"Bo","age":4},{"who":"Cy"}]}}`: "Home of Ann|name|Fuel of Ann|fuels|Kuni a day|gas, Kuni|double|5 kg, ${nobody}|" +
			"People of ${spot}|Age of Bo, ${index} in Ann|Age of Cy, ${index} in Ann|Thank you, Ann. ${who}",
		`{}`: "Home of |name|Fuel of |fuels| a day|double| kg, ${nobody}|People of |Thank you, . ${who}",
	} {
		if got := words(answers); got != want {
			t.Errorf("with %s:\n%s, want\n%s", answers, got, want)
		}
	}
	long := words(`{"s":{"name":"` + strings.Repeat("é", 300) + `"}}`)
	if want := "Home of " + strings.Repeat("é", 200) + "…|"; !strings.HasPrefix(long, want) {
		t.Errorf("a long answer: %s", long)
	}
}

// A text that names a long answer again and again does not make a view large.
func TestViewFillsLittle(t *testing.T) {
	t.Parallel()
	var questions strings.Builder
	for i := range 500 {
		fmt.Fprintf(&questions, `,{"id":"q%d","type":"text","label":"%s"}`, i, strings.Repeat("${a}", 900))
	}
	f := compile(t, `{"title":"T","sections":[{"id":"s","questions":[{"id":"a","type":"text"}`+questions.String()+`]}]}`)
	got, err := json.Marshal(f.View("en", check(f, `{"s":{"a":"`+strings.Repeat("x", 4000)+`"}}`)))
	if err != nil || len(got) > 4<<20 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
