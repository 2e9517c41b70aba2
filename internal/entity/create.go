package entity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// creator checks drafts of twins and stores what they ask for.
type creator struct {
	relations
	newDID  func() did.DID
	relayer string
}

// Create makes a twin. Its record, index, relationships, groups and events are
// stored together or not at all. Faults: those of Prepare and StoreTx.
func (cr *creator) Create(ctx context.Context, d Draft) (web.Reply[*Entity], error) {
	p, err := cr.Prepare(ctx, d)
	if err != nil {
		return web.Reply[*Entity]{}, err
	}
	return cr.Store(ctx, p)
}

// Store stores a prepared twin, once for the Idempotency-Key of the request.
// Faults: those of StoreTx.
func (cr *creator) Store(ctx context.Context, p *Prepared) (web.Reply[*Entity], error) {
	var err error
	if len(p.relations) == 0 && !p.chosen { // nothing is left to be decided
		if p.ready, err = cr.readyFor(ctx, p, &p.row); err != nil {
			return web.Reply[*Entity]{}, err
		}
		answer, err := cr.created(ctx, cr.db, &p.row)
		if err != nil {
			return answer, err
		}
		return once.DoAs(ctx, cr.idem, answer, func(tx *db.Tx) error {
			_, err := cr.StoreTx(ctx, tx, p)
			return err
		})
	}
	return once.Do(ctx, cr.idem, func(tx *db.Tx) (web.Reply[*Entity], error) {
		r, err := cr.StoreTx(ctx, tx, p)
		if err != nil {
			return web.Reply[*Entity]{}, err
		}
		return cr.created(ctx, tx, r)
	})
}

func (cr *creator) created(ctx context.Context, q db.Querier, r *Row) (web.Reply[*Entity], error) {
	a, err := cr.Answer(ctx, q, r)
	a.Location = twin.Address(r.DID)
	return a, err
}

// StoreTx stores a prepared twin with its index, relationships, groups and
// events, and joins the relationships that named it before it existed. Faults:
// ENTITY_EXISTS, EXTERNAL_ID_EXISTS, KEY_RESTRICTED and those of RelateTx.
func (cr *creator) StoreTx(ctx context.Context, tx *db.Tx, p *Prepared) (*Row, error) {
	row, links := p.row, slices.Clone(p.links)
	waited, err := cr.awaited(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	plans, err := cr.drawAll(ctx, tx, p, waited)
	if err != nil {
		return nil, err
	}
	if waited, err = cr.settle(ctx, tx, row.Workspace, waited, func(_ *relationship.Relationship, why error) error { return why }); err != nil {
		return nil, err
	}
	if len(plans)+len(waited) > 0 {
		again := *p
		again.ready, p = nil, &again
		e := *p.entity
		e.Relationships = nil
		relationship.ShowWaited(&e, waited, p.entity.Relationships)
		for _, pl := range plans {
			links = append(links, pl.Row)
			relationship.Show(&e, pl.Row.Shown(pl.Back), pl.OtherDomain())
		}
		if err := cr.sealRow(ctx, &e, p.protocol, &row); err != nil {
			return nil, err
		}
		verdict.NoteBecame(&e, plans)
	}
	if err := mayPlace(ctx, row.Project); err != nil {
		return nil, err
	}
	if err := cr.storeRow(ctx, tx, p, &row); err != nil {
		return nil, err
	}
	for _, g := range p.groups {
		r := g.row
		if err := cr.storeRow(ctx, tx, g, &r); err != nil {
			return nil, err
		}
	}
	if err := cr.storeLinks(ctx, tx, &row, links, plans); err != nil {
		return nil, err
	}
	if err := cr.showJoined(ctx, tx, &row, links, waited); err != nil {
		return nil, err
	}
	if err := cr.submitNew(ctx, tx, &row); err != nil {
		return nil, err
	}
	again, err := cr.proofs(ctx).FollowAll(ctx, tx, plans)
	if err != nil || !again {
		return &row, err
	}
	return findByNID(ctx, tx, row.Workspace, row.NID)
}

// createdData is what the event of a new twin says about it.
type createdData struct {
	Type     string `json:"type"`
	Protocol string `json:"protocol"`
	Status   Status `json:"status"`
}

// ready holds the arguments of the statements that store a twin, made before
// the transaction to keep the one writer of SQLite free.
type ready struct {
	columns []any
	props   readyProps
	event   *event.Prepared
}

// readyFor makes the statements for a row that is final.
func (cr *creator) readyFor(ctx context.Context, p *Prepared, row *Row) (*ready, error) {
	e, err := cr.events.Prepare(ctx, event.Event{
		Workspace: row.Workspace, Type: "entity.created", Subject: row.DID, Revision: 1,
		Data: createdData{row.Type, row.Protocol, row.Status},
	})
	if err != nil {
		return nil, err
	}
	return &ready{columns: row.columns(p.chosen), props: prepareProps(cr.db.Dialect(), row.NID, p.props), event: e}, nil
}

// storeRow stores one twin, its index and its event.
func (cr *creator) storeRow(ctx context.Context, tx *db.Tx, p *Prepared, row *Row) error {
	r := p.ready
	if r == nil {
		var err error
		if r, err = cr.readyFor(ctx, p, row); err != nil {
			return err
		}
	}
	if err := insert(ctx, tx, p.chosen, r.columns); err != nil {
		return err
	}
	if err := addReady(ctx, tx, r.props, true); err != nil {
		return err
	}
	if err := addNames(ctx, tx, row.Workspace, row.NID, p.externals); err != nil {
		return err
	}
	cr.noteGroup(tx, row.DomainType)
	if err := cr.noteCame(ctx, tx, p, row); err != nil {
		return err
	}
	return cr.events.AppendPrepared(ctx, tx, r.event)
}

// mayPlace keeps a caller that is limited to projects inside them.
func mayPlace(ctx context.Context, project string) error {
	if inside(web.CallerFrom(ctx), project) {
		return nil
	}
	return restricted("This key is limited to projects, and the entity would belong to none of them.")
}

// inside reports whether a caller can see what belongs to a project.
func inside(c web.Caller, project string) bool {
	return len(c.Projects) == 0 || project != "" && slices.Contains(c.Projects, project)
}

// end returns the new twin as an end of its relationships.
func (p *Prepared) end() *relationship.End {
	return &relationship.End{
		NID: p.row.NID, DID: p.row.DID, Class: p.row.Class, DomainType: p.row.DomainType,
		Protocol: p.row.Protocol, ProtocolVersion: p.row.ProtocolVersion, Status: string(p.row.Status),
	}
}

// drawAll checks the relationships of a new twin, numbers them and locks the
// twins that they, and the relationships that waited for it, change. A
// relationship that waited is not drawn again.
func (cr *creator) drawAll(ctx context.Context, tx *db.Tx, p *Prepared, waited []*relationship.Relationship) ([]*relationship.Relationship, error) {
	if len(p.relations)+len(waited) == 0 {
		return nil, nil
	}
	caller, self := web.CallerFrom(ctx), p.end()
	var plans []*relationship.Relationship
	count := map[string]int{}
	for i, d := range p.relations {
		at := fmt.Sprintf("/relationships/%d", i)
		other, err := cr.farEnd(ctx, tx, d.Target)
		if err != nil {
			return nil, err
		}
		pl, err := cr.drawer(ctx).Draw(self, other, p.protocol, d, at)
		if err != nil {
			return nil, cr.withRelations(ctx, tx, p, err)
		}
		if err := cr.drawer(ctx).CheckClass(ctx, caller.Workspace, pl, at); err != nil {
			return nil, cr.withRelations(ctx, tx, p, err)
		}
		if slices.ContainsFunc(plans, func(o *relationship.Relationship) bool { return o.Word == pl.Word && o.FarDID() == pl.FarDID() }) {
			return nil, relationship.Exists(at)
		}
		if count[d.Role]++; pl.Role.Max > 0 && count[d.Role] > pl.Role.Max {
			return nil, relationship.TooMany(at, pl.Role)
		}
		pl.Row.NID, pl.Row.AddedAt, pl.Row.AddedBy = cr.db.NewNID(), p.row.CreatedAt, caller.DID
		plans = append(plans, pl)
	}
	plans = slices.DeleteFunc(plans, func(pl *relationship.Relationship) bool { return slices.ContainsFunc(waited, pl.Same) })
	return plans, cr.lockFor(ctx, tx, caller.Workspace, plans, waited)
}

// lockFor locks, in a fixed order, the twins that the relationships of a new
// twin and those that waited for it change. Nobody else can see the new twin
// yet.
func (cr *creator) lockFor(ctx context.Context, tx *db.Tx, ws string, plans, waited []*relationship.Relationship) error {
	if slices.ContainsFunc(plans, func(p *relationship.Relationship) bool { return p.Ordered() }) {
		if err := cr.events.TakeTurn(ctx, tx, ws); err != nil {
			return err
		}
	}
	var ends []*relationship.End
	for _, p := range plans {
		if (p.Row.Mirror || p.Leans()) && !slices.Contains(ends, p.Other) {
			p.Other.Shared = !p.Row.Mirror
			ends = append(ends, p.Other)
		}
	}
	for _, p := range waited {
		ends = append(ends, p.Self)
	}
	return lock(ctx, tx, ends...)
}

// storeLinks stores the relationships of a new twin and shows them at their
// other ends.
func (cr *creator) storeLinks(ctx context.Context, tx *db.Tx, row *Row, links []relationship.Row, plans []*relationship.Relationship) error {
	for i := range links {
		l := &links[i]
		if i >= len(links)-len(plans) {
			pl := plans[i-(len(links)-len(plans))]
			if err := cr.checkOrder(ctx, tx, row.Workspace, pl, fmt.Sprintf("/relationships/%d", i-(len(links)-len(plans)))); err != nil {
				return err
			}
		}
		stored, err := relationship.Insert(ctx, tx, row.Workspace, l)
		if err != nil {
			return err
		}
		if !stored { // both words of one relationship, for example
			return relationship.Exists("/relationships")
		}
		if l.Mirror || row.DomainType == "household" || row.DomainType == "asset" { // the other end may be part of the new twin
			if err := cr.joined(ctx, tx, row.Workspace, l); err != nil {
				return err
			}
		}
		if err := cr.tell(ctx, tx, "relationship.added", row, l.Shown(l.Dst == row.NID && l.Mirror)); err != nil {
			return err
		}
	}
	for _, pl := range byOther(plans) {
		if err := cr.showAt(ctx, tx, row.Workspace, pl); err != nil {
			return err
		}
	}
	return nil
}

// byOther gathers the mirrored relationships of a new twin by their other ends.
func byOther(plans []*relationship.Relationship) [][]*relationship.Relationship {
	var mirrored []*relationship.Relationship
	for _, p := range plans {
		if p.Row.Mirror {
			mirrored = append(mirrored, p)
		}
	}
	slices.SortStableFunc(mirrored, func(a, b *relationship.Relationship) int { return cmp.Compare(a.Other.NID, b.Other.NID) })
	var out [][]*relationship.Relationship
	for _, p := range mirrored {
		if n := len(out); n > 0 && out[n-1][0].Other.NID == p.Other.NID {
			out[n-1] = append(out[n-1], p)
		} else {
			out = append(out, []*relationship.Relationship{p})
		}
	}
	return out
}

// checkOrder checks rules that need more than the two ends of a relationship:
// who may declare it, verified claims, one parent for a group, and no cycles.
func (rl *relations) checkOrder(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship, at string) error {
	from, to := p.Ends()
	if (p.Row.Mirror || p.Leans()) && Status(p.Other.Status) == StatusDeactivated {
		return relationship.TargetGone(at) // it went between the check and the lock
	}
	if err := rl.mayIssue(ctx, p.Row.Role == relationship.Becomes); err != nil {
		return err
	}
	if err := rl.mayBind(ctx, tx, ws, p, at); err != nil {
		return err
	}
	if err := checkBecoming(ctx, tx, ws, p, at); err != nil {
		return err
	}
	if p.ToGroup() {
		n, err := relationship.Count{Role: relationship.Contains, Most: 1}.In(ctx, tx, to.NID)
		if err != nil {
			return err
		}
		if n > 0 {
			return fault.New(fault.Conflict, "RELATIONSHIP_EXISTS", "The group already belongs to an organisation or a group.").
				With(fault.Field{Pointer: at + "/target", Code: "exists", Detail: "A group has one parent."})
		}
	}
	if !p.Ordered() {
		return nil
	}
	circle, err := relationship.Reaches(from.NID, to.NID, maxAncestors, func(nid int64) ([]int64, error) {
		return relationship.Parents(ctx, tx, nid, p.Row.Role, maxAncestors)
	})
	switch {
	case errors.Is(err, relationship.ErrTooFar):
		return fault.New(fault.Unprocessable, "RELATIONSHIP_TOO_DEEP", "Too many twins contain this one to rule out a circle.").
			With(fault.Field{Pointer: at + "/target", Code: "too_deep", Detail: "At most 1000 twins are looked at."})
	case err != nil:
		return err
	case circle:
		return fault.New(fault.Conflict, "RELATIONSHIP_CYCLE", "The relationship would close a circle.").
			With(fault.Field{Pointer: at + "/target", Code: "cycle", Detail: "This twin is part of the other one already."})
	}
	return nil
}
