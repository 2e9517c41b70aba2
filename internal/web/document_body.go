package web

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// plainBody describes the body of a plain handler: JSON by its type, a form by
// the texts of that type, anything else as bytes, for which viewers show a
// choice of files.
func plainBody(reg huma.Registry, op *huma.Operation, d Doc, media string) *huma.MediaType {
	switch {
	case media == mediaForm:
		return formBody(reg, op, d)
	case media == mediaFiles:
		return filesBody()
	case media != mediaJSON:
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	case d.Body == nil:
		return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}, Example: d.Example}
	}
	return &huma.MediaType{Schema: reg.Schema(reflect.TypeOf(d.Body), true, operationTypeHint(op)), Example: d.Example}
}

// filesBody is a form with a file in the part form, and others beside it.
func filesBody() *huma.MediaType {
	file := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	return &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject, Required: []string{"form"}, Properties: map[string]*huma.Schema{
		"form": file, "files": {Type: huma.TypeArray, Items: file},
	}}}
}

// formBody describes a body as a form: its members that are texts. A body
// without a description has any. Viewers fill each field in separately, so each
// has its part of the example; fields that the example leaves empty are
// optional.
func formBody(reg huma.Registry, op *huma.Operation, d Doc) *huma.MediaType {
	form := &huma.Schema{Type: huma.TypeObject}
	if d.Body == nil {
		form.AdditionalProperties = &huma.Schema{Type: huma.TypeString}
		return &huma.MediaType{Schema: form}
	}
	texts := formExample(d.Example)
	form.Properties = map[string]*huma.Schema{}
	whole := reg.Schema(reflect.TypeOf(d.Body), false, operationTypeHint(op))
	for name, p := range whole.Properties {
		if p.Type != huma.TypeString {
			continue
		}
		field := *p // the other bodies of the type have the original
		if d.Example != nil {
			field.Examples = []any{texts[name]}
		}
		form.Properties[name] = &field
		if slices.Contains(whole.Required, name) && (d.Example == nil || texts[name] != "") {
			form.Required = append(form.Required, name)
		}
	}
	slices.Sort(form.Required)
	return &huma.MediaType{Schema: form}
}

// formExample gives the texts of an example.
func formExample(body any) map[string]string {
	out := map[string]string{}
	text, err := json.Marshal(body)
	if err != nil {
		return out
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return out
	}
	for name, v := range all {
		if s, ok := v.(string); ok {
			out[name] = s
		}
	}
	return out
}
