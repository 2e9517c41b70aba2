package schema

import "github.com/hearth-dmrv/hearth/internal/rql"

// structureTypes are values made of others.
func structureTypes() []Type {
	return []Type{
		{Name: "object", Doc: map[string]any{"type": "object"}, Compares: rql.Object, Cell: "object"},
		{Name: "array", Doc: map[string]any{"type": "array"}, Cell: "array"},
		{
			Name: "quantity", Compares: rql.Object, Cell: "object", Is: isQuantity,
			Doc: map[string]any{
				"type":       "object",
				"properties": map[string]any{"value": map[string]any{"type": "number"}, "unit": map[string]any{"type": "string", "minLength": 1.0, "maxLength": 64.0}},
				"required":   []any{"value", "unit"}, "additionalProperties": false,
			},
		},
	}
}

func isQuantity(doc map[string]any) bool {
	props := mapOf(doc["properties"])
	_, value := props["value"]
	_, unit := props["unit"]
	return value && unit && len(props) == 2
}
