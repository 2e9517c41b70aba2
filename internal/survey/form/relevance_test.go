package form_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

func partial(f *form.Form, answers string) *form.Result {
	return f.Check(form.Input{Answers: jsontext.Value(answers), Now: now, Partial: true})
}

// waiting is a template in which much depends on answers of others.
const waiting = `{"validations":{"requiredSections":["b"]},"sections":[
	{"id":"c","questions":[{"id":"consent","type":"consent","refuse":true},{"id":"visits","type":"integer","relevant":"consent == true"}]},
	{"id":"a","relevant":"c.consent == true","questions":[
		{"id":"fuel","type":"single_choice","options":["wood","gas"],"required":true},
		{"id":"wood","type":"number","relevant":"fuel == 'wood'","required":true},
		{"id":"gas","type":"number","relevant":"fuel == 'gas'"},
		{"id":"total","type":"calculate","calculate":"coalesce(wood, 0) + coalesce(gas, 0)"},
		{"id":"people","type":"repeat","minRepeats":2,"questions":[
			{"id":"age","type":"integer"},
			{"id":"job","type":"text","relevant":"age > 15"},
			{"id":"home","type":"group","relevant":"age < 6","questions":[{"id":"cared","type":"boolean","required":true},{"id":"by","type":"text"}]}
		]}
	]},
	{"id":"b","questions":[
		{"id":"far","type":"number"},
		{"id":"cost","type":"number","constraint":"far == 2 || cost < 5"},
		{"id":"grid","type":"matrix","rows":["x","y"],"options":["1","2"]},
		{"id":"why","type":"text","relevant":"grid.x == '1'"},
		{"id":"more","type":"group","questions":[{"id":"p","type":"number"},{"id":"q","type":"number"}]},
		{"id":"less","type":"text","relevant":"answered(more)"},
		{"id":"sum","type":"calculate","calculate":"coalesce(far, 1) * 2"},
		{"id":"late","type":"text","relevant":"sum > 9"},
		{"id":"twice","type":"text","relevant":"visits > 1"}
	]}
]}`

// Of a partial response nothing is dropped for an answer that is missing, and
// the answer is named.
func TestPartialKeepsWhatIsOpen(t *testing.T) {
	t.Parallel()
	f := compile(t, waiting)
	const consent, depends = "/responses/c/consent required", "/responses/a/fuel required"
	for _, tt := range []struct{ name, answers, want, missing, dropped string }{
		{"a section", `{"a":{"fuel":"wood","wood":3,"people":[{"age":30,"job":"cook"}]}}`, `{"a":{"fuel":"wood","people":[{"age":30,"job":"cook"}],"wood":3},"b":{"sum":2}}`, consent + "; /responses/b required", ""},
		{"decided inside", `{"a":{"fuel":"gas","wood":3,"gas":1},"b":{"far":1}}`, `{"a":{"fuel":"gas","gas":1},"b":{"far":1,"sum":2}}`, consent, "/responses/a/wood"},
		{"decided", `{"c":{"consent":false},"a":{"fuel":"wood","wood":3},"b":{"far":1}}`, `{"b":{"far":1,"sum":2},"c":{"consent":false}}`, "", "/responses/a/fuel /responses/a/wood"},
		{"refused", `{"c":{"consent":{"noAnswer":"refused"}},"a":{"fuel":"wood"},"b":{"far":1}}`, `{"b":{"far":1,"sum":2},"c":{"consent":{"noAnswer":"refused"}}}`, "", "/responses/a/fuel"},
		{"agreed", `{"c":{"consent":true},"a":{"gas":1,"wood":3},"b":{"far":1}}`, `{"a":{"gas":1,"total":4,"wood":3},"b":{"far":1,"sum":2},"c":{"consent":true}}`, depends + "; /responses/a/people required", ""},
		{"calculated by the client", `{"a":{"gas":1,"total":1},"b":{"far":1}}`, `{"a":{"gas":1,"total":1},"b":{"far":1,"sum":2}}`, depends + "; " + consent, ""},
		{
			"elements", `{"c":{"consent":true},"a":{"fuel":"gas","people":[{"job":"x","home":{"by":"y"}},{"age":3,"job":"x"}]},"b":{"far":1}}`,
			`{"a":{"fuel":"gas","people":[{"home":{"by":"y"},"job":"x"},{"age":3}],"total":0},"b":{"far":1,"sum":2},"c":{"consent":true}}`,
			"/responses/a/people/0/age required; /responses/a/people/1/home/cared required", "/responses/a/people/1/job",
		},
		{"rows", `{"b":{"grid":{"y":"1"},"why":"z"}}`, `{"b":{"grid":{"y":"1"},"sum":2,"why":"z"}}`, "/responses/b/grid required", ""},
		{"other rows", `{"b":{"grid":{"x":"2"},"why":"z"}}`, `{"b":{"grid":{"x":"2"},"sum":2}}`, "", "/responses/b/why"},
		{"groups", `{"b":{"less":"z"}}`, `{"b":{"less":"z","sum":2}}`, "/responses/b/more required", ""},
		{"calculations", `{"b":{"late":"z"}}`, `{"b":{"late":"z","sum":2}}`, "/responses/b/far required", ""},
		{"complete calculations", `{"b":{"far":4,"late":"z"}}`, `{"b":{"far":4,"sum":8}}`, "", "/responses/b/late"},
		{"what is open itself", `{"b":{"twice":"z"}}`, `{"b":{"sum":2,"twice":"z"}}`, "/responses/c/visits required", ""},
		{"what is not asked", `{"c":{"consent":false},"b":{"twice":"z"}}`, `{"b":{"sum":2},"c":{"consent":false}}`, "/responses/b required", "/responses/b/twice"},
		{"nothing sent", `{"b":{"far":1}}`, `{"b":{"far":1,"sum":2}}`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := partial(f, tt.answers)
			if !r.OK() || string(r.Answers) != tt.want || said(r.Missing) != tt.missing || strings.Join(r.Dropped, " ") != tt.dropped {
				t.Errorf("Answers = %s\nwant      %s\nwrong %s; missing %s, want %s; dropped %v, want %s", r.Answers, tt.want, said(r.Wrong), said(r.Missing), tt.missing, r.Dropped, tt.dropped)
			}
			if r.Complete != (tt.missing == "" && len(r.NoConsent) == 0) {
				t.Errorf("Complete = %v with %q missing", r.Complete, tt.missing)
			}
			again := partial(f, string(r.Answers))
			if string(again.Answers) != string(r.Answers) || len(again.Dropped) > 0 {
				t.Errorf("checked again: %s, dropped %v", again.Answers, again.Dropped)
			}
		})
	}
	// Once nothing more is to come, a missing answer decides.
	r := check(f, `{"a":{"fuel":"wood","wood":3},"b":{"late":"z"}}`)
	if string(r.Answers) != `{"b":{"sum":2}}` || fmt.Sprint(r.Dropped) != "[/responses/a/fuel /responses/a/wood /responses/b/late]" {
		t.Errorf("Check() of a whole response = %s, dropped %v", r.Answers, r.Dropped)
	}
}

// What a missing answer decides about another one is not held against a partial
// response.
func TestPartialConstraints(t *testing.T) {
	t.Parallel()
	f := compile(t, waiting)
	for answers, want := range map[string][2]string{
		`{"b":{"cost":9}}`:         {"", "/responses/b/cost constraint"},
		`{"b":{"cost":9,"far":1}}`: {"/responses/b/cost constraint", "/responses/b/cost constraint"},
		`{"b":{"cost":9,"far":2}}`: {"", ""},
		`{"b":{"sum":7}}`:          {"", "/responses/b/sum calculated"},
		`{"b":{"sum":7,"far":2}}`:  {"/responses/b/sum calculated", "/responses/b/sum calculated"},
	} {
		if got := [2]string{said(partial(f, answers).Wrong), said(check(f, answers).Wrong)}; got != want {
			t.Errorf("Check(%s) = %q, want %q", answers, got, want)
		}
	}
}

// A whole interview is not lost with one answer.
func TestPartialKeepsAnInterview(t *testing.T) {
	t.Parallel()
	var list, answers []string
	for i := range 20 {
		list = append(list, fmt.Sprintf(`{"id":"q%d","type":"number"}`, i))
		answers = append(answers, fmt.Sprintf(`"q%d":%d`, i, i))
	}
	f := compile(t, `{"sections":[{"id":"c","questions":[{"id":"consent","type":"consent","required":true}]},{"id":"s","relevant":"c.consent == true","questions":[`+strings.Join(list, ",")+`]}]}`)
	r := partial(f, `{"s":{`+strings.Join(answers, ",")+`}}`)
	if len(r.Dropped) > 0 || r.Answered != 20 || r.Relevant != 21 || r.Complete || said(r.Missing) != "/responses/c/consent required" {
		t.Errorf("Check() = %s, dropped %v, answered %d of %d, missing %s", r.Answers, r.Dropped, r.Answered, r.Relevant, said(r.Missing))
	}
	views := f.View("en", r)
	if !views[1].Relevant || !views[1].Questions[0].Relevant {
		t.Errorf("View() = %+v", views[1])
	}
}
