package menu

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestSchemaHasTheMembersOfParse keeps the two descriptions of a pack equal.
func TestSchemaHasTheMembersOfParse(t *testing.T) {
	t.Parallel()
	type part struct {
		Properties map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"properties"`
	}
	var doc struct {
		part
		Defs map[string]part `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	keys := func(p part) []string {
		var out []string
		for name := range p.Properties {
			out = append(out, name)
		}
		return out
	}
	inner := func(name string) []string {
		var out []string
		for member := range doc.Properties[name].Properties {
			out = append(out, member)
		}
		return out
	}
	for _, tt := range []struct {
		name      string
		got, want []string
	}{
		{"pack", keys(doc.part), packFields},
		{"limits", inner("limits"), limitFields},
		{"navigation", inner("navigation"), navigationFields},
		{"node", keys(doc.Defs["node"]), nodeFields},
		{"option", keys(doc.Defs["option"]), optionFields},
		{"list", keys(doc.Defs["list"]), listFields},
		{"case", keys(doc.Defs["case"]), caseFields},
		{"input", keys(doc.Defs["input"]), inputFields},
		{"skip", keys(doc.Defs["skip"]), skipFields},
		{"target", keys(doc.Defs["target"]), targetFields},
	} {
		slices.Sort(tt.got)
		if want := slices.Sorted(slices.Values(tt.want)); !slices.Equal(tt.got, want) {
			t.Errorf("%s: the schema has %q, Parse %q", tt.name, tt.got, want)
		}
	}
}
