package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	Point        = api.Point
	PointCluster = api.PointCluster
	Points       = api.Points
	Transfer     = api.Transfer
)

const entitiesPath = "/v1/entities"

// Entities are the digital twins of the workspace.
type Entities struct{ c *Client }

func entityPath(did string) string { return entitiesPath + "/" + url.PathEscape(did) }

// Create makes a twin. Codes: ENTITY_INVALID, PROPERTY_SCHEMA_VIOLATION,
// PROTOCOL_NOT_FOUND, ENTITY_EXISTS, EXTERNAL_ID_EXISTS and others.
func (e Entities) Create(ctx context.Context, d EntityDraft, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, post(entitiesPath, d), opts)
}

// CreateAs makes a twin under a given DID, and never replaces one: the code is
// then ENTITY_EXISTS. When it was retried after a lost answer, that may be the
// twin this call has made.
func (e Entities) CreateAs(ctx context.Context, did string, d EntityDraft, opts ...Option) (*Entity, error) {
	k := put(entityPath(did), d)
	k.head = http.Header{"If-None-Match": {"*"}}
	return do[Entity](ctx, e.c, k, opts)
}

// CreateDomain makes a twin in the terms of domain registration.
func (e Entities) CreateDomain(ctx context.Context, d DomainDraft, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, post("/v1/domains", d), opts)
}

// Get reads a twin. Code: ENTITY_NOT_FOUND.
func (e Entities) Get(ctx context.Context, did string, opts ...Option) (*Entity, error) {
	return e.View(ctx, did, EntityView{}, opts...)
}

// EntityView says how to read a twin. The zero value reads all of the newest
// revision.
type EntityView struct {
	Revision int64     // as it was at this revision
	At       time.Time // as it was then; Revision wins
	Fields   []string  // only these members: properties.serial
	Expand   []string  // relationships, protocol: adds what they point to
}

// View reads an earlier revision of a twin, a part of it, or a twin with the
// objects it refers to. Codes: ENTITY_NOT_FOUND, REVISION_NOT_FOUND,
// REVISION_ERASED, UNKNOWN_FIELD.
func (e Entities) View(ctx context.Context, did string, w EntityView, opts ...Option) (*Entity, error) {
	v := url.Values{}
	setTime(v, "at", w.At)
	if w.Revision != 0 {
		setInt(v, "at", w.Revision)
	}
	set(v, "fields", strings.Join(w.Fields, ","))
	set(v, "expand", strings.Join(w.Expand, ","))
	return do[Entity](ctx, e.c, get(entityPath(did), v), opts)
}

// EntityQuery asks for twins. All conditions must hold; the zero value asks for
// all, newest first.
type EntityQuery struct {
	DID          string
	ExternalID   string // a value of externalIds, under any name
	Type         string
	Class        string
	Protocol     string
	Status       string
	Project      string
	UpdatedSince time.Time
	Near         string   // latitude,longitude,metres
	Filter       string   // such as and(eq(type,Device),gt(properties.efficiency,40))
	Sort         string   // created, updated or an indexed property; - in front turns it round
	Fields       []string // only these members
	Expand       []string // relationships, protocol
	Limit        int      // items in one page, 1 to 1000; 50 by default
	Cursor       string   // NextCursor of the page before
}

func (q EntityQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	for name, value := range map[string]string{
		"did": q.DID, "externalId": q.ExternalID, "type": q.Type, "class": q.Class, "protocol": q.Protocol, "status": q.Status, "project": q.Project,
		"near": q.Near, "filter": q.Filter, "sort": q.Sort, "fields": strings.Join(q.Fields, ","), "expand": strings.Join(q.Expand, ","),
	} {
		set(v, name, value)
	}
	setTime(v, "updatedSince", q.UpdatedSince)
	return v
}

// Page reads one page of the twins. Codes: INVALID_FILTER, UNKNOWN_FIELD.
func (e Entities) Page(ctx context.Context, q EntityQuery, opts ...Option) (*Page[Entity], error) {
	return page[Entity](ctx, e.c, entitiesPath, q.values(), opts)
}

// List walks over the twins, page by page. An error ends it.
func (e Entities) List(ctx context.Context, q EntityQuery, opts ...Option) iter.Seq2[Entity, error] {
	return pages[Entity](ctx, e.c, entitiesPath, q.values(), opts)
}

// PointQuery asks where twins are. All conditions must hold.
type PointQuery struct {
	Type    string
	Status  string
	Project string
	BBox    string // west,south,east,north in degrees
}

// Points reads where twins are, or clusters of them when there are more than 5,000.
// Without the scope entities:pii coordinates are rounded.
func (e Entities) Points(ctx context.Context, q PointQuery, opts ...Option) (*Points, error) {
	v := url.Values{}
	for name, value := range map[string]string{"type": q.Type, "status": q.Status, "project": q.Project, "bbox": q.BBox} {
		set(v, name, value)
	}
	return do[Points](ctx, e.c, get(entitiesPath+":points", v), opts)
}

// Replace replaces everything that a client decides in a twin; it needs the
// option IfRevision or IfMatch. When it was retried after a lost answer, the
// code may be STALE_REVISION although this call changed the twin. Codes:
// ENTITY_INVALID, PROPERTY_SCHEMA_VIOLATION, NOT_CONTROLLER, STALE_REVISION.
func (e Entities) Replace(ctx context.Context, did string, d EntityDraft, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, put(entityPath(did), d), opts)
}

// Patch changes the given members and leaves the rest (RFC 7396); it needs the
// option IfRevision or IfMatch. It is not retried. Codes are those of Replace.
func (e Entities) Patch(ctx context.Context, did string, patch Object, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, merge(entityPath(did), patch), opts)
}

// PatchStep is one operation of a JSON patch (RFC 6902).
type PatchStep struct {
	Op    string // add, remove, replace, move, copy or test
	Path  string // JSON pointer
	From  string // of move and copy
	Value any    // of add, replace and test
}

// JSONPatch is Patch with the operations of a JSON patch.
func (e Entities) JSONPatch(ctx context.Context, did string, steps []PatchStep, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, operate(entityPath(did), steps), opts)
}

// operate is a change by the operations of a JSON patch.
func operate(path string, steps []PatchStep) call {
	body := make([]Object, len(steps))
	for i, s := range steps {
		body[i] = Object{"op": s.Op, "path": s.Path}
		switch s.Op {
		case "add", "replace", "test":
			body[i]["value"] = s.Value // nil too: it is null
		case "move", "copy":
			body[i]["from"] = s.From
		}
	}
	return call{method: http.MethodPatch, path: path, body: body, media: mediaPatch}
}

// Deactivate ends a twin for good; its DID can still be resolved. It needs the
// option IfRevision or IfMatch. Codes: NOT_CONTROLLER,
// ORGANISATION_REQUIRES_GROUP, STALE_REVISION.
func (e Entities) Deactivate(ctx context.Context, did string, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, remove(entityPath(did)), opts)
}

// Transition is a step in the life of a twin.
type Transition struct {
	To     string `json:"to"` // active, suspended, completed or deactivated
	Reason string `json:"reason,omitzero"`
}

// Transition takes a twin to another status. Codes: STATE_TRANSITION_INVALID,
// MISSING_RELATIONSHIPS, NOT_CONTROLLER.
func (e Entities) Transition(ctx context.Context, did string, t Transition, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, post(entityPath(did)+"/transitions", t), opts)
}

// Transfer gives a twin another controller and owner, whoever controls it now.
func (e Entities) Transfer(ctx context.Context, did string, t Transfer, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, post(entityPath(did)+"/transfer", t), opts)
}

// Verdict is what a verifier says about a twin.
type Verdict = api.Verdict

// Verify says whether a twin is what it claims to be. IfRevision names the
// revision you have judged, and is required. Codes: STALE_REVISION when the
// twin has changed its statement since, REVISION_UNKNOWN,
// PRECONDITION_REQUIRED.
func (e Entities) Verify(ctx context.Context, did string, d Verdict, opts ...Option) (*Entity, error) {
	return do[Entity](ctx, e.c, post(entityPath(did)+"/verification", d), opts)
}
