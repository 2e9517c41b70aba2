package form_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// documented is the template of the interface document.
const documented = `{
	"templateId": "baseline-v1",
	"sections": [
		{"id": "eligibility", "questions": [
			{"id": "current_cooking", "type": "multiple_choice", "required": true, "options": ["wood", "charcoal", "lpg", "electric"]}
		]},
		{"id": "socio_economic", "questions": [
			{"id": "household_size", "type": "number", "validation": {"min": 1, "max": 20}}
		]}
	],
	"validations": {"requiredSections": ["eligibility", "socio_economic"], "completionThreshold": 0.8}
}`

// now is the time of all checks.
var now = time.Date(2026, 3, 14, 22, 30, 0, 0, time.FixedZone("EAT", 3*3600))

func template(t testing.TB, doc string) *form.Template {
	t.Helper()
	var out form.Template
	if err := json.Unmarshal([]byte(doc), &out, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("decode template: %v", err)
	}
	return &out
}

func compile(t testing.TB, doc string) *form.Form {
	t.Helper()
	f, err := form.Compile(template(t, doc))
	if err != nil {
		t.Fatalf("Compile() = %v %+v", err, fault.As(err).Fields)
	}
	return f
}

// questions is a template with one section s of these questions.
func questions(list string) string {
	return `{"sections":[{"id":"s","questions":[` + list + `]}]}`
}

func check(f *form.Form, answers string) *form.Result {
	return f.Check(form.Input{Answers: jsontext.Value(answers), Now: now})
}

// said joins fields as "pointer code".
func said(fields []fault.Field) string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Pointer+" "+f.Code)
	}
	return strings.Join(out, "; ")
}

// problems are what Compile says about a template.
func problems(t testing.TB, doc string) []fault.Field {
	t.Helper()
	_, err := form.Compile(template(t, doc))
	if err == nil {
		return nil
	}
	f := fault.As(err)
	if f == nil || f.Code != "TEMPLATE_INVALID" || f.Kind != fault.Invalid {
		t.Fatalf("Compile() = %v, want the fault TEMPLATE_INVALID", err)
	}
	return f.Fields
}
