package export_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Codebooks list the options that are in files, and not all of a long one.
func TestCodebookListsFiles(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	rows.WriteString("name,label,county\nv1,Mutomo,kitui\nv1,Mutomo again,kitui\n,nothing,kitui\n")
	for i := range form.MaxOptions {
		fmt.Fprintf(&rows, "w%d,Ward %d,kitui\n", i, i)
	}
	file, err := form.ReadFile("places.csv", []byte(rows.String()))
	if err != nil {
		t.Fatal(err)
	}
	from := &form.OptionsFrom{File: "places.csv"}
	tpl := &form.Template{Files: []form.DataFile{*file}, Sections: []form.Section{{ID: "s", Questions: []form.Question{
		{ID: "one", Type: form.SingleChoice, OptionsFrom: from, Other: true},
		{ID: "counties", Type: form.MultipleChoice, OptionsFrom: &form.OptionsFrom{File: "places.csv", Value: "county", Label: "label"}},
	}}}}
	for i := range 12 {
		tpl.Sections[0].Questions = append(tpl.Sections[0].Questions, form.Question{ID: fmt.Sprintf("again%d", i), Type: form.SingleChoice, OptionsFrom: from})
	}
	f, err := form.Compile(tpl)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, c := range export.NewCodebook("s1", 1, f, export.Sample{}).Columns {
		total += len(c.Options)
		switch {
		case c.Name == "s.one" && (len(c.Options) != form.MaxOptions || c.Options[0].Value != "v1" || c.Options[1].Label.In("en", "en") != "Ward 0" || !strings.Contains(c.Note, "places.csv has more")):
			t.Errorf("s.one has %d options, %+v, note %q", len(c.Options), c.Options[:2], c.Note)
		case c.Name == "s.one/other" && len(c.Options) > 0:
			t.Error("an answer in other words has options")
		case c.Name == "s.counties" && (len(c.Options) != 1 || c.Options[0].Value != "kitui" || c.Note != ""):
			t.Errorf("s.counties = %+v", c)
		}
	}
	if total > 10_000 {
		t.Errorf("%d options in all", total)
	}
}
