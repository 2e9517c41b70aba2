package template

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// What a template weighs in the cache is what it takes, not what it was written
// in.
func TestEntryWeighsItsExpressions(t *testing.T) {
	t.Parallel()
	weight := func(regex string) int {
		f, err := form.Compile(&form.Template{Sections: []form.Section{{ID: "s", Questions: []form.Question{
			{ID: "q", Type: form.FreeText, Validation: form.Validation{Regex: regex}},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		return newEntry(&Version{}, []byte("{}"), f).weight()
	}
	if small, large := weight("a"), weight(`\pL{1,60}`); large < small+512<<10 {
		t.Errorf("the weights are %d and %d, want more than 512 KiB between them", small, large)
	}
}
