package entity

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func relationNotFound() error {
	return fault.New(fault.NotFound, "RELATIONSHIP_NOT_FOUND", "The entity has no relationship with this id.")
}

// UnrelateTx ends an edge that a twin shows. It stays in the store for the
// history. Faults: ENTITY_NOT_FOUND, NOT_CONTROLLER, ENTITY_DEACTIVATED,
// RELATIONSHIP_NOT_FOUND, MISSING_RELATIONSHIPS when an active twin needs it,
// ORGANISATION_REQUIRES_GROUP, CLAIM_ALREADY_VERIFIED, CLAIM_ALREADY_CREDENTIAL,
// KEY_RESTRICTED.
func (s *Service) UnrelateTx(ctx context.Context, tx *db.Tx, id, relation, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	caller := web.CallerFrom(ctx)
	self, err := s.visibleEnd(ctx, tx, id)
	if err != nil {
		return err
	}
	if self == nil {
		return notFound()
	}
	l, err := relationship.Find(ctx, tx, caller.Workspace, relationship.ParseID(relation))
	if err != nil {
		return err
	}
	if l == nil || l.Src != self.NID && !(l.Mirror && l.Dst == self.NID) {
		return relationNotFound()
	}
	pl, row, err := s.openLink(ctx, tx, self, l)
	if err != nil {
		return err
	}
	if err := verdict.Kept(pl); err != nil {
		return err
	}
	if err := s.checkGroupEdge(ctx, tx, pl); err != nil {
		return err
	}
	if err := s.checkProducing(ctx, tx, caller.Workspace, pl, ""); err != nil {
		return err
	}
	ended, err := relationship.Finish(ctx, tx, caller.Workspace, l.NID, relationship.Removal{At: s.cfg.Now().UnixMilli(), By: caller.DID, Reason: reason})
	if err != nil {
		return err
	}
	if !ended { // somebody else was first
		return relationNotFound()
	}
	if err := s.hide(ctx, tx, pl, row, reason); err != nil {
		return err
	}
	if err := s.keepsVerifier(ctx, tx, caller.Workspace, pl); err != nil {
		return err
	}
	return s.keepsParent(ctx, tx, pl)
}

// Unrelate is UnrelateTx in a transaction of its own.
func (s *Service) Unrelate(ctx context.Context, id, relation, reason string) error {
	l, err := relationship.Find(ctx, s.db, web.CallerFrom(ctx).Workspace, relationship.ParseID(relation))
	if err != nil {
		return err
	}
	if l != nil {
		if err := s.warm(ctx, l.SrcDID, l.DstDID); err != nil {
			return err
		}
	}
	return s.db.InTx(ctx, func(tx *db.Tx) error { return s.UnrelateTx(ctx, tx, id, relation, reason) })
}

// openLink locks the ends of an edge that is about to end.
func (s *Service) openLink(ctx context.Context, tx *db.Tx, self *relationship.End, l *relationship.Row) (*relationship.Relationship, *Row, error) {
	ws := web.CallerFrom(ctx).Workspace
	pl := &relationship.Relationship{Self: self, Row: *l, Back: l.Src != self.NID}
	pl.Word = l.Shown(pl.Back).Role
	far := l.Dst
	if pl.Back {
		far = l.Src
	}
	if far != 0 {
		other, err := relationship.EndByNID(ctx, tx, ws, far)
		if err != nil {
			return nil, nil, err
		}
		pl.Other = other
	}
	locked := []*relationship.End{self}
	if l.Mirror {
		locked = append(locked, pl.Other)
	}
	for _, e := range locked {
		e.Crowded = false // its record may change: lock it alone
	}
	if err := s.lock(ctx, tx, locked...); err != nil {
		return nil, nil, err
	}
	row, err := findByNID(ctx, tx, ws, self.NID)
	if err != nil {
		return nil, nil, err
	}
	return pl, row, s.mayChange(ctx, tx, row)
}

// checkGroupEdge keeps groups in their organisations: an active group has a
// parent, and an organisation an active group.
func (s *Service) checkGroupEdge(ctx context.Context, tx *db.Tx, p *relationship.Relationship) error {
	from, to := p.Ends()
	if !p.ToGroup() || Status(to.Status) == StatusDeactivated || from.DomainType != "organisation" {
		return nil
	}
	return s.checkLastGroup(ctx, tx, from, to.NID)
}

// checkLastGroup refuses to take an active group from an organisation that has
// no other. The organisation is locked by the caller.
func (s *Service) checkLastGroup(ctx context.Context, tx *db.Tx, org *relationship.End, group int64) error {
	if Status(org.Status) == StatusDeactivated {
		return nil
	}
	more, err := relationship.HasOtherGroup(ctx, tx, org.NID, group)
	if err != nil || more {
		return err
	}
	return fault.New(fault.Conflict, "ORGANISATION_REQUIRES_GROUP", "An organisation always has an active membership group; this is its last.")
}

// hide takes an edge that has ended off the records of its ends.
func (s *Service) hide(ctx context.Context, tx *db.Tx, p *relationship.Relationship, row *Row, reason string) error {
	shown := p.Row.Shown(p.Back)
	next, err := s.hideAt(ctx, tx, row, shown, reason)
	if err != nil {
		return err
	}
	if next == nil {
		if err := s.tell(ctx, tx, "relationship.removed", row, shown); err != nil {
			return err
		}
	} else if err := mayPlace(ctx, next.Project); err != nil {
		return err
	}
	s.noteEdge(tx, p)
	if !p.Row.Mirror {
		return nil
	}
	far, err := findByNID(ctx, tx, row.Workspace, p.Other.NID)
	if err != nil {
		return err
	}
	if _, err = s.hideAt(ctx, tx, far, p.Row.Shown(!p.Back), reason); err != nil {
		return err
	}
	return s.proofs(ctx).Follow(ctx, tx, p)
}

// hideAt takes an edge off one record and refuses when an active twin cannot do
// without. It returns nil when the record stays as it is.
func (s *Service) hideAt(ctx context.Context, tx *db.Tx, row *Row, gone Relationship, reason string) (*Row, error) {
	e, err := row.Entity()
	if err != nil {
		return nil, err
	}
	list, more := slices.DeleteFunc(slices.Clone(e.Relationships), func(r Relationship) bool { return r.ID == gone.ID }), false
	if e.MoreRelationships {
		if list, more, err = relationship.First(ctx, tx, row.NID); err != nil {
			return nil, err
		}
	}
	project := e.Project
	if row.DomainType != "project" && project == gone.Target {
		if project, err = s.projectOf(ctx, tx, row); err != nil {
			return nil, err
		}
	}
	unseen := slices.Equal(list, e.Relationships) && more == e.MoreRelationships && project == e.Project
	says := verdict.Says(row.DomainType, gone.Role)
	if unseen && !says {
		return nil, s.stillComplete(ctx, tx, e, row.NID, gone)
	}
	act := related("relationship.removed", gone)
	act.Reason, act.says = reason, says
	return s.mutate(ctx, tx, row, act, func(e *Entity) error {
		e.Relationships, e.MoreRelationships, e.Project = list, more, project
		missing, err := s.missingOf(ctx, tx, e, row.NID)
		if err != nil {
			return err
		}
		return s.keepsComplete(e.Status, gone, missing)
	})
}

// stillComplete is keepsComplete for an edge the record did not show.
func (s *Service) stillComplete(ctx context.Context, tx *db.Tx, e *Entity, nid int64, gone Relationship) error {
	missing, err := s.missingOf(ctx, tx, e, nid)
	if err != nil {
		return err
	}
	return s.keepsComplete(e.Status, gone, missing)
}

// keepsComplete refuses when an active twin misses what an edge gave it. One
// that did not hold, or was unconfirmed, gave nothing.
func (s *Service) keepsComplete(status Status, gone Relationship, missing []string) error {
	if status != StatusActive || gone.Unconfirmed || !relationship.Holds(gone.Since, gone.Until, s.cfg.Now()) {
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

// projectOf finds the project of a twin after it has lost the one it had: that
// of its first edge to one.
func (s *Service) projectOf(ctx context.Context, tx *db.Tx, row *Row) (string, error) {
	list, _, err := relationship.First(ctx, tx, row.NID)
	if err != nil {
		return "", err
	}
	for _, r := range list {
		if !relationship.Belongs(r.Role, "project") {
			continue
		}
		other, err := relationship.FindEnd(ctx, tx, row.Workspace, r.Target)
		if err != nil {
			return "", err
		}
		if other == nil || other.DomainType == "project" {
			return r.Target, nil
		}
	}
	return "", nil
}

// missingOf lists the roles a twin misses, from what it shows, or from the
// store when it shows a part only.
func (s *Service) missingOf(ctx context.Context, q db.Querier, e *Entity, nid int64) ([]string, error) {
	p, err := s.cfg.Protocols.FindAnyIn(ctx, q, web.CallerFrom(ctx).Workspace, e.Protocol, e.ProtocolVersion)
	if err != nil {
		return nil, err
	}
	count := relationship.Counter(e, s.cfg.Now())
	if e.MoreRelationships {
		counted, err := relationship.CountAll(ctx, q, nid, relationship.Words(p, e.DomainType), s.cfg.Now().UnixMilli())
		if err != nil {
			return nil, err
		}
		count = func(word string) int { return counted[word] }
	}
	return relationship.Missing(p, e.DomainType, count), nil
}
