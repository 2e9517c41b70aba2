package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// errFormat means that a value does not have its format. It has no details: the
// sentence for people is made from the name of the format. Only GeoJSON needs
// more; see wrongGeo.
var errFormat = errors.New("the format is not met")

// text makes a check of texts one of values: other types have no format.
func text(f func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || f(s)
	}
}

func registerFormats(c *jsonschema.Compiler) {
	for name, ok := range ownFormats() {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if ok(v) {
				return nil
			}
			return errFormat
		}})
	}
	c.RegisterFormat(&jsonschema.Format{Name: "geojson", Validate: geoJSON})
	c.AssertFormat()
}
