package twin

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hearth-dmrv/hearth/api"
)

// Brief is a short description of a twin, for expanded relationships.
type Brief struct {
	DID        string `json:"did"`
	Type       string `json:"type"`
	Class      string `json:"class"`
	DomainType string `json:"domainType"`
	Status     Status `json:"status"`
	Name       string `json:"name,omitzero" doc:"The beginning of its name: properties.name, else metadata.name; where that is personal, only with the scope entities:pii."`
}

// TransformSchema adds the member that expand=protocol adds to a record.
func (Entity) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	s.Properties["protocolRecord"] = expanded(r, reflect.TypeFor[api.ProtocolBrief](), "With expand=protocol: what the twin is made from.")
	return s
}

// TransformSchema adds the member that expand=relationships adds to each of
// them.
func (Relationship) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	s.Properties["entity"] = expanded(r, reflect.TypeFor[Brief](), "With expand=relationships: the target, where the caller may see it.")
	return s
}

func expanded(r huma.Registry, t reflect.Type, about string) *huma.Schema {
	s := *r.Schema(t, false, "")
	s.Description = about
	return &s
}
