package entity

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// document is the body of a PUT: what a client decides, and optionally the
// other members of a record, unchanged.
type document struct {
	Entity
	Groups []GroupDraft `json:"groups,omitzero" doc:"Of an organisation that is created."`
}

// Schema describes it for the reference: two members are required; the other
// members of a record may be sent as they were read.
func (document) Schema(reg huma.Registry) *huma.Schema {
	type plain document
	s := huma.SchemaFromType(reg, reflect.TypeFor[plain]())
	s.Required = []string{"type", "protocol"}
	return s
}

func (h handlers) servePut(ctx context.Context, in *struct {
	changing
	IfNoneMatch string `header:"If-None-Match" doc:"* creates and never replaces."`
	Body        document
	RawBody     []byte
	Misfit      error // reported together with everything else that is wrong, from RawBody
},
) (web.Reply[*Entity], error) {
	var none web.Reply[*Entity]
	switch absent := strings.TrimSpace(in.IfNoneMatch); {
	case absent == "*":
		return h.createAs(ctx, in.DID, in.RawBody)
	case absent != "":
		return none, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "header/If-None-Match", Code: "invalid", Detail: "Only * is accepted here."})
	case strings.TrimSpace(in.IfMatch) == "":
		return none, web.CheckMatch("", 0)
	}
	return h.changed(ctx, in.changing, Change{document: in.RawBody, Reason: in.Reason, Action: "replace"})
}

// createAs creates a twin under the DID of the path.
func (h handlers) createAs(ctx context.Context, id string, body []byte) (web.Reply[*Entity], error) {
	var none web.Reply[*Entity]
	var d Draft
	wrong := web.DecodeStrict(body, &d, false)
	if wrong != nil && !web.IsMisfit(wrong) {
		return none, wrong
	}
	if d.DID != "" && d.DID != id {
		wrong = check.Together(wrong, relationship.Invalid("/did", "invalid", "The DID must be the one of the path."))
	}
	d.DID = id
	if wrong != nil {
		return none, h.service.withRest(ctx, d, wrong)
	}
	a, err := h.service.Create(ctx, d)
	if fault.CodeOf(err) == "ENTITY_EXISTS" {
		return none, fault.New(fault.Stale, "ENTITY_EXISTS", "This DID is taken. Use another one.").
			With(fault.Field{Pointer: "header/If-None-Match", Code: "exists", Detail: "This DID is taken."})
	}
	if err == nil {
		a.Status = http.StatusCreated
	}
	return a, err
}

// replaceBy is replace for a document that may repeat members the server
// decides.
func replaceBy(e *Entity, stored, doc []byte, checks *fault.Checks) error {
	var n document
	err := web.DecodeStrict(doc, &n, false)
	if err != nil && !web.IsMisfit(err) {
		return err
	}
	free := func(name string) bool {
		switch name {
		case "did", "protocol", "protocolVersion", "groups":
			return true // replace compares them, as in a draft
		case "relationships":
			return n.Relationships == nil || len(n.Relationships) > 0 // so here; none repeats nothing
		}
		return editable(name)
	}
	wrong := check.Unchanged(check.Edited{Stored: stored, Changed: doc, Free: free, Known: atTimes, Partly: true})
	d := Draft{
		DID: n.DID, Protocol: n.Protocol, ProtocolVersion: n.ProtocolVersion, Controller: n.Controller, Controllers: n.Controllers, Groups: n.Groups,
	}
	for _, r := range n.Relationships {
		d.Relationships = append(d.Relationships, RelationDraft{Role: r.Role, Target: r.Target})
	}
	d.From(&n.Entity)
	return check.Together(check.Together(wrong, err), replace(&d, e, checks))
}

// merging is the body of a PATCH. Only its bytes matter: they are applied to
// the record, and the result is checked.
type merging struct{ jsontext.Value }

// Schema describes what can be changed in the API reference.
func (merging) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[twin.Patch](), true, "EntityPatch")
}

func (h handlers) servePatch(ctx context.Context, in *struct {
	changing
	Body    merging
	RawBody []byte
},
) (web.Reply[*Entity], error) {
	c := Change{Merge: in.RawBody, Reason: in.Reason}
	if web.IsJSONPatch(ctx) {
		c.Merge, c.JSONPatch = nil, in.RawBody
	}
	return h.changed(ctx, in.changing, c)
}
