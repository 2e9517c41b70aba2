package schema

import "github.com/hearth-dmrv/hearth/internal/rql"

// numberTypes are numbers, and yes and no.
func numberTypes() []Type {
	return []Type{
		{Name: "number", Doc: map[string]any{"type": "number"}, Compares: rql.Number, Cell: "number"},
		{Name: "integer", Doc: map[string]any{"type": "integer"}, Compares: rql.Number, Cell: "number"},
		{Name: "boolean", Doc: map[string]any{"type": "boolean"}, Compares: rql.Bool, Cell: "boolean"},
	}
}
