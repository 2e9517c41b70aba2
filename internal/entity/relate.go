package entity

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxAncestors limits how many twins the search for a cycle looks at.
const maxAncestors = 1000

// relations adds, confirms and ends relationships, shows them at their ends and
// joins those that waited for a twin.
type relations struct {
	reader
	reviser
	idem   *once.Store
	log    *slog.Logger
	strict bool
}

// mayBind requires that the caller controls the source of a relationship declared from
// its target, where the relationship says something about the source: members of a group
// may act as the organisation it belongs to, and an organisation decides itself what it
// implements. A caller who may verify anything or submit claims may name any oracle: that
// only asks for a verdict, which the oracle's controllers give or not.
func (rl *relations) mayBind(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship, at string) error {
	if p.Row.Role == relationship.Becomes && issuing(ctx) {
		return nil
	}
	if !p.Back || !p.ToGroup() && !relationship.Binds(p.Row.Role) {
		return nil // the caller changes the source itself, or need not control it
	}
	c := web.CallerFrom(ctx)
	if p.Row.Role == relationship.Verifies && (auth.May(c, "entities:verify") || auth.May(c, "claims:write")) {
		return nil
	}
	source, err := findByNID(ctx, tx, ws, p.Other.NID)
	if err != nil {
		return err
	}
	err = rl.MayUpdate(ctx, tx, source)
	if f := fault.As(err); f != nil {
		return f.With(fault.Field{Pointer: at + "/target", Code: "not_controller", Detail: "Only a controller of this entity may add this to it."})
	}
	return err
}

// visibleEnd reads the other end of a relationship. It returns nil for a twin
// that does not exist for the caller, as for one that is not held here.
func visibleEnd(ctx context.Context, q db.Querier, id string) (*relationship.End, error) {
	caller := web.CallerFrom(ctx)
	e, err := relationship.FindEnd(ctx, q, caller.Workspace, id)
	if err != nil || e == nil || !inside(caller, e.Project) {
		return nil, err
	}
	return e, nil
}

// lock keeps others from changing twins until tx ends. On SQLite there is one
// writer.
func lock(ctx context.Context, tx *db.Tx, ends ...*relationship.End) error {
	if tx.Dialect() != db.Postgres {
		return nil
	}
	return relationship.Lock(ctx, tx, ends...)
}

// RelateTx adds a relationship to a twin: by a word of the domain model, a role
// of its protocol or a word of the caller's own. Both ends that show it get a
// new revision. Faults: ENTITY_NOT_FOUND, NOT_CONTROLLER, ENTITY_INVALID,
// ENTITY_DEACTIVATED, REFERENCE_NOT_FOUND, RELATIONSHIP_TARGET_NOT_FOUND,
// RELATIONSHIP_CLASS_MISMATCH, RELATIONSHIP_EXISTS, RELATIONSHIP_LIMIT,
// RELATIONSHIP_CYCLE, RELATIONSHIP_TOO_DEEP, CLAIM_NOT_VERIFIED,
// CLAIM_ALREADY_VERIFIED, CLAIM_ALREADY_CREDENTIAL, KEY_RESTRICTED.
func (rl *relations) RelateTx(ctx context.Context, tx *db.Tx, id string, d RelationDraft) (*Relationship, error) {
	var c fault.Checks
	d.Check(&c, "")
	if err := c.Err("ENTITY_INVALID", "The entity is not valid."); err != nil {
		return nil, err
	}
	ws := web.CallerFrom(ctx).Workspace
	pl, row, err := rl.drawOne(ctx, tx, id, d)
	if err != nil {
		return nil, err
	}
	if pl.Role.Max > 0 {
		if err := checkMax(ctx, tx, pl, rl.now().UnixMilli()); err != nil {
			return nil, err
		}
	}
	if err := rl.checkOrder(ctx, tx, ws, pl, ""); err != nil {
		return nil, err
	}
	pl.Row.NID, pl.Row.AddedAt, pl.Row.AddedBy = rl.db.NewNID(), rl.now().UnixMilli(), web.CallerFrom(ctx).DID
	stored, err := relationship.Insert(ctx, tx, ws, &pl.Row)
	if err != nil {
		return nil, err
	}
	if !stored {
		return nil, relationship.Exists("/target")
	}
	if err := rl.joined(ctx, tx, ws, &pl.Row); err != nil {
		return nil, err
	}
	shown := pl.Row.Shown(pl.Back)
	if err := rl.showSelf(ctx, tx, row, pl, shown); err != nil {
		return nil, err
	}
	if pl.Row.Mirror {
		if err := rl.showAt(ctx, tx, ws, []*relationship.Relationship{pl}); err != nil {
			return nil, err
		}
	}
	return &shown, rl.proofs(ctx).Follow(ctx, tx, pl)
}

// Relate is RelateTx in a transaction of its own.
func (rl *relations) Relate(ctx context.Context, id string, d RelationDraft) (web.Reply[*Relationship], error) {
	if err := rl.warm(ctx, id, d.Target); err != nil {
		return web.Reply[*Relationship]{}, err
	}
	return once.Do(ctx, rl.idem, func(tx *db.Tx) (web.Reply[*Relationship], error) {
		r, err := rl.RelateTx(ctx, tx, id, d)
		if err != nil {
			return web.Reply[*Relationship]{}, err
		}
		return web.Reply[*Relationship]{Value: r, Location: twin.Address(id) + "/relationships/" + r.ID}, nil
	})
}

// warm reads the protocols of twins before a transaction needs them: inside it,
// reading them would take a second connection.
func (rl *relations) warm(ctx context.Context, ids ...string) error {
	ws := web.CallerFrom(ctx).Workspace
	for _, id := range ids {
		e, err := visibleEnd(ctx, rl.db, id)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if _, err := rl.protocols.FindAny(ctx, ws, e.Protocol, e.ProtocolVersion); err != nil {
			return err
		}
	}
	return nil
}

// drawOne reads and locks both ends of a relationship and checks the rules
// between them.
func (rl *relations) drawOne(ctx context.Context, tx *db.Tx, id string, d RelationDraft) (*relationship.Relationship, *Row, error) {
	ws := web.CallerFrom(ctx).Workspace
	self, err := visibleEnd(ctx, tx, id)
	if err != nil {
		return nil, nil, err
	}
	if self == nil {
		return nil, nil, notFound()
	}
	p, err := rl.protocols.FindAnyIn(ctx, tx, ws, self.Protocol, self.ProtocolVersion)
	if err != nil {
		return nil, nil, err
	}
	other, err := rl.farEnd(ctx, tx, d.Target)
	if err != nil {
		return nil, nil, err
	}
	pl, err := rl.drawer(ctx).Draw(self, other, p, d, "")
	if err != nil {
		return nil, nil, err
	}
	if err := rl.drawer(ctx).CheckClass(ctx, ws, pl, ""); err != nil {
		return nil, nil, err
	}
	if pl.Ordered() {
		if err := rl.events.TakeTurn(ctx, tx, ws); err != nil {
			return nil, nil, err
		}
	}
	locked := []*relationship.End{self}
	if other != nil && (pl.Row.Mirror || pl.Leans()) {
		other.Shared = !pl.Row.Mirror
		locked = append(locked, other)
	}
	if pl.Role.Max > 0 {
		self.Crowded = false // the count needs an exclusive lock
	}
	if err := lock(ctx, tx, locked...); err != nil {
		return nil, nil, err
	}
	row, err := findByNID(ctx, tx, ws, self.NID)
	if err != nil {
		return nil, nil, err
	}
	if err := rl.mayChange(ctx, tx, row); err != nil {
		return nil, nil, err
	}
	return pl, row, nil
}

// checkMax requires room for one more relationship in the time it holds: one
// that has ended before then makes room. Relationships that make a twin part of
// a project all count, because the twin stays in the first project until that
// relationship is removed.
func checkMax(ctx context.Context, tx *db.Tx, p *relationship.Relationship, now int64) error {
	c := relationship.Count{Role: p.Row.Role, Most: p.Role.Max}
	target := ""
	if _, to := p.Ends(); to != nil {
		target = to.DomainType
	}
	if !relationship.Belongs(p.Row.Role, target) {
		c.Within = relationship.Span{From: now, To: math.MaxInt64}
		if p.Row.Since.Valid {
			c.Within.From = p.Row.Since.Int64
		}
		if p.Row.Until.Valid {
			c.Within.To = p.Row.Until.Int64
		}
	}
	count := c.Out
	if p.Back {
		count = c.In
	}
	n, err := count(ctx, tx, p.Self.NID)
	if err != nil || n < p.Role.Max {
		return err
	}
	return relationship.TooMany("", p.Role)
}

// showSelf shows a new relationship at the twin it was added to. There is an
// event even when the record has no room for it.
func (rl *relations) showSelf(ctx context.Context, tx *db.Tx, row *Row, p *relationship.Relationship, shown Relationship) error {
	rl.noteRelationship(tx, p)
	next, err := rl.show(ctx, tx, row, drawn{other: p.OtherDomain(), edges: []Relationship{shown}})
	if err != nil {
		return err
	}
	if next == nil {
		return rl.tell(ctx, tx, "relationship.added", row, shown)
	}
	return mayPlace(ctx, next.Project)
}

// showAt shows new relationships at the other end that they share and, if that is a
// claim, the credential that it becomes by one of them.
func (rl *relations) showAt(ctx context.Context, tx *db.Tx, ws string, plans []*relationship.Relationship) error {
	other, self := plans[0].Other, plans[0].Self
	rl.noteRelationship(tx, plans[0])
	d := drawn{other: self.DomainType}
	for _, p := range plans {
		d.edges = append(d.edges, p.Row.Shown(!p.Back))
		if p.Became != nil {
			d.became = p.Became
		}
	}
	if other.Crowded && !relationship.Places(other.Project, self.DomainType, d.edges) {
		return nil // without a look at its record
	}
	row, err := findByNID(ctx, tx, ws, other.NID)
	if err != nil {
		return err
	}
	next, err := rl.show(ctx, tx, row, d)
	for _, p := range plans {
		p.Certified = p.Became != nil && next != nil
	}
	return err
}

// drawn is what a record is about to show.
type drawn struct {
	other  string // domain type of the other end
	edges  []Relationship
	became *Credential // of a claim
}

// show adds relationships to a record. It returns nil when the record does not
// change: there is no room, and none of them fills a missing role.
func (rl *relations) show(ctx context.Context, tx *db.Tx, row *Row, d drawn) (*Row, error) {
	if row.crowded && !relationship.Places(row.Project, d.other, d.edges) {
		return nil, nil
	}
	act := related("relationship.added", d.edges[0])
	act.says = slices.ContainsFunc(d.edges, func(r Relationship) bool { return verdict.Says(row.DomainType, r.Role) })
	next, err := rl.Mutate(ctx, tx, row, act, func(e *Entity) error {
		full, project := e.MoreRelationships, e.Project
		for _, r := range d.edges {
			relationship.Show(e, r, d.other)
		}
		certified := d.became != nil && verdict.Show(e, *d.became, true)
		if !full || e.Project != project || act.says || certified {
			return nil
		}
		missing, err := rl.missingOf(ctx, tx, e, row.NID)
		if err == nil && slices.Equal(missing, e.MissingRelationships) {
			err = errUnchanged
		}
		return err
	})
	if errors.Is(err, errUnchanged) {
		return nil, nil
	}
	return next, err
}

// noteRelationship tells the keepers of rights about a relationship to a group.
func (rl *relations) noteRelationship(tx *db.Tx, p *relationship.Relationship) {
	if p.ToGroup() {
		rl.noteGroup(tx, "group")
	}
}

// related is the action that changes a record by a relationship.
func related(typ string, r Relationship) Action {
	name := "relate"
	if typ == "relationship.removed" {
		name = "unrelate"
	}
	return Action{Name: name, Event: typ, Data: relationData(r), edges: true}
}

func relationData(r Relationship) any {
	return struct {
		ID     string `json:"id"`
		Role   string `json:"role"`
		Target string `json:"target"`
	}{r.ID, r.Role, r.Target}
}

// tell appends an event about a relationship of a twin.
func (rv *reviser) tell(ctx context.Context, tx *db.Tx, typ string, row *Row, r Relationship) error {
	return rv.events.Append(ctx, tx, event.Event{
		Workspace: row.Workspace, Type: typ, Subject: row.DID, Revision: row.Revision, Data: relationData(r),
	})
}
