package form_test

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	f := compile(t, documented)
	r := check(f, `{"socio_economic":{"household_size":5},"eligibility":{"current_cooking":["wood","charcoal"]}}`)
	if !r.OK() || len(r.Missing) != 0 || !r.Complete || r.Completeness != 1 || r.Relevant != 2 || r.Answered != 2 {
		t.Errorf("Check() = %+v, want a complete response", r)
	}
	want := `{"eligibility":{"current_cooking":["wood","charcoal"]},"socio_economic":{"household_size":5}}`
	if string(r.Answers) != want || string(r.Public) != want || r.Private != nil || r.Masked != nil {
		t.Errorf("Answers = %s, Public = %s, Private = %s; want %s", r.Answers, r.Public, r.Private, want)
	}
}

func TestDocumentedRefusals(t *testing.T) {
	t.Parallel()
	f := compile(t, documented)
	for _, tt := range []struct{ name, answers, wrong, missing string }{
		{"a string is no choice", `{"eligibility":{"current_cooking":"wood"},"socio_economic":{"household_size":5}}`, "/responses/eligibility/current_cooking wrong_type", "/responses/eligibility/current_cooking required; /responses/eligibility required"},
		{"a string is no number", `{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":"5"}}`, "/responses/socio_economic/household_size wrong_type", "/responses/socio_economic required"},
		{"not an option", `{"eligibility":{"current_cooking":["wood","dung"]},"socio_economic":{"household_size":5}}`, "/responses/eligibility/current_cooking/1 not_an_option", "/responses/eligibility/current_cooking required; /responses/eligibility required"},
		{"too small", `{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":0}}`, "/responses/socio_economic/household_size out_of_range", "/responses/socio_economic required"},
		{"too large", `{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":21}}`, "/responses/socio_economic/household_size out_of_range", "/responses/socio_economic required"},
		{"beyond all measure", `{"eligibility":{"current_cooking":["wood"]},"socio_economic":{"household_size":1e160}}`, "/responses/socio_economic/household_size out_of_range", "/responses/socio_economic required"},
		{
			"all at once", `{"eligibility":{"current_cooking":"wood","x":1},"socio_economic":{"household_size":"5"},"y/~z":{}}`,
			"/responses/eligibility/current_cooking wrong_type; /responses/eligibility/x unknown_question; /responses/socio_economic/household_size wrong_type; /responses/y~1~0z unknown_section",
			"/responses/eligibility/current_cooking required; /responses/eligibility required; /responses/socio_economic required",
		},
		{"a section is missing", `{"eligibility":{"current_cooking":["lpg"]}}`, "", "/responses/socio_economic required"},
		{"a question is missing", `{"eligibility":{},"socio_economic":{"household_size":1}}`, "", "/responses/eligibility/current_cooking required; /responses/eligibility required"},
		{"nothing", ``, "", "/responses/eligibility/current_cooking required; /responses/eligibility required; /responses/socio_economic required"},
		{"null", `null`, "", "/responses/eligibility/current_cooking required; /responses/eligibility required; /responses/socio_economic required"},
		{"an array", `[]`, "/responses wrong_type", "/responses/eligibility/current_cooking required; /responses/eligibility required; /responses/socio_economic required"},
		{"a section that is an array", `{"eligibility":[]}`, "/responses/eligibility wrong_type", "/responses/eligibility/current_cooking required; /responses/eligibility required; /responses/socio_economic required"},
		{"twice", `{"eligibility":{"current_cooking":["lpg"],"current_cooking":["lpg"]}}`, "/responses/eligibility/current_cooking duplicate", "/responses/socio_economic required"},
		{"broken", `{"eligibility":{"current_cooking":["lpg"]}`, "/responses syntax", "/responses/socio_economic required"},
		{"trailing", `{"eligibility":{"current_cooking":["lpg"]}} {}`, "/responses syntax", "/responses/socio_economic required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := check(f, tt.answers)
			if said(r.Wrong) != tt.wrong || said(r.Missing) != tt.missing || r.Complete {
				t.Errorf("Check()\n wrong   = %s\n want    = %s\n missing = %s\n want    = %s", said(r.Wrong), tt.wrong, said(r.Missing), tt.missing)
			}
		})
	}
}

func TestThreshold(t *testing.T) {
	t.Parallel()
	f := compile(t, `{"sections":[{"id":"s","questions":[{"id":"a","type":"number"},{"id":"b","type":"number"},{"id":"n","type":"note"}]}],"validations":{"completionThreshold":0.8}}`)
	r := check(f, `{"s":{"a":1}}`)
	if r.Complete || !r.OK() || len(r.Missing) != 0 || r.Completeness != 0.5 || r.Relevant != 2 {
		t.Errorf("Check() = %+v, want half of it and not complete", r)
	}
}

func TestTemplateRoundTrip(t *testing.T) {
	t.Parallel()
	in := template(t, documented)
	out, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	again := template(t, string(out))
	if b, _ := json.Marshal(again, json.Deterministic(true)); string(b) != string(out) {
		t.Errorf("second round = %s, want %s", b, out)
	}
}

// TestOptionsAreNamed: who has sent something else learns what there is, and
// what was sent is not repeated.
func TestOptionsAreNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ options, want string }{
		{`"wood","charcoal"`, "The value is not one of the options: wood, charcoal."},
		{`"a","b","c","d","e","f","g","h","i","j"`, "The value is not one of the options: a, b, c, d, e, f, g, h, i, j."},
		{`"a","b","c","d","e","f","g","h","i","j","k"`, "The value is not one of the options: a, b, c, d, e, f, g, h, i, j, …"},
	} {
		f := compile(t, `{"templateId":"t","sections":[{"id":"s","questions":[{"id":"q","type":"single_choice","options":[`+tt.options+`]}]}]}`)
		got := check(f, `{"s":{"q":"Amina"}}`).Wrong
		if len(got) != 1 || got[0].Code != "not_an_option" || got[0].Detail != tt.want {
			t.Errorf("wrong = %+v, want %s", got, tt.want)
		}
	}
}
