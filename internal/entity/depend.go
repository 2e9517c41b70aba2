package entity

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/edge"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/entity/plan"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxDependants is how many twins are named that keep another from going.
const maxDependants = 10

// MayEnd tells whether a twin may be deactivated as far as others go: the last
// active group of an organisation may not, nor may an organisation, a project
// or a claim that active twins need. Faults: ORGANISATION_REQUIRES_GROUP,
// ACTIVE_DEPENDANTS.
func (s *Service) MayEnd(ctx context.Context, tx *db.Tx, r *Row) error {
	if err := s.checkLeaving(ctx, tx, r, StatusDeactivated); err != nil {
		return err
	}
	if r.DomainType == "organisation" || r.DomainType == "project" {
		// Two parents of one twin must not go at once, each relying on the other.
		if err := s.cfg.Events.TakeTurn(ctx, tx, r.Workspace); err != nil {
			return err
		}
	}
	return s.checkDependants(ctx, tx, r)
}

// checkDependants refuses when active twins need this one. It names those the
// caller can see.
func (s *Service) checkDependants(ctx context.Context, q db.Querier, r *Row) error {
	all, err := link.Dependants(ctx, q, &link.End{NID: r.NID, DomainType: r.DomainType}, link.Search{
		Gone: Key(r.Workspace, "status", string(StatusDeactivated)), Now: s.cfg.Now().UnixMilli(), Limit: maxDependants + 1,
	})
	if err != nil || len(all) == 0 {
		return err
	}
	f := fault.New(fault.Conflict, "ACTIVE_DEPENDANTS", "Active entities need this one. Suspend, complete or deactivate them, or give them another first.")
	why := "is active and has no other " + r.DomainType
	if r.DomainType == "claim" {
		why = "is active and became of this claim"
	}
	caller, hidden := web.CallerFrom(ctx), false
	for i, d := range all {
		if i == maxDependants || !inside(caller, d.Project) {
			hidden = true
			continue
		}
		f = f.With(fault.Field{Pointer: "", Code: "needed", Detail: d.DID + " " + why + "."})
	}
	if hidden {
		f = f.With(fault.Field{Pointer: "", Code: "needed", Detail: "More entities need it."})
	}
	return f
}

// hasParent tells whether a twin has the parent it needs, one that is not
// deactivated, by an edge that holds. On PostgreSQL nobody deactivates that one until tx ends.
func (s *Service) hasParent(ctx context.Context, tx *db.Tx, nid int64, domain string) (bool, error) {
	role, words := edge.Leans(domain)
	if role == "" {
		return true, nil
	}
	for {
		parent, found, err := link.Need{Role: role, Words: words, Now: s.cfg.Now().UnixMilli()}.Parent(ctx, tx, nid)
		if err != nil || !found || parent == 0 || s.db.Dialect() != db.Postgres {
			return found, err
		}
		e := &link.End{NID: parent, Shared: true}
		if err := link.Lock(ctx, tx, e); err != nil {
			return false, err
		}
		if Status(e.Status) != StatusDeactivated { // else it has just gone, and is not found again
			return true, nil
		}
	}
}

// keepsParent refuses to end the edge that joins an active twin to the last
// parent that is not deactivated. The edge has ended in tx; one that did not
// hold joined it to nobody.
func (s *Service) keepsParent(ctx context.Context, tx *db.Tx, p *plan.Plan) error {
	child := p.Self
	if p.Link.Mirror {
		_, child = p.Ends()
	}
	if Status(child.Status) != StatusActive || !link.Holds(link.Moment(p.Link.Since), link.Moment(p.Link.Until), s.cfg.Now()) {
		return nil
	}
	ok, err := s.hasParent(ctx, tx, child.NID, child.DomainType)
	if err != nil || ok {
		return err
	}
	return plan.Lacking([]string{edge.Required(child.DomainType)}, "The entity is active and needs this relationship.")
}
