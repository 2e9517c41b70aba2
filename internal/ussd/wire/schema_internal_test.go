package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestSchemaHasTheMembersOfParse keeps the two descriptions of a gateway equal.
func TestSchemaHasTheMembersOfParse(t *testing.T) {
	t.Parallel()
	type part struct {
		Properties map[string]part `json:"properties"`
	}
	var doc part
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	var compare func(path string, typ reflect.Type, got part)
	compare = func(path string, typ reflect.Type, got part) {
		var names, want []string
		for name := range got.Properties {
			names = append(names, name)
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			want = append(want, name)
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			if of.Kind() == reflect.Struct {
				compare(path+name+".", of, got.Properties[name])
			}
		}
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("%s: the schema has %q, Parse %q", path, names, want)
		}
	}
	compare("", reflect.TypeFor[spec](), doc)
}
