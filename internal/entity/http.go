package entity

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	tag        = "entities"
	readScope  = web.Scope("entities:read")
	writeScope = web.Scope("entities:write")
)

const aboutControl = "Only controllers of the entity may change it. If-Match names the revision you have read; * matches any revision."

// aboutParts is aboutControl where a route changes one part of a twin.
const aboutParts = "Only controllers of the entity may change it. The did:keys (in alsoKnownAs) and controllers of a DID that has rights of its own can be changed only by that DID itself, or by a caller who has every scope it has. If-Match names the revision you have read; * matches any revision."

const aboutPersonal = "Callers who do not control the entity and lack the scope entities:pii get it without the properties its protocol marks as personal; withheld names them."

// handlers serve the requests of the API with the use cases.
type handlers struct{ service *Service }

// Routes adds the entity API to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	web.Post(a, "/v1/entities", h.serveCreate, web.Doc{
		Summary: "Create an entity from a protocol", Status: http.StatusCreated, Scope: writeScope, Tag: tag, Once: true,
		Description: "The class comes from the protocol. A relationship that the protocol requires and the draft does not name leaves the entity a draft, with " +
			"missingRelationships. An organisation is created together with its membership groups. DIDs and external ids are unique in the workspace: " +
			"a value that is taken is refused even when a key for some projects cannot see which entity has it.",
		Example: Draft{
			Type: "Device", Protocol: "did:ixo:protocol/template",
			Properties: Object{Value: jsontext.Value(`{"metricOne":"value","metricTwo":100}`)},
		},
		Codes: []string{
			"ENTITY_INVALID", "PROPERTY_SCHEMA_VIOLATION", "PROTOCOL_NOT_FOUND", "PROTOCOL_NOT_PUBLISHED", "PROTOCOL_VERSION_RETIRED",
			"ENTITY_EXISTS", "EXTERNAL_ID_EXISTS", "RELATIONSHIP_CLASS_MISMATCH", "CREDENTIAL_NEEDS_CLAIM", "NOT_CONTROLLER",
			"KEY_RESTRICTED", "CLAIM_INVALID", "CLAIM_OVERLAPS", "CLAIM_DUPLICATE",
		},
	})
	web.Get(a, "/v1/entities/{did}", h.serveGet, web.Doc{
		Summary: "Read an entity", Scope: readScope, Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"},
		Description: "Deactivated entities stay readable. at reads an earlier revision; fields and expand shape the answer. " + aboutPersonal,
	})
	web.Put(a, "/v1/entities/{did}", h.servePut, web.Doc{
		Summary: "Replace an entity, or create one under a DID of yours", Scope: writeScope, Tag: tag, Also: []int{http.StatusCreated},
		Description: "If-None-Match: * creates; If-Match replaces everything a client decides. Members the server decides may be repeated as they are. " + aboutControl,
		Example: Draft{
			Type: "Device", Protocol: "did:ixo:protocol/template", Properties: Object{Value: jsontext.Value(`{"metricOne":"other","metricTwo":7}`)},
		},
		Codes: []string{
			"ENTITY_INVALID", "READ_ONLY_MEMBER", "PROPERTY_SCHEMA_VIOLATION", "NOT_CONTROLLER", "ENTITY_DEACTIVATED", "ENTITY_EXISTS",
			"STALE_REVISION", "PRECONDITION_REQUIRED",
		},
	})
	web.Patch(a, "/v1/entities/{did}", h.servePatch, web.Doc{
		Summary: "Change an entity", Scope: writeScope, Tag: tag, Patch: true, JSONPatch: true, Description: aboutControl,
		Example: map[string]any{"metadata": map[string]any{"name": "Stove 7"}},
		Codes: []string{
			"ENTITY_INVALID", "READ_ONLY_MEMBER", "PROPERTY_SCHEMA_VIOLATION", "NOT_CONTROLLER", "ENTITY_DEACTIVATED",
			"EXTERNAL_ID_EXISTS", "STALE_REVISION", "PRECONDITION_REQUIRED", "CLAIM_SUBMITTED", "CREDENTIAL_FIXED",
		},
	})
	web.Delete(a, "/v1/entities/{did}", h.serveDelete, web.Doc{
		Summary: "Deactivate an entity", Scope: writeScope, Tag: tag, Description: "Final. Its DID stays resolvable. An organisation or a project that active entities need stays until they are " +
			"suspended, completed, deactivated or given another. " + aboutControl,
		Codes: []string{"NOT_CONTROLLER", "STATE_TRANSITION_INVALID", "ORGANISATION_REQUIRES_GROUP", "ACTIVE_DEPENDANTS", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	h.stepRoutes(a)
	h.relationRoutes(a)
	h.serviceRoutes(a)
	h.propertyRoutes(a)
	h.controllerRoutes(a)
	h.domainRoutes(a)
}

type one struct {
	DID string `path:"did" doc:"DID of the entity; slashes may be written as they are or as %2F." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
}

// changing is the input that routes that change a twin share.
type changing struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; * for any."`
	Reason  string `query:"reason" doc:"Why, for the history; one line of at most 1,000 characters."`
}

func (h handlers) serveCreate(ctx context.Context, in *struct {
	Body   Draft
	Misfit error
},
) (web.Reply[*Entity], error) {
	if in.Misfit != nil {
		return web.Reply[*Entity]{}, h.service.withRest(ctx, in.Body, in.Misfit)
	}
	return h.service.Create(ctx, in.Body)
}

func (h handlers) serveGet(ctx context.Context, in *struct {
	one
	At     string `query:"at" doc:"A revision (7) or a time (2026-01-31T00:00:00Z): the entity as it was."`
	Fields string `query:"fields" doc:"Only these members, separated by commas: did,properties.serial."`
	Expand string `query:"expand" doc:"Also show what it points to: relationships."`
},
) (web.Reply[*Entity], error) {
	var none web.Reply[*Entity]
	if in.At == "" && in.Fields == "" && in.Expand == "" { // almost always
		body, revision, err := h.service.Read(ctx, in.DID)
		return web.Reply[*Entity]{Raw: body, ETag: web.ETag(revision)}, err
	}
	var c fault.Checks
	for name, refused := range map[string]bool{
		"at": in.At != "" && h.service.cfg.At == nil, "fields": in.Fields != "" && h.service.cfg.Fields == nil, "expand": in.Expand != "" && h.service.cfg.Expand == nil,
	} {
		if refused {
			c.Add("query/"+name, "unknown", "This query parameter is not known here.")
		}
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return none, err
	}
	r, err := h.service.Find(ctx, h.service.db, in.DID)
	if err != nil {
		return none, err
	}
	hidden, err := h.service.See(ctx).Hidden(ctx, h.service.db, r.Protocol, r.Body)
	if err != nil {
		return none, err
	}
	body, revision := r.Body, r.Revision
	if in.At != "" {
		if body, revision, err = h.service.cfg.At(ctx, h.service.db, r, in.At); err != nil {
			return none, err
		}
	}
	a := web.Reply[*Entity]{ETag: web.ETag(revision)}
	if a.Raw, err = privacy.Without(body, hidden); err != nil {
		return none, err
	}
	if in.Expand != "" {
		if a.Raw, err = h.service.cfg.Expand(ctx, h.service.db, r, a.Raw, in.Expand); err != nil {
			return none, err
		}
		a.ETag = "" // the record can stay the same while what it points to changes
	}
	if in.Fields != "" {
		if a.Raw, err = h.service.cfg.Fields(ctx, r, a.Raw, in.Fields); err != nil {
			return none, err
		}
	}
	return a, nil
}

func (h handlers) serveDelete(ctx context.Context, in *changing) (web.Reply[*Entity], error) {
	if strings.TrimSpace(in.IfMatch) == "" {
		return web.Reply[*Entity]{}, web.CheckMatch("", 1)
	}
	return h.service.Transition(ctx, in.DID, in.IfMatch, Transition{To: StatusDeactivated, Reason: in.Reason})
}

// once runs a change in a transaction, once for its Idempotency-Key.
func (s *Service) once(ctx context.Context, fn func(tx *db.Tx) (*Row, error)) (web.Reply[*Entity], error) {
	return once.Do(ctx, s.idem, func(tx *db.Tx) (web.Reply[*Entity], error) {
		r, err := fn(tx)
		if err != nil {
			return web.Reply[*Entity]{}, err
		}
		return s.Answer(ctx, tx, r)
	})
}

// changed makes a change outside package once.
func (h handlers) changed(ctx context.Context, in changing, c Change) (web.Reply[*Entity], error) {
	r, err := h.service.Patch(ctx, in.DID, in.IfMatch, c)
	if err != nil {
		return web.Reply[*Entity]{}, err
	}
	return h.service.Answer(ctx, h.service.db, r)
}

// codes lists the fault codes that every change can have, and more.
func codes(more ...string) []string {
	return append(more, "NOT_CONTROLLER", "PRINCIPAL_PROTECTED", "ENTITY_INVALID", "ENTITY_DEACTIVATED", "STALE_REVISION", "PRECONDITION_REQUIRED")
}

// read returns a twin and its record.
func (h handlers) read(ctx context.Context, id string) (*Row, *Entity, error) {
	r, err := h.service.Find(ctx, h.service.db, id)
	if err != nil {
		return nil, nil, err
	}
	e, err := r.Entity()
	return r, e, err
}

// edit changes a record by a function, in a transaction of its own.
func (h handlers) edit(ctx context.Context, in changing, fn func(*Entity) error) (*Row, error) {
	return h.service.Patch(ctx, in.DID, in.IfMatch, Change{Edit: fn, Reason: in.Reason})
}

// edited is edit with the record as the answer.
func (h handlers) edited(ctx context.Context, in changing, fn func(*Entity) error) (web.Reply[*Entity], error) {
	return h.changed(ctx, in, Change{Edit: fn, Reason: in.Reason})
}
