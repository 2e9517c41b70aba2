package response

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// Item is a rendered response of a list. The reference shows it as the Record
// it is.
type Item struct{ jsontext.Value }

// Schema describes the item in the API reference.
func (Item) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[Record](), true, "Record")
}
