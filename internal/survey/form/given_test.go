package form_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

func answerCompile(t *testing.T, doc string) *form.Form {
	t.Helper()
	var out form.Template
	if err := json.Unmarshal([]byte(doc), &out); err != nil {
		t.Fatal(err)
	}
	f, err := form.Compile(&out)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const doc = `{"templateId":"t","sections":[{"id":"home","questions":[
	{"id":"near","type":"household_ref"},{"id":"cost","type":"number"},{"id":"yearly","type":"calculate","calculate":"home.cost * 12.0"},
	{"id":"kin","type":"repeat","questions":[{"id":"who","type":"household_ref"},{"id":"age","type":"integer"}]}]}]}`

func TestGivenAndRename(t *testing.T) {
	t.Parallel()
	f := answerCompile(t, doc)
	for _, tt := range []struct{ name, answers, given, renamed string }{
		{"nothing", ``, ``, ``},
		{"empty", `{}`, `{}`, `{}`},
		{"others stay as they are written", `{"home":{"cost":1.50}}`, `{"home":{"cost":1.50}}`, `{"home":{"cost":1.50}}`},
		{
			"all", `{"home":{"cost":1.5,"kin":[{"age":3,"who":"a"},{"who":"b"},{"age":4}],"near":"c","yearly":18}}`,
			`{"home":{"cost":1.5,"kin":[{"age":3,"who":"a"},{"who":"b"},{"age":4}],"near":"c"}}`,
			`{"home":{"cost":1.5,"kin":[{"age":3,"who":"A"},{"who":"B"},{"age":4}],"near":"C","yearly":18}}`,
		},
		{"no answer", `{"home":{"near":{"noAnswer":"refused"}}}`, `{"home":{"near":{"noAnswer":"refused"}}}`, `{"home":{"near":{"noAnswer":"refused"}}}`},
		{"not what was asked", `{"home":[1],"x":2}`, `{"home":[1],"x":2}`, `{"home":[1],"x":2}`},
	} {
		if got, err := form.Given(f, jsontext.Value(tt.answers)); err != nil || string(got) != tt.given {
			t.Errorf("%s: given = %s, %v, want %s", tt.name, got, err, tt.given)
		}
		if got, err := form.Rename(f, jsontext.Value(tt.answers), strings.ToUpper); err != nil || string(got) != tt.renamed {
			t.Errorf("%s: renamed = %s, %v, want %s", tt.name, got, err, tt.renamed)
		}
	}
	if _, err := form.Rename(f, jsontext.Value(`[]`), strings.ToUpper); err == nil {
		t.Error("a list has no answers, want an error")
	}
}
