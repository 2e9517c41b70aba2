package entity

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// relationRoutes serve the relationships of a twin.
func (h handlers) relationRoutes(a *web.API) {
	web.Get(a, "/v1/entities/{did}/relationships", h.serveRelationships, web.Doc{
		Summary: "List the relationships of an entity, oldest first", Scope: readScope, Tag: tag,
		Description: "Those it has to others (out), those others have to it (in), or both. A page may be short, or empty, when role leaves many out: follow hasMore.",
		Codes:       []string{"ENTITY_NOT_FOUND"},
	})
	web.Post(a, "/v1/entities/{did}/relationships", h.serveRelate, web.Doc{
		Summary: "Add a relationship", Status: http.StatusCreated, Scope: writeScope, Tag: tag, Once: true,
		Description: "A word of the domain model may be used from either end: implements at the organisation or implementedBy at the project makes the same relationship. " +
			"Roles of the protocol want a target of their class. Any other word is free. " +
			"A verified claim becomes one credential: another can be made of it once that one is deactivated. " +
			"A target that is not held here is external. If you do not have the scope * it is unconfirmed too, and fills no role that must be filled before the entity can be active, until its twin is made here or somebody with that scope confirms it.",
		Example: RelationDraft{Role: "subsidiary", Target: "did:ixo:org/stoves"},
		Codes: []string{
			"ENTITY_INVALID", "NOT_CONTROLLER", "ENTITY_DEACTIVATED", "RELATIONSHIP_EXISTS", "RELATIONSHIP_LIMIT", "RELATIONSHIP_CYCLE",
			"RELATIONSHIP_TOO_DEEP", "RELATIONSHIP_CLASS_MISMATCH", "RELATIONSHIP_TARGET_NOT_FOUND", "REFERENCE_NOT_FOUND", "CLAIM_NOT_VERIFIED",
			"CLAIM_ALREADY_VERIFIED", "CLAIM_ALREADY_CREDENTIAL", "KEY_RESTRICTED",
		},
	})
	web.Get(a, "/v1/entities/{did}/relationships/{id}", h.serveRelationship, web.Doc{
		Summary: "Read a relationship", Scope: readScope, Tag: tag, Codes: []string{"ENTITY_NOT_FOUND", "RELATIONSHIP_NOT_FOUND"},
	})
	web.Post(a, "/v1/entities/{did}/relationships/{id}/confirm", h.serveConfirm, web.Doc{
		Summary: "Confirm a target that is not held here", Scope: "*", Tag: tag, Once: true, Description: confirming,
		Codes: []string{"ENTITY_NOT_FOUND", "RELATIONSHIP_NOT_FOUND", "ENTITY_DEACTIVATED"},
	})
	web.Delete(a, "/v1/entities/{did}/relationships/{id}", h.serveUnrelate, web.Doc{
		Summary: "Remove a relationship", Scope: writeScope, Tag: tag,
		Description: "It stays in the history. A relationship that an active entity needs cannot be removed, nor one from a credential to its claim: the claim is free for another credential once this one is deactivated. A draft is not a credential yet.",
		Codes:       []string{"NOT_CONTROLLER", "ENTITY_DEACTIVATED", "RELATIONSHIP_NOT_FOUND", "MISSING_RELATIONSHIPS", "ORGANISATION_REQUIRES_GROUP", "CLAIM_ALREADY_VERIFIED", "CLAIM_ALREADY_CREDENTIAL"},
	})
}

// confirming is the description of the route that confirms a relationship.
const confirming = "The server cannot check whether a DID that is not held here is what a role needs. A caller with the scope * confirms it, and need not control the entity; from then on the relationship fills the role. " +
	"A relationship added by a caller with that scope is confirmed already, and so is one from before the server had confirmations. A relationship that is removed and added again must be confirmed again. " +
	"Confirming it twice, or confirming one whose target is held here, changes nothing."

// ListedRelationship is a relationship in a list, as one of its ends sees it.
type ListedRelationship struct {
	Relationship
	Direction string    `json:"direction" enum:"out,in" doc:"in: the target has it."`
	Added     time.Time `json:"added"`
	AddedBy   string    `json:"addedBy" doc:"DID of who added it."`
}

// SchemaName is the name under which clients know it.
func (ListedRelationship) SchemaName() string { return "PartEdge" }

// listed turns a stored relationship into one as a twin sees it.
func listed(l *relationship.Row, nid int64) ListedRelationship {
	e := ListedRelationship{Relationship: l.Shown(false), Direction: "out", Added: time.UnixMilli(l.AddedAt).UTC(), AddedBy: l.AddedBy}
	if l.Src == nid {
		return e
	}
	e.Direction, e.Target, e.Source = "in", l.SrcDID, "derived"
	if word := relationship.Inverse(l.Role); l.Mirror && word != "" {
		e.Role = word
	}
	return e
}

// maxLooked is how many relationships one page looks at.
const maxLooked = 2000

func (h handlers) serveRelationships(ctx context.Context, in *struct {
	one
	Direction string `query:"direction" enum:"both,out,in" doc:"Both when absent."`
	Role      string `query:"role" doc:"Only this role, as the list shows it." example:"operator"`
	web.Paging
},
) (web.Reply[web.Page[ListedRelationship]], error) {
	q := relationQuery{role: in.Role}
	switch in.Direction {
	case "", "both":
		q.sides = []relationship.Side{relationship.Out, relationship.In}
	case "out":
		q.sides = []relationship.Side{relationship.Out}
	case "in":
		q.sides = []relationship.Side{relationship.In}
	default:
		return web.Reply[web.Page[ListedRelationship]]{}, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/direction", Code: "invalid", Detail: "The value must be both, out or in."})
	}
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &q.after, func(limit int) ([]ListedRelationship, int64, error) {
		r, err := h.service.Find(ctx, h.service.db, in.DID)
		if err != nil {
			return nil, 0, err
		}
		q.limit = limit
		return h.page(ctx, r.NID, q)
	})
}

// relationQuery selects relationships of a twin and says where to start.
type relationQuery struct {
	sides []relationship.Side
	role  string // "" for all
	after int64
	limit int
}

// page reads a page of relationships. next is where the list goes on, 0 when it has
// ended.
func (h handlers) page(ctx context.Context, nid int64, q relationQuery) (items []ListedRelationship, next int64, err error) {
	look := q.limit + 1
	if q.role != "" {
		look = max(look, maxLooked)
	}
	var links []relationship.Row
	for _, side := range q.sides {
		some, err := side.List(ctx, h.service.db, nid, q.after, look)
		if err != nil {
			return nil, 0, err
		}
		links = append(links, some...)
	}
	order.Sort(links, func(a, b relationship.Row) int { return cmp.Compare(a.NID, b.NID) })
	whole := len(links) < look            // no side was cut short
	links = links[:min(len(links), look)] // beyond this, a side may have more
	for i := range links {
		e := listed(&links[i], nid)
		if q.role != "" && e.Role != q.role {
			continue
		}
		if len(items) == q.limit {
			return items, links[i-1].NID, nil
		}
		items = append(items, e)
	}
	if whole {
		return items, 0, nil
	}
	return items, links[len(links)-1].NID, nil
}

func (h handlers) serveRelate(ctx context.Context, in *struct {
	one
	Body RelationDraft
},
) (web.Reply[*Relationship], error) {
	return h.service.Relate(ctx, in.DID, in.Body)
}

type oneRelation struct {
	one
	ID string `path:"id" doc:"Id of the relationship." example:"rel_7310428377145344"`
}

func (h handlers) serveRelationship(ctx context.Context, in *oneRelation) (ListedRelationship, error) {
	r, err := h.service.Find(ctx, h.service.db, in.DID)
	if err != nil {
		return ListedRelationship{}, err
	}
	l, err := relationship.Find(ctx, h.service.db, r.Workspace, relationship.ParseID(in.ID))
	if err != nil {
		return ListedRelationship{}, err
	}
	if l == nil || l.Src != r.NID && l.Dst != r.NID {
		return ListedRelationship{}, fault.New(fault.NotFound, "RELATIONSHIP_NOT_FOUND", "The entity has no relationship with this id.")
	}
	return listed(l, r.NID), nil
}

func (h handlers) serveConfirm(ctx context.Context, in *oneRelation) (web.Reply[*Relationship], error) {
	return h.service.Confirm(ctx, in.DID, in.ID)
}

func (h handlers) serveUnrelate(ctx context.Context, in *struct {
	oneRelation
	Reason string `query:"reason" doc:"Why, for the history; one line of at most 1,000 characters."`
},
) (ListedRelationship, error) {
	gone, err := h.serveRelationship(ctx, &in.oneRelation)
	if err != nil {
		return ListedRelationship{}, err
	}
	return gone, h.service.Unrelate(ctx, in.DID, in.ID, in.Reason)
}
