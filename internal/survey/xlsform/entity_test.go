package xlsform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

const stoves = `{"templateId":"stoves","title":"Stoves","entity":%s,"sections":[{"id":"s","title":"S","questions":[
	{"id":"stove","type":"entity_ref","list":"stoves","label":"Which stove?"},
	{"id":"serial","type":"text","label":"Serial"},
	{"id":"litres","type":"integer","label":"Litres","saveTo":"litres"},
	{"id":"works","type":"boolean","label":"Works?","saveTo":"working"}]}]}`

// What a template asks of twins is the same after its workbook is read.
func TestEntitiesRoundTrip(t *testing.T) {
	t.Parallel()
	for _, entity := range []string{
		`{"list":"stoves","label":"serial"}`,
		`{"list":"stoves","label":"serial + \" new\"","create":"works == true"}`,
		`{"list":"stoves","id":"stove"}`,
		`{"list":"stoves","id":"stove","update":"litres > 3"}`,
		`{"list":"stoves","label":"serial","id":"stove","create":"stove == null","update":"stove != null"}`,
		`{"list":"stoves","label":"household.group"}`, // nothing XPath knows: kept beside
	} {
		var doc form.Template
		if err := json.Unmarshal([]byte(strings.Replace(stoves, "%s", entity, 1)), &doc); err != nil {
			t.Fatal(err)
		}
		if err := same(&doc); err != nil {
			t.Errorf("%s: %v", entity, err)
		}
	}
}

// A workbook of others makes or changes twins.
func TestEntitiesOfOthers(t *testing.T) {
	t.Parallel()
	survey := [][]string{
		{"type", "name", "label", "save_to"},
		{"select_one_from_file trees.csv", "tree", "Which tree?", ""},
		{"integer", "girth", "Girth", "circumference_cm"},
		{"text", "species", "Species", "species"},
	}
	f, _, found := taken(t, map[string][][]string{"survey": survey, "entities": {{"dataset", "label", "entity_id", "update_if"}, {"trees", "concat(${species}, ' tree')", "${tree}", "${girth} > 10"}}})
	doc := f.Template()
	e := doc.Entity
	if e == nil || e.List != "trees" || e.ID != "tree" || e.Update != "girth > 10" || !strings.Contains(e.Label, "species") {
		t.Errorf("entity = %+v\n%+v", e, found)
	}
	qs := doc.Sections[0].Questions
	if qs[0].Type != form.EntityRef || qs[0].List != "trees" || qs[1].SaveTo != "circumference_cm" {
		t.Errorf("questions = %+v", qs)
	}
}

func TestEntitiesRefused(t *testing.T) {
	t.Parallel()
	survey := [][]string{{"type", "name", "label", "save_to"}, {"text", "species", "Species", "species"}}
	for want, entities := range map[string][][]string{
		"one entity":            {{"list_name", "label"}, {"trees", "${species}"}, {"birds", "${species}"}},
		"needs a name":          {{"list_name", "label"}, {"trees", ""}},
		"The value must be":     {{"list_name", "label"}, {"tr.ees", "${species}"}},
		"each element":          {{"list_name", "label", "repeat"}, {"trees", "${species}", "${r}"}},
		"change other entities": {{"list_name", "label"}, {"trees", "once-upon(${species})"}},
		"the twin to change":    {{"list_name", "label", "update_if"}, {"trees", "${species}", "${species} = 'oak'"}},
	} {
		_, report, err := read(workbook(t, map[string][][]string{"survey": survey, "entities": entities}))
		named := slices.ContainsFunc(report.Items, func(i xlsform.Item) bool {
			return i.Sheet == "entities" && i.Level == xlsform.Error && strings.Contains(i.Detail, want)
		})
		if err == nil || !named {
			t.Errorf("%v: %v, want %q\n%+v", entities, err, want, report.Items)
		}
	}
	if _, report, err := read(workbook(t, map[string][][]string{"survey": survey})); err == nil || report.Items[len(report.Items)-1].Column != "save_to" {
		t.Errorf("save_to without entities: %v\n%+v", err, report.Items)
	}
}
