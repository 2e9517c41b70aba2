package relationship

import (
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Fit checks a record against its protocol and returns the decoded properties.
// Faults, with all that is wrong: PROPERTY_SCHEMA_VIOLATION, ENTITY_INVALID.
func Fit(p *protocol.Protocol, e *twin.Entity) (map[string]any, error) {
	values, wrong := e.Properties.Decode()
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
