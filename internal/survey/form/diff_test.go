package form_test

import (
	"flag"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

var update = flag.Bool("update", false, "write the golden files anew")

// diffCase is a case of testdata/diff.json.
type diffCase struct {
	Name string          `json:"name"`
	Old  form.Template   `json:"old"`
	New  form.Template   `json:"new"`
	Want form.Difference `json:"want"`
}

func TestDiff(t *testing.T) {
	t.Parallel()
	const path = "testdata/diff.json"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []diffCase
	if err := json.Unmarshal(raw, &cases, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		c := &cases[i]
		for _, tpl := range []*form.Template{&c.Old, &c.New} {
			if _, err := form.Compile(tpl); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
		got := form.Diff(&c.Old, &c.New)
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(c.Want)
		if *update {
			c.Want = got
		} else if string(a) != string(b) {
			t.Errorf("%s: Diff() =\n%s\nwant\n%s", c.Name, a, b)
		}
		if d := form.Diff(&c.New, &c.New); d.Verdict != form.Identical || len(d.Changes) != 0 {
			t.Errorf("%s: Diff of itself = %+v", c.Name, d)
		}
	}
	if *update {
		out, err := json.Marshal(cases, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
