package entity

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// domainRoutes accept twins in the terms of domain registration.
func (h handlers) domainRoutes(a *web.API) {
	web.Post(a, "/v1/domains", h.serveDomain, web.Doc{
		Summary: "Create an entity as a domain", Status: http.StatusCreated, Scope: writeScope, Tag: tag, Once: true,
		Description: "Another spelling of POST /v1/entities: class is the DID of the protocol, validFrom and validUntil are startDate and endDate.",
		Example: Domain{
			Type: "project", Protocol: "did:ixo:protocol/project", Metadata: Object{Value: jsontext.Value(`{"name":"Clean cooking in Kitui"}`)},
		},
		Codes: []string{"ENTITY_INVALID", "PROPERTY_SCHEMA_VIOLATION", "PROTOCOL_NOT_FOUND"},
	})
}

// Domain is a draft in the terms of domain registration.
type Domain struct {
	Type          string          `json:"type" example:"project"`
	Protocol      string          `json:"protocol,omitzero" doc:"DID of the protocol." example:"did:ixo:protocol/project"`
	Class         string          `json:"class,omitzero" doc:"The same as class; give one of the two."`
	Metadata      Object          `json:"metadata,omitzero" doc:"Its name becomes a property too when the protocol has one."`
	Properties    Object          `json:"properties,omitzero"`
	Relationships []RelationDraft `json:"relationships,omitzero"`
	ValidFrom     time.Time       `json:"validFrom,omitzero"`
	ValidUntil    time.Time       `json:"validUntil,omitzero"`
}

// SchemaName is the name under which clients know it.
func (Domain) SchemaName() string { return "PartDomain" }

// draft turns the domain into the draft of a twin.
func (b Domain) draft() Draft {
	return Draft{
		Type: b.Type, Protocol: cmp.Or(b.Protocol, b.Class), Metadata: b.Metadata, Properties: b.Properties, Relationships: b.Relationships,
		StartDate: b.ValidFrom, EndDate: b.ValidUntil,
	}
}

// Validate names everything that is wrong with a domain and can be seen without
// its protocol, in a fault ENTITY_INVALID.
func (b Domain) Validate() error {
	return check.Together(b.ambiguous(), b.pointed(b.draft().Validate()))
}

// ambiguous refuses a draft that names two protocols.
func (b Domain) ambiguous() error {
	if b.Class == "" || b.Protocol == "" || b.Class == b.Protocol {
		return nil
	}
	return relationship.Invalid("/class", "invalid", "Give class or protocol, or the same DID in both.")
}

// pointed moves the pointers of a fault to the members that a domain has.
func (b Domain) pointed(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	moved := *f
	moved.Fields = slices.Clone(f.Fields)
	for i := range moved.Fields {
		switch field := &moved.Fields[i]; {
		case field.Pointer == "/startDate":
			field.Pointer = "/validFrom"
		case field.Pointer == "/endDate":
			field.Pointer = "/validUntil"
		case field.Pointer == "/protocol" && b.Protocol == "" && b.Class != "":
			field.Pointer = "/class"
		}
	}
	return &moved
}

func (h handlers) serveDomain(ctx context.Context, in *struct{ Body Domain }) (web.Reply[*Entity], error) {
	var none web.Reply[*Entity]
	if in.Body.ambiguous() != nil {
		return none, in.Body.Validate()
	}
	d := in.Body.draft()
	if err := h.name(ctx, &d); err != nil {
		return none, err
	}
	a, err := h.service.Create(ctx, d)
	return a, in.Body.pointed(err)
}

// name copies the name in the metadata to a property when the protocol has one
// and the draft does not give it. It does not check the rest of the draft.
func (h handlers) name(ctx context.Context, d *Draft) error {
	var meta map[string]jsontext.Value
	if d.Metadata.IsZero() || json.Unmarshal(d.Metadata.Value, &meta) != nil || meta["name"].Kind() != '"' {
		return nil
	}
	id, version := twin.SplitVersion(d.Protocol)
	p, err := h.service.protocols.Find(ctx, web.CallerFrom(ctx).Workspace, id, version)
	if err != nil || p.Kind("name") != "string" {
		return nil
	}
	named, err := web.Encode(map[string]jsontext.Value{"name": meta["name"]})
	if err != nil {
		return err
	}
	if d.Properties.IsZero() {
		d.Properties = Object{Value: named}
		return nil
	}
	if d.Properties.Kind() != '{' {
		return nil
	}
	merged, err := web.MergePatch(named, d.Properties.Value) // what is given wins
	if err != nil {
		return err
	}
	d.Properties = Object{Value: merged}
	return nil
}
