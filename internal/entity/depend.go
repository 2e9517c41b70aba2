package entity

import (
	"context"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxDependants limits how many twins are named that keep another from ending.
const maxDependants = 10

// needs checks what twins need of others in order to be active, to end and to
// keep what was said about them.
type needs struct {
	protocols *protocol.Service
	now       func() time.Time
}

// MayEnd reports whether other twins allow one to be deactivated. They do not
// allow it for the last active group of an organisation, for an organisation, a
// project or a claim that active twins need, nor for a twin in a role they
// cannot do without. Faults: ORGANISATION_REQUIRES_GROUP, ACTIVE_DEPENDANTS.
func (s *Service) MayEnd(ctx context.Context, tx *db.Tx, r *Row) error {
	if err := checkLeaving(ctx, tx, r, StatusDeactivated); err != nil {
		return err
	}
	if r.DomainType == "organisation" || r.DomainType == "project" {
		// Two parents of one twin must not go at once, each relying on the other.
		if err := s.events.TakeTurn(ctx, tx, r.Workspace); err != nil {
			return err
		}
	} else if named, err := s.isNamed(ctx, tx, r); err != nil {
		return err
	} else if named {
		if err := s.events.TakeTurn(ctx, tx, r.Workspace); err != nil {
			return err
		}
	}
	return s.checkEnding(ctx, tx, r)
}

// checkEnding is checkDependants for a twin that is to be deactivated, which
// will no longer fill any role of a protocol.
func (nd *needs) checkEnding(ctx context.Context, q db.Querier, r *Row) error {
	parents, err := dependants(ctx, q, r, nd.now())
	if err != nil {
		return err
	}
	roles, err := nd.roleDependants(ctx, q, r)
	if err != nil {
		return err
	}
	return needed(ctx, append(parents, roles...))
}

// checkDependants refuses when active twins need this one. It names those the
// caller can see.
func (nd *needs) checkDependants(ctx context.Context, q db.Querier, r *Row) error {
	all, err := dependants(ctx, q, r, nd.now())
	if err != nil {
		return err
	}
	return needed(ctx, all)
}

// dependant is an active twin that needs another, and why.
type dependant struct {
	relationship.Dependant
	why string
}

// dependants lists active twins that have no other parent, or are credentials of
// this claim.
func dependants(ctx context.Context, q db.Querier, r *Row, now time.Time) ([]dependant, error) {
	all, err := relationship.Dependants(ctx, q, &relationship.End{NID: r.NID, DomainType: r.DomainType}, relationship.Search{
		Gone: Key(r.Workspace, "status", string(StatusDeactivated)), Now: now.UnixMilli(), Limit: maxDependants + 1,
	})
	why := "is active and has no other " + r.DomainType
	if r.DomainType == "claim" {
		why = "is active and became of this claim"
	}
	out := make([]dependant, len(all))
	for i, d := range all {
		out[i] = dependant{d, why}
	}
	return out, err
}

// needed makes the fault for a twin that others need; nil when none do.
func needed(ctx context.Context, all []dependant) error {
	if len(all) == 0 {
		return nil
	}
	f := fault.New(fault.Conflict, "ACTIVE_DEPENDANTS", "Active entities need this one. Suspend, complete or deactivate them, or give them another first.")
	caller, hidden := web.CallerFrom(ctx), false
	for i, d := range all {
		if i >= maxDependants || !inside(caller, d.Project) {
			hidden = true
			continue
		}
		f = f.With(fault.Field{Pointer: "", Code: "needed", Detail: d.DID + " " + d.why + "."})
	}
	if hidden {
		f = f.With(fault.Field{Pointer: "", Code: "needed", Detail: "More entities need it."})
	}
	return f
}

// maxNamers limits how many active twins that name another are looked at. A
// twin that more of them name is not ended, because they cannot all be checked.
const maxNamers = 10_000

// roleDependants lists active twins whose protocol requires a role that only
// this twin fills.
func (nd *needs) roleDependants(ctx context.Context, q db.Querier, r *Row) ([]dependant, error) {
	search := relationship.Search{Gone: Key(r.Workspace, "status", string(StatusDeactivated)), Now: nd.now().UnixMilli(), Limit: 200}
	var all []dependant
	for _, search.From = range []bool{false, true} {
		search.After = 0
		for seen := 0; ; {
			page, err := relationship.Namers(ctx, q, r.NID, search)
			if err != nil {
				return nil, err
			}
			for _, n := range page {
				search.After = n.Edge
				word := n.Role
				if search.From {
					word = relationship.Inverse(n.Role)
				}
				needs, err := nd.needsTarget(ctx, q, r, &n, word)
				if err != nil {
					return nil, err
				}
				if needs {
					all = append(all, dependant{n.Dependant, "is active and needs it as " + word})
				}
				if len(all) > maxDependants {
					return all, nil
				}
			}
			if seen += len(page); len(page) < search.Limit {
				break
			} else if seen >= maxNamers {
				return append(all, dependant{page[len(page)-1].Dependant, "is active and one of very many that name it"}), nil
			}
		}
	}
	return all, nil
}

// needsTarget reports whether a role of an active twin is required and is not
// filled without this target.
func (nd *needs) needsTarget(ctx context.Context, q db.Querier, r *Row, n *relationship.Namer, word string) (bool, error) {
	p, err := nd.protocols.FindAnyIn(ctx, q, r.Workspace, n.Protocol, n.Version)
	if err != nil {
		return false, err
	}
	role, declared := p.Role(word)
	if !declared || role.RequiredFor != "active" || role.Min == 0 {
		return false, nil
	}
	left, err := relationship.NeedOf(word, nd.now().UnixMilli()).Targets(ctx, q, n.NID, role.Min+1)
	if err != nil {
		return false, err
	}
	left = slices.DeleteFunc(left, func(nid int64) bool { return nid == r.NID })
	return len(left) < role.Min, nil
}

// isNamed reports whether an active twin shows a relationship to a twin.
func (nd *needs) isNamed(ctx context.Context, q db.Querier, r *Row) (bool, error) {
	search := relationship.Search{Gone: Key(r.Workspace, "status", string(StatusDeactivated)), Now: nd.now().UnixMilli(), Limit: 1}
	for _, search.From = range []bool{false, true} {
		if some, err := relationship.Namers(ctx, q, r.NID, search); err != nil || len(some) > 0 {
			return len(some) > 0, err
		}
	}
	return false, nil
}

// unfilled lists the required roles of a twin's protocol that have too few
// targets, not counting deactivated ones. On PostgreSQL nobody deactivates the
// rest until tx ends.
func (nd *needs) unfilled(ctx context.Context, tx *db.Tx, r *Row, p *protocol.Protocol) ([]string, error) {
	var out []string
	for _, role := range p.Roles() {
		if role.RequiredFor != "active" || role.Min == 0 {
			continue
		}
		all, err := relationship.NeedOf(role.Name, nd.now().UnixMilli()).Targets(ctx, tx, r.NID, role.Min)
		if err != nil {
			return nil, err
		}
		alive := 0
		for _, nid := range all {
			e := &relationship.End{NID: nid, Shared: true}
			if nid != 0 {
				if err := lock(ctx, tx, e); err != nil {
					return nil, err
				}
			}
			if Status(e.Status) != StatusDeactivated {
				alive++
			}
		}
		if alive < role.Min {
			out = append(out, role.Name)
		}
	}
	return out, nil
}

// hasParent reports whether a twin has the parent it needs, by a relationship
// that holds; a deactivated parent does not count. On PostgreSQL nobody
// deactivates that parent until tx ends.
func (nd *needs) hasParent(ctx context.Context, tx *db.Tx, nid int64, domain string) (bool, error) {
	role, words := relationship.Leans(domain)
	if role == "" {
		return true, nil
	}
	for {
		parent, found, err := relationship.Need{Role: role, Words: words, Now: nd.now().UnixMilli()}.Parent(ctx, tx, nid)
		if err != nil || !found || parent == 0 || tx.Dialect() != db.Postgres {
			return found, err
		}
		e := &relationship.End{NID: parent, Shared: true}
		if err := relationship.Lock(ctx, tx, e); err != nil {
			return false, err
		}
		if Status(e.Status) != StatusDeactivated { // else it has just gone, and is not found again
			return true, nil
		}
	}
}

// keepsParent refuses to end the relationship between an active twin and its
// last parent that is not deactivated. The relationship has already ended in
// tx; one that did not hold, or was unconfirmed, gave it no parent.
func (nd *needs) keepsParent(ctx context.Context, tx *db.Tx, p *relationship.Relationship) error {
	child := p.Self
	if p.Row.Mirror {
		_, child = p.Ends()
	}
	if Status(child.Status) != StatusActive || p.Row.Unconfirmed || !relationship.Holds(relationship.Moment(p.Row.Since), relationship.Moment(p.Row.Until), nd.now()) {
		return nil
	}
	ok, err := nd.hasParent(ctx, tx, child.NID, child.DomainType)
	if err != nil || ok {
		return err
	}
	return relationship.Lacking([]string{relationship.Required(child.DomainType)}, "The entity is active and needs this relationship.")
}

// missingOf lists the roles a twin lacks, from its record, or from the store
// when the record shows only a part.
func (nd *needs) missingOf(ctx context.Context, q db.Querier, e *Entity, nid int64) ([]string, error) {
	p, err := nd.protocols.FindAnyIn(ctx, q, web.CallerFrom(ctx).Workspace, e.Protocol, e.ProtocolVersion)
	if err != nil {
		return nil, err
	}
	count := relationship.Counter(e, nd.now())
	if e.MoreRelationships {
		counted, err := relationship.CountAll(ctx, q, nid, relationship.Words(p, e.DomainType), nd.now().UnixMilli())
		if err != nil {
			return nil, err
		}
		count = func(word string) int { return counted[word] }
	}
	return relationship.Missing(p, e.DomainType, count), nil
}

// keepsComplete refuses to end a relationship without which an active twin
// would lack a role. One that did not hold, or was unconfirmed, filled none.
func (nd *needs) keepsComplete(status Status, gone Relationship, missing []string) error {
	if status != StatusActive || gone.Unconfirmed || !relationship.Holds(gone.Since, gone.Until, nd.now()) {
		return nil
	}
	fresh := slices.DeleteFunc(slices.Clone(missing), func(r string) bool {
		return r != gone.Role && (r != relationship.GeneratedBy || gone.Role != relationship.Project)
	})
	if len(fresh) == 0 {
		return nil
	}
	return relationship.Lacking(fresh, "The entity is active and needs this relationship.")
}

// stillComplete is keepsComplete for a relationship the record did not show.
func (nd *needs) stillComplete(ctx context.Context, tx *db.Tx, e *Entity, nid int64, gone Relationship) error {
	missing, err := nd.missingOf(ctx, tx, e, nid)
	if err != nil {
		return err
	}
	return nd.keepsComplete(e.Status, gone, missing)
}

// checkComplete refuses to activate a twin that lacks relationships now, or
// whose organisation, project, claim or target of a required role has gone.
func (nd *needs) checkComplete(ctx context.Context, tx *db.Tx, r *Row, e *Entity) (err error) {
	if e.MissingRelationships, err = nd.missingOf(ctx, tx, e, r.NID); err != nil {
		return err
	}
	missing := e.MissingRelationships
	if len(missing) == 0 {
		p, err := nd.protocols.FindAnyIn(ctx, tx, r.Workspace, e.Protocol, e.ProtocolVersion)
		if err != nil {
			return err
		}
		if missing, err = nd.unfilled(ctx, tx, r, p); err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		ok, err := nd.hasParent(ctx, tx, r.NID, r.DomainType)
		if err != nil {
			return err
		}
		if ok {
			return nd.checkClaims(ctx, tx, r)
		}
		missing = []string{relationship.Required(r.DomainType)}
	}
	return relationship.LackingAt(ctx, tx, &relationship.End{NID: r.NID, DID: r.DID}, missing, "The entity cannot be active while relationships are missing.")
}

// checkClaims requires that every claim that became this credential is verified
// and has no other credential. On PostgreSQL nobody takes that back until tx
// ends.
func (nd *needs) checkClaims(ctx context.Context, tx *db.Tx, r *Row) error {
	if r.DomainType != "credential" {
		return nil
	}
	claims, err := relationship.Need{Role: relationship.Becomes, Now: nd.now().UnixMilli()}.Parents(ctx, tx, r.NID, maxClaims)
	if err != nil {
		return err
	}
	for _, nid := range claims {
		if err := lock(ctx, tx, &relationship.End{NID: nid, Shared: true}); err != nil {
			return err
		}
		if err := mayBecome(ctx, tx, r.Workspace, &relationship.Row{Src: nid, Dst: r.NID}, ""); err != nil {
			return err
		}
	}
	return nil
}
