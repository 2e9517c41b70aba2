package form_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

const entityQuestions = `"sections":[{"id":"s","questions":[
	{"id":"stove","type":"entity_ref","list":"stoves"},
	{"id":"district","type":"single_choice","options":["north","south"],"other":true,"saveTo":"district"},
	{"id":"works","type":"boolean"},
	{"id":"litres","type":"number","saveTo":"litres","dontKnow":true},
	{"id":"owner","type":"text","pii":"direct","saveTo":"owner"}]}]`

func TestAsked(t *testing.T) {
	t.Parallel()
	const twin = "did:ixo:entity:00112233445566778899aabbccddeeff"
	for name, tt := range map[string]struct{ entity, answers, want string }{
		"a new one":             {`{"list":"stoves","label":"district + \" stove\""}`, `{"s":{"district":"north","litres":2.50}}`, `create north stove {"district":"north","litres":2.5}`},
		"not this time":         {`{"list":"stoves","label":"district","create":"works == true"}`, `{"s":{"district":"north","works":false}}`, ``},
		"no condition holds":    {`{"list":"stoves","label":"district","create":"works == true"}`, `{"s":{"district":"north"}}`, ``},
		"a change":              {`{"list":"stoves","id":"stove"}`, `{"s":{"stove":"` + twin + `","district":{"other":"west"}}}`, `update ` + twin + `  {"district":"west"}`},
		"of none":               {`{"list":"stoves","id":"stove"}`, `{"s":{"district":"north"}}`, ``},
		"what is not known":     {`{"list":"stoves","id":"stove"}`, `{"s":{"stove":"` + twin + `","litres":{"noAnswer":"dont_know"}}}`, `update ` + twin + `  {}`},
		"one or the other":      {`{"list":"stoves","label":"district","id":"stove","create":"stove == null","update":"stove != null"}`, `{"s":{"stove":"` + twin + `"}}`, `update ` + twin + `  {}`},
		"personal":              {`{"list":"stoves","label":"owner"}`, `{"s":{"owner":"Amina"}}`, `create Amina {"owner":"Amina"} [owner label]`},
		"a condition of a word": {`{"list":"stoves","label":"district","create":"district == \"south\""}`, `{"s":{"district":"south"}}`, `create south {"district":"south"}`},
	} {
		r := answerCompile(t, `{"entity":`+tt.entity+`,`+entityQuestions+`}`).Check(form.Input{Answers: jsontext.Value(tt.answers)})
		if !r.OK() {
			t.Errorf("%s: %+v", name, r.Wrong)
			continue
		}
		if got := told(t, r.Proposed()); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if got := answerCompile(t, `{"sections":[{"id":"s","questions":[{"id":"a","type":"text"}]}]}`).Check(form.Input{Answers: jsontext.Value(`{}`)}).Proposed(); got != nil {
		t.Errorf("a form that asks nothing of twins: %+v", got)
	}
}

// told writes what is asked in a line.
func told(t *testing.T, a *form.Asked) string {
	t.Helper()
	if a == nil {
		return ""
	}
	var words []string
	if a.Create {
		words = append(words, "create")
	}
	if a.Update {
		words = append(words, "update", a.ID)
	}
	props, err := json.Marshal(a.Properties, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	words = append(words, a.Label, string(props))
	if len(a.Personal) > 0 {
		words = append(words, "["+strings.Join(a.Personal, " ")+"]")
	}
	return strings.Join(words, " ")
}

func TestEntityRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ doc, at string }{
		{`{"entity":{"list":"__x","label":"district"},` + entityQuestions + `}`, "/entity/list"},
		{`{"entity":{"list":"a.b","label":"district"},` + entityQuestions + `}`, "/entity/list"},
		{`{"entity":{"list":"hearth_households","label":"district"},` + entityQuestions + `}`, "/entity/list"},
		{`{"entity":{"list":"stoves"},` + entityQuestions + `}`, "/entity/label"},
		{`{"entity":{"list":"stoves","label":"nobody"},` + entityQuestions + `}`, "/entity/label"},
		{`{"entity":{"list":"stoves","label":"district","update":"works == true"},` + entityQuestions + `}`, "/entity/id"},
		{`{"entity":{"list":"stoves","label":"district","id":"stove","create":"works == true"},` + entityQuestions + `}`, "/entity/update"},
		{`{` + entityQuestions + `}`, "/sections/0/questions/1/saveTo"},
		{`{"entity":{"list":"l","label":"\"x\""},"sections":[{"id":"s","questions":[{"id":"a","type":"text","saveTo":"label"}]}]}`, "/sections/0/questions/0/saveTo"},
		{`{"entity":{"list":"l","label":"\"x\""},"sections":[{"id":"s","questions":[{"id":"a","type":"photo","saveTo":"p"}]}]}`, "/sections/0/questions/0/saveTo"},
		{`{"entity":{"list":"l","label":"\"x\""},"sections":[{"id":"s","questions":[{"id":"a","type":"text","saveTo":"p"},{"id":"b","type":"text","saveTo":"p"}]}]}`, "/sections/0/questions/1/saveTo"},
		{`{"entity":{"list":"l","label":"\"x\""},"sections":[{"id":"s","questions":[{"id":"r","type":"repeat","questions":[{"id":"a","type":"text","saveTo":"p"}]}]}]}`, "/sections/0/questions/0/questions/0/saveTo"},
		{`{"sections":[{"id":"s","questions":[{"id":"a","type":"text","list":"stoves"}]}]}`, "/sections/0/questions/0/list"},
	} {
		var doc form.Template
		if err := json.Unmarshal([]byte(tt.doc), &doc); err != nil {
			t.Fatal(err)
		}
		_, err := form.Compile(&doc)
		if f := fault.As(err); f == nil || f.Fields[0].Pointer != tt.at {
			t.Errorf("%s: %v, want a problem at %s", tt.doc, err, tt.at)
		}
	}
}

func TestTwin(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"": "", "did:ixo:stove/1": "did:ixo:stove/1", "00112233-4455-6677-8899-AABBCCDDEEFF": "did:ixo:entity:00112233445566778899aabbccddeeff",
		"uuid:00112233-4455-6677-8899-aabbccddeeff": "did:ixo:entity:00112233445566778899aabbccddeeff", "00112233-4455": "00112233-4455",
	} {
		if got := form.Twin(id); got != want {
			t.Errorf("Twin(%q) = %q, want %q", id, got, want)
		}
	}
}
