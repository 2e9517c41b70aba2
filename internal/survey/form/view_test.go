package form_test

import (
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
