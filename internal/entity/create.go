package entity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/edge"
	"github.com/hearth-dmrv/hearth/internal/entity/index"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/idem"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Create makes a twin. Its record, index, edges, groups and events are stored
// together or not at all. Faults: those of Prepare and StoreTx.
func (s *Service) Create(ctx context.Context, d Draft) (web.Reply[*Entity], error) {
	p, err := s.Prepare(ctx, d)
	if err != nil {
		return web.Reply[*Entity]{}, err
	}
	return s.Store(ctx, p)
}

// Store stores a prepared twin, once for the Idempotency-Key of the request.
// Faults: those of StoreTx.
func (s *Service) Store(ctx context.Context, p *Prepared) (web.Reply[*Entity], error) {
	var err error
	if len(p.relations) == 0 { // nothing is left to be decided
		if p.ready, err = s.readyFor(ctx, p, &p.row); err != nil {
			return web.Reply[*Entity]{}, err
		}
		return idem.OnceAs(ctx, s.cfg.Idem, created(&p.row), func(tx *db.Tx) error {
			_, err := s.StoreTx(ctx, tx, p)
			return err
		})
	}
	return idem.Once(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Entity], error) {
		r, err := s.StoreTx(ctx, tx, p)
		if err != nil {
			return web.Reply[*Entity]{}, err
		}
		return created(r), nil
	})
}

func created(r *Row) web.Reply[*Entity] {
	a := answer(r)
	a.Location = address(r.DID)
	return a
}

// answer is a record as it is sent.
func answer(r *Row) web.Reply[*Entity] {
	return web.Reply[*Entity]{Raw: r.Body, ETag: web.ETag(r.Revision)}
}

// StoreTx stores a prepared twin with its index, edges, groups and events.
// Faults: ENTITY_EXISTS, EXTERNAL_ID_EXISTS, KEY_RESTRICTED and those of
// RelateTx.
func (s *Service) StoreTx(ctx context.Context, tx *db.Tx, p *Prepared) (*Row, error) {
	row, links := p.row, p.links
	var plans []*plan
	if len(p.relations) > 0 {
		var err error
		if plans, err = s.drawAll(ctx, tx, p); err != nil {
			return nil, err
		}
		e := *p.entity
		e.Relationships = slices.Clone(e.Relationships)
		links = slices.Clone(links)
		for _, pl := range plans {
			links = append(links, pl.link)
			show(&e, Shown(&pl.link, pl.back), pl.otherDomain())
		}
		if err := s.sealRow(ctx, &e, p.protocol, &row); err != nil {
			return nil, err
		}
	}
	if err := mayPlace(ctx, row.Project); err != nil {
		return nil, err
	}
	if err := s.storeRow(ctx, tx, p, &row); err != nil {
		return nil, err
	}
	for _, g := range p.groups {
		r := g.row
		if err := s.storeRow(ctx, tx, g, &r); err != nil {
			return nil, err
		}
	}
	if err := s.storeLinks(ctx, tx, &row, links, plans); err != nil {
		return nil, err
	}
	return &row, nil
}

// createdData is what the event of a new twin says about it.
type createdData struct {
	Type     string `json:"type"`
	Protocol string `json:"protocol"`
	Status   Status `json:"status"`
}

// ready are the arguments of the statements that store a twin, made before the
// transaction: the one writer of SQLite has enough to do.
type ready struct {
	columns []any
	props   index.Ready
	event   *event.Prepared
}

// readyFor makes the statements for a row that is final.
func (s *Service) readyFor(ctx context.Context, p *Prepared, row *Row) (*ready, error) {
	e, err := s.cfg.Events.Prepare(ctx, event.Event{
		Workspace: row.Workspace, Type: "entity.created", Subject: row.DID, Revision: 1,
		Data: createdData{row.Type, row.Protocol, row.Status},
	})
	if err != nil {
		return nil, err
	}
	return &ready{columns: row.columns(p.chosen), props: index.Prepare(row.NID, p.props), event: e}, nil
}

// storeRow stores one twin, its index and its event.
func (s *Service) storeRow(ctx context.Context, tx *db.Tx, p *Prepared, row *Row) error {
	r := p.ready
	if r == nil {
		var err error
		if r, err = s.readyFor(ctx, p, row); err != nil {
			return err
		}
	}
	if err := insert(ctx, tx, r.columns); err != nil {
		return err
	}
	if err := index.AddReady(ctx, tx, r.props); err != nil {
		return err
	}
	if err := index.AddNames(ctx, tx, row.Workspace, row.NID, p.externals); err != nil {
		return err
	}
	s.noteGroup(tx, row.DomainType)
	return s.cfg.Events.AppendPrepared(ctx, tx, r.event)
}

// mayPlace keeps a caller that is limited to projects inside them.
func mayPlace(ctx context.Context, project string) error {
	if inside(web.CallerFrom(ctx), project) {
		return nil
	}
	return restricted("This key is limited to projects, and the entity would belong to none of them.")
}

// inside tells whether what belongs to a project exists for a caller.
func inside(c web.Caller, project string) bool {
	return len(c.Projects) == 0 || project != "" && slices.Contains(c.Projects, project)
}

// drawAll checks the relationships of a new twin and gives their edges numbers.
func (s *Service) drawAll(ctx context.Context, tx *db.Tx, p *Prepared) ([]*plan, error) {
	caller := web.CallerFrom(ctx)
	self := &link.End{
		NID: p.row.NID, DID: p.row.DID, Class: p.row.Class, DomainType: p.row.DomainType,
		Protocol: p.row.Protocol, ProtocolVersion: p.row.ProtocolVersion, Status: string(p.row.Status),
	}
	var plans []*plan
	count := map[string]int{}
	for i, d := range p.relations {
		at := fmt.Sprintf("/relationships/%d", i)
		other, err := s.visibleEnd(ctx, tx, d.Target)
		if err != nil {
			return nil, err
		}
		pl, err := s.draw(self, other, p.protocol, d, at)
		if err != nil {
			return nil, err
		}
		if err := s.checkClass(ctx, caller.Workspace, pl, at); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(plans, func(o *plan) bool { return o.word == pl.word && o.farDID() == pl.farDID() }) {
			return nil, relationExists(at)
		}
		if count[d.Role]++; pl.role.Max > 0 && count[d.Role] > pl.role.Max {
			return nil, tooManyOf(at, pl.role)
		}
		pl.link.NID, pl.link.AddedAt, pl.link.AddedBy = s.db.NewNID(), p.row.CreatedAt, caller.DID
		plans = append(plans, pl)
	}
	return plans, s.lockFor(ctx, tx, caller.Workspace, plans)
}

// lockFor locks what the edges of a new twin change, in one order. The twin
// itself nobody else can see yet.
func (s *Service) lockFor(ctx context.Context, tx *db.Tx, ws string, plans []*plan) error {
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.ordered() }) {
		if err := s.cfg.Events.TakeTurn(ctx, tx, ws); err != nil {
			return err
		}
	}
	var ends []*link.End
	for _, p := range plans {
		if (p.link.Mirror || p.leans()) && !slices.Contains(ends, p.other) {
			p.other.Shared = !p.link.Mirror
			ends = append(ends, p.other)
		}
	}
	return s.lock(ctx, tx, ends...)
}

// storeLinks stores the edges of a new twin and shows them at their other
// ends.
func (s *Service) storeLinks(ctx context.Context, tx *db.Tx, row *Row, links []link.Link, plans []*plan) error {
	for i := range links {
		l := &links[i]
		if i >= len(links)-len(plans) {
			pl := plans[i-(len(links)-len(plans))]
			if err := s.checkOrder(ctx, tx, row.Workspace, pl, fmt.Sprintf("/relationships/%d", i-(len(links)-len(plans)))); err != nil {
				return err
			}
		}
		stored, err := link.Insert(ctx, tx, row.Workspace, l)
		if err != nil {
			return err
		}
		if !stored { // both words of one edge, for example
			return relationExists("/relationships")
		}
		if err := s.tell(ctx, tx, "relationship.added", row, Shown(l, l.Dst == row.NID && l.Mirror)); err != nil {
			return err
		}
	}
	for _, pl := range byOther(plans) {
		if err := s.showAt(ctx, tx, row.Workspace, pl); err != nil {
			return err
		}
	}
	return nil
}

// byOther gathers the mirrored edges of a new twin by their other ends.
func byOther(plans []*plan) [][]*plan {
	var mirrored []*plan
	for _, p := range plans {
		if p.link.Mirror {
			mirrored = append(mirrored, p)
		}
	}
	slices.SortStableFunc(mirrored, func(a, b *plan) int { return cmp.Compare(a.other.NID, b.other.NID) })
	var out [][]*plan
	for _, p := range mirrored {
		if n := len(out); n > 0 && out[n-1][0].other.NID == p.other.NID {
			out[n-1] = append(out[n-1], p)
		} else {
			out = append(out, []*plan{p})
		}
	}
	return out
}

// checkOrder looks at rules about more than the two ends of an edge: no
// circles, and one parent for a group.
func (s *Service) checkOrder(ctx context.Context, tx *db.Tx, ws string, p *plan, at string) error {
	from, to := p.ends()
	if (p.link.Mirror || p.leans()) && Status(p.other.Status) == StatusDeactivated {
		return targetGone(at) // since it was looked at, and before it was locked
	}
	if p.toGroup() {
		if err := s.mayJoin(ctx, tx, ws, p); err != nil {
			return err
		}
		n, err := link.CountIn(ctx, tx, to.NID, edge.Contains, 1)
		if err != nil {
			return err
		}
		if n > 0 {
			return fault.New(fault.Conflict, "RELATIONSHIP_EXISTS", "The group belongs to an organisation or a group already.").
				With(fault.Field{Pointer: at + "/target", Code: "exists", Detail: "A group has one parent."})
		}
	}
	if !p.ordered() {
		return nil
	}
	circle, err := edge.Reaches(from.NID, to.NID, maxAncestors, func(nid int64) ([]int64, error) {
		return link.Parents(ctx, tx, nid, p.link.Role, maxAncestors)
	})
	switch {
	case errors.Is(err, edge.ErrTooFar):
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
