package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// EntityEdge is a relationship of a twin in the list of all.
type EntityEdge struct {
	Relationship
	Direction string    `json:"direction"` // out, or in: the target has it
	Added     time.Time `json:"added"`
	AddedBy   string    `json:"addedBy"`
}

// RelationshipQuery selects relationships.
type RelationshipQuery struct {
	Direction string // out or in; both by default
	Role      string // all by default
	Limit     int    // items in one page, 1 to 1000; 50 by default
	Cursor    string // NextCursor of the page before
}

func (q RelationshipQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "direction", q.Direction)
	set(v, "role", q.Role)
	return v
}

func relationsPath(did string) string { return entityPath(did) + "/relationships" }

// RelationshipPage reads one page of the relationships of a twin, oldest
// first.
func (e Entities) RelationshipPage(ctx context.Context, did string, q RelationshipQuery, opts ...Option) (*Page[EntityEdge], error) {
	return page[EntityEdge](ctx, e.c, relationsPath(did), q.values(), opts)
}

// Relationships walks over the relationships of a twin, oldest first. An error
// ends it.
func (e Entities) Relationships(ctx context.Context, did string, q RelationshipQuery, opts ...Option) iter.Seq2[EntityEdge, error] {
	return pages[EntityEdge](ctx, e.c, relationsPath(did), q.values(), opts)
}

// Relationship reads one relationship. Code: RELATIONSHIP_NOT_FOUND.
func (e Entities) Relationship(ctx context.Context, did, id string, opts ...Option) (*EntityEdge, error) {
	return do[EntityEdge](ctx, e.c, get(relationsPath(did)+"/"+url.PathEscape(id), nil), opts)
}

// Relate adds a relationship. Codes: RELATIONSHIP_EXISTS, RELATIONSHIP_CYCLE,
// RELATIONSHIP_CLASS_MISMATCH, RELATIONSHIP_TARGET_NOT_FOUND, NOT_CONTROLLER.
func (e Entities) Relate(ctx context.Context, did string, d RelationshipDraft, opts ...Option) (*Relationship, error) {
	return do[Relationship](ctx, e.c, post(relationsPath(did), d), opts)
}

// ConfirmRelationship confirms that the target of a relationship, which the
// server does not hold, is what it should be: from then on it fills required
// roles. It needs the scope *. Code: RELATIONSHIP_NOT_FOUND.
func (e Entities) ConfirmRelationship(ctx context.Context, did, id string, opts ...Option) (*Relationship, error) {
	return do[Relationship](ctx, e.c, post(relationsPath(did)+"/"+url.PathEscape(id)+"/confirm", nil), opts)
}

// Unrelate removes a relationship and returns it as it was. Codes:
// RELATIONSHIP_NOT_FOUND, MISSING_RELATIONSHIPS, ORGANISATION_REQUIRES_GROUP,
// CLAIM_ALREADY_VERIFIED, CLAIM_ALREADY_CREDENTIAL.
func (e Entities) Unrelate(ctx context.Context, did, id string, opts ...Option) (*EntityEdge, error) {
	return do[EntityEdge](ctx, e.c, remove(relationsPath(did)+"/"+url.PathEscape(id)), opts)
}

func servicePath(did, id string) string { return entityPath(did) + "/services/" + url.PathEscape(id) }

// Service reads a service of a twin; id is with or without #. Code:
// SERVICE_NOT_FOUND.
func (e Entities) Service(ctx context.Context, did, id string, opts ...Option) (*Service, error) {
	return do[Service](ctx, e.c, get(servicePath(did, id), nil), opts)
}

// SetService adds or replaces a service; it needs the option IfRevision or
// IfMatch of the twin, as all changes of parts do.
func (e Entities) SetService(ctx context.Context, did, id string, s Service, opts ...Option) (*Service, error) {
	return do[Service](ctx, e.c, put(servicePath(did, id), s), opts)
}

// RemoveService removes a service and returns the twin.
func (e Entities) RemoveService(ctx context.Context, did, id string, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, remove(servicePath(did, id)), opts)
}

func propertyPath(did, name string) string {
	return entityPath(did) + "/properties/" + url.PathEscape(name)
}

// Property reads a property of a twin, as JSON. Code: PROPERTY_NOT_FOUND.
func (e Entities) Property(ctx context.Context, did, name string, opts ...Option) (jsontext.Value, error) {
	return value(do[jsontext.Value](ctx, e.c, get(propertyPath(did, name), nil), opts))
}

// SetProperty sets a property to anything that can be written as JSON, and
// returns it. Code: PROPERTY_SCHEMA_VIOLATION.
func (e Entities) SetProperty(ctx context.Context, did, name string, v any, opts ...Option) (jsontext.Value, error) {
	if v == nil {
		v = jsontext.Value("null")
	}
	return value(do[jsontext.Value](ctx, e.c, put(propertyPath(did, name), v), opts))
}

// RemoveProperty removes a property and returns the twin.
func (e Entities) RemoveProperty(ctx context.Context, did, name string, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, remove(propertyPath(did, name)), opts)
}

func value(v *jsontext.Value, err error) (jsontext.Value, error) {
	if err != nil {
		return nil, err
	}
	return *v, nil
}

func controllerPath(did, controller string) string {
	return entityPath(did) + "/controllers/" + url.PathEscape(controller)
}

// AddController gives a principal control of a twin.
func (e Entities) AddController(ctx context.Context, did, controller string, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, put(controllerPath(did, controller), nil), opts)
}

// RemoveController takes control of a twin from a principal; one must remain.
// Code: CONTROLLER_NOT_FOUND.
func (e Entities) RemoveController(ctx context.Context, did, controller string, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, remove(controllerPath(did, controller)), opts)
}
