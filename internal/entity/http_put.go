package entity

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/entity/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// document is the body of a PUT: what a client decides, and whatever else a
// record has, which must be as it is.
type document struct {
	Entity
	Groups []GroupDraft `json:"groups,omitzero" doc:"Of an organisation that is created."`
}

func (s *Service) servePut(ctx context.Context, in *struct {
	changing
	IfNoneMatch string `header:"If-None-Match" doc:"* creates and never replaces."`
	Body        document
	RawBody     []byte
},
) (web.Reply[*Entity], error) {
	var none web.Reply[*Entity]
	switch absent := strings.TrimSpace(in.IfNoneMatch); {
	case absent == "*":
		return s.createAs(ctx, in.DID, in.RawBody)
	case absent != "":
		return none, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "header/If-None-Match", Code: "invalid", Detail: "Only * is accepted here."})
	case strings.TrimSpace(in.IfMatch) == "":
		return none, web.CheckMatch("", 0)
	}
	return replied(s.Patch(ctx, in.DID, in.IfMatch, Change{document: in.RawBody, Reason: in.Reason, Action: "replace"}))
}

// createAs creates a twin under the DID of the path.
func (s *Service) createAs(ctx context.Context, id string, body []byte) (web.Reply[*Entity], error) {
	var none web.Reply[*Entity]
	var d Draft
	if err := web.DecodeStrict(body, &d, false); err != nil {
		return none, err
	}
	if d.DID != "" && d.DID != id {
		return none, invalidRelation("/did", "invalid", "The DID must be the one of the path.")
	}
	d.DID = id
	a, err := s.Create(ctx, d)
	if err == nil {
		a.Status = http.StatusCreated
	}
	return a, err
}

// replaceBy is replace for a document that may repeat what the server
// decides.
func replaceBy(e *Entity, stored, doc []byte) error {
	free := func(name string) bool {
		switch name {
		case "did", "protocol", "protocolVersion", "relationships", "groups":
			return true // replace compares them as a draft has them
		}
		return editable(name)
	}
	if err := check.Unchanged(check.Edited{Stored: stored, Changed: doc, Free: free, Known: atTimes, Partly: true}); err != nil {
		return err
	}
	var n document
	if err := web.DecodeStrict(doc, &n, false); err != nil {
		return err
	}
	d := Draft{
		DID: n.DID, Protocol: n.Protocol, ProtocolVersion: n.ProtocolVersion, Controller: n.Controller, Controllers: n.Controllers, Groups: n.Groups,
	}
	for _, r := range n.Relationships {
		d.Relationships = append(d.Relationships, RelationDraft{Role: r.Role, Target: r.Target})
	}
	d.From(&n.Entity)
	return replace(&d, e)
}

// merging is the body of a PATCH. Only its bytes matter: they are applied to
// the record, and what comes of that is checked.
type merging struct{ jsontext.Value }

// Schema describes what can be changed in the API reference.
func (merging) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[EntityPatch](), true, "EntityPatch")
}

// EntityPatch lists what a PATCH can change.
type EntityPatch struct {
	Type            string            `json:"type,omitzero"`
	Controller      string            `json:"controller,omitzero"`
	Controllers     []string          `json:"controllers,omitzero"`
	Properties      Object            `json:"properties,omitzero" doc:"Null removes a member."`
	Services        []Endpoint        `json:"services,omitzero" doc:"An array replaces the whole list; this holds for all arrays."`
	LinkedResources []LinkedResource  `json:"linkedResources,omitzero"`
	LinkedEntities  []LinkedEntity    `json:"linkedEntities,omitzero"`
	AccordedRights  []AccordedRight   `json:"accordedRights,omitzero"`
	Accounts        []Account         `json:"accounts,omitzero"`
	AlsoKnownAs     []string          `json:"alsoKnownAs,omitzero"`
	ExternalIDs     map[string]string `json:"externalIds,omitzero"`
	StartDate       time.Time         `json:"startDate,omitzero"`
	EndDate         time.Time         `json:"endDate,omitzero"`
	Metadata        Object            `json:"metadata,omitzero"`
}

func (s *Service) servePatch(ctx context.Context, in *struct {
	changing
	Body    merging
	RawBody []byte
},
) (web.Reply[*Entity], error) {
	c := Change{Merge: in.RawBody, Reason: in.Reason}
	if web.IsJSONPatch(ctx) {
		c.Merge, c.JSONPatch = nil, in.RawBody
	}
	return replied(s.Patch(ctx, in.DID, in.IfMatch, c))
}
