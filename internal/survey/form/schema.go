package form

import "github.com/danielgtaylor/huma/v2"

// Schema describes a text in the API reference.
func (Text) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "A string in the default language, or an object of language tag to string.", OneOf: []*huma.Schema{
		{Type: huma.TypeString},
		{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}},
	}}
}

// Schema describes when an answer is required in the API reference.
func (Required) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "Whether an answer is needed: a boolean, or a CEL expression.",
		OneOf:       []*huma.Schema{{Type: huma.TypeBoolean}, {Type: huma.TypeString}},
	}
}

// Schema describes an option in the API reference.
func (Option) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "The value, or an object with more about it.", OneOf: []*huma.Schema{
		{Type: huma.TypeString},
		{Type: huma.TypeObject, Required: []string{"value"}, Properties: map[string]*huma.Schema{
			"value":     {Type: huma.TypeString},
			"label":     Text{}.Schema(r),
			"exclusive": {Type: huma.TypeBoolean, Description: "Whether it may only be chosen alone."},
			"score":     {Type: huma.TypeNumber},
			"data": {
				Type: huma.TypeArray, Description: "Values that choiceFilter reads as members of choice. With several, the option is offered when the filter holds for one of them.",
				Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{Type: huma.TypeString}},
			},
		}},
	}}
}

// Schema describes an object in the API reference.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// Schema describes a value in the API reference.
func (Value) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "Any JSON value."}
}
