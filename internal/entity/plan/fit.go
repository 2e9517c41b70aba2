package plan

import (
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Fit holds a record against its protocol and returns the decoded properties.
// Faults, with all that is wrong: PROPERTY_SCHEMA_VIOLATION, ENTITY_INVALID.
func Fit(p *protocol.Protocol, e *twin.Entity) (map[string]any, error) {
	values, wrong := decode(e.Properties.Value)
	wrong = web.JoinFields(wrong, p.Check(values))
	var err error
	if len(wrong) > 0 {
		err = fault.New(fault.Invalid, "PROPERTY_SCHEMA_VIOLATION", "The properties do not fit the protocol.").With(wrong...)
	}
	if !p.Fits(e.Type) {
		err = check.Together(err, Invalid("/type", "not_applicable", "The protocol is not for twins of this type."))
	}
	return values, err
}

// decode reads properties. It names those with a number that cannot be kept.
func decode(properties jsontext.Value) (map[string]any, []fault.Field) {
	values := map[string]any{}
	if len(properties) == 0 {
		return values, nil
	}
	if object, ok := flat(properties); ok {
		return object, nil
	}
	var decoded any // the decoder has a faster way for this than for a map
	if json.Unmarshal(properties, &decoded) == nil {
		if object, ok := decoded.(map[string]any); ok {
			return object, nil
		}
	}
	members, err := check.Members(properties)
	if err != nil || members == nil {
		return values, []fault.Field{{Pointer: "/properties", Code: "wrong_type", Detail: "The value must be an object."}}
	}
	var wrong []fault.Field
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var v any
		err := json.Unmarshal(members[name], &v)
		if err == nil {
			values[name] = v
			continue
		}
		at := "/properties/" + check.Escape(name)
		var number *json.SemanticError
		if errors.As(err, &number) {
			at += string(number.JSONPointer)
		}
		wrong = append(wrong, fault.Field{Pointer: at, Code: "out_of_range", Detail: "The number must be between -1.79e308 and 1.79e308."})
	}
	return values, wrong
}
