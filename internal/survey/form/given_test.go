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
		if got, err := form.Rename(f, jsontext.Value(tt.answers), upper{}); err != nil || string(got) != tt.renamed {
			t.Errorf("%s: renamed = %s, %v, want %s", tt.name, got, err, tt.renamed)
		}
	}
	if _, err := form.Rename(f, jsontext.Value(`[]`), upper{}); err == nil {
		t.Error("a list has no answers, want an error")
	}
}

// upper names things in capitals.
type upper struct{}

func (upper) Household(id string) string { return strings.ToUpper(id) }
func (upper) Serial(text string) string  { return "sn_" + text }

// Numbers on things and DIDs of twins get names as households do, and what was
// calculated from them, and are what they were when the names come back.
func TestRenameSerials(t *testing.T) {
	t.Parallel()
	f := answerCompile(t, `{"sections":[{"id":"s","questions":[
		{"id":"code","type":"barcode","dontKnow":true},{"id":"serialNo","type":"integer"},{"id":"stove","type":"entity_ref"},{"id":"home","type":"household_ref"},
		{"id":"label","type":"calculate","calculate":"code + \"!\""},{"id":"age","type":"integer"},
		{"id":"stoves","type":"repeat","questions":[{"id":"bar","type":"barcode"},{"id":"age2","type":"integer"}]}]}]}`)
	const (
		plain = `{"s":{"age":3,"code":"AB","home":"did:x:h","label":"AB!","serialNo":77,"stove":"did:x:s","stoves":[{"age2":1,"bar":"AB"},{"bar":{"noAnswer":"refused"}}]}}`
		named = `{"s":{"age":3,"code":"sn_AB","home":"DID:X:H","label":"sn_AB!","serialNo":"sn_77","stove":"sn_did:x:s","stoves":[{"age2":1,"bar":"sn_AB"},{"bar":{"noAnswer":"refused"}}]}}`
	)
	if got, err := form.Rename(f, jsontext.Value(plain), upper{}); err != nil || string(got) != named {
		t.Errorf("renamed = %s, %v, want %s", got, err, named)
	}
	if got, err := form.Restore(f, jsontext.Value(named), jsontext.Value(plain), upper{}); err != nil || string(got) != plain {
		t.Errorf("restored = %s, %v, want %s", got, err, plain)
	}
	const changed = `{"s":{"code":"sn_CD","serialNo":78}}`
	if got, err := form.Restore(f, jsontext.Value(changed), jsontext.Value(plain), upper{}); err != nil || string(got) != changed {
		t.Errorf("what nobody named = %s, %v, want %s", got, err, changed)
	}
}
