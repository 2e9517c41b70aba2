package openrosatest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
)

// Towns are choices in a file.
const Towns = "id,title,county,people\nt1,First town,north,100\nt2,\"Second, town\",south,250\nt3,Third town,north,7\n"

// Load reads a template from a file and makes its forms.
func Load(t *testing.T, file string) (*form.Form, *openrosa.Form) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := Compile(t, raw)
	x, err := openrosa.NewForm(f, openrosa.Options{Version: 3})
	if err != nil {
		t.Fatalf("%s: %+v", file, err)
	}
	return f, x
}

// Compile reads a template, and gives it towns.csv if its choices are in that file.
func Compile(t *testing.T, raw []byte) *form.Form {
	t.Helper()
	var doc form.Template
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "towns.csv") {
		read, err := form.ReadFile("towns.csv", []byte(Towns))
		if err != nil {
			t.Fatal(err)
		}
		doc.Files = []form.DataFile{*read}
	}
	f, err := form.Compile(&doc)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return f
}

// Sheet is a form with instances, in the format of the scripts that run a form engine.
type Sheet struct {
	Name  string            `json:"name"`
	XML   string            `json:"xml"`
	Files map[string]string `json:"files"`
	Cases []string          `json:"cases"`
}

// NewSheet makes the sheet of a form, with an instance for each of answers.
func NewSheet(name string, f *form.Form, x *openrosa.Form, answers []jsontext.Value) *Sheet {
	s := &Sheet{Name: name, XML: string(x.XML), Files: map[string]string{}}
	for _, extra := range x.Files {
		s.Files[extra.Name] = string(extra.Content)
	}
	for i, one := range answers {
		s.Cases = append(s.Cases, string(Instance(f.Template(), one, Submission{FormID: x.ID, Version: x.Version, InstanceID: fmt.Sprintf("uuid:%d", i)})))
	}
	return s
}
