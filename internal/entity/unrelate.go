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

// UnrelateTx ends a relationship that a twin shows. It stays in the store for
// the history. Faults: ENTITY_NOT_FOUND, NOT_CONTROLLER, ENTITY_DEACTIVATED,
// RELATIONSHIP_NOT_FOUND, MISSING_RELATIONSHIPS when an active twin needs it,
// ORGANISATION_REQUIRES_GROUP, CLAIM_ALREADY_VERIFIED,
// CLAIM_ALREADY_CREDENTIAL, KEY_RESTRICTED.
func (rl *relations) UnrelateTx(ctx context.Context, tx *db.Tx, id, relation, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	caller := web.CallerFrom(ctx)
	self, err := visibleEnd(ctx, tx, id)
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
	pl, row, err := rl.openLink(ctx, tx, self, l)
	if err != nil {
		return err
	}
	if err := verdict.Kept(pl); err != nil {
		return err
	}
	if err := checkGroupRelation(ctx, tx, pl); err != nil {
		return err
	}
	if err := checkProducing(ctx, tx, caller.Workspace, pl, ""); err != nil {
		return err
	}
	ended, err := relationship.Finish(ctx, tx, caller.Workspace, l.NID, relationship.Removal{At: rl.now().UnixMilli(), By: caller.DID, Reason: reason})
	if err != nil {
		return err
	}
	if !ended { // another request was first
		return relationNotFound()
	}
	if err := rl.hide(ctx, tx, pl, row, reason); err != nil {
		return err
	}
	if err := keepsVerifier(ctx, tx, caller.Workspace, pl); err != nil {
		return err
	}
	return rl.keepsParent(ctx, tx, pl)
}

// Unrelate is UnrelateTx in a transaction of its own.
func (rl *relations) Unrelate(ctx context.Context, id, relation, reason string) error {
	l, err := relationship.Find(ctx, rl.db, web.CallerFrom(ctx).Workspace, relationship.ParseID(relation))
	if err != nil {
		return err
	}
	if l != nil {
		if err := rl.warm(ctx, l.SrcDID, l.DstDID); err != nil {
			return err
		}
	}
	return rl.db.InTx(ctx, func(tx *db.Tx) error { return rl.UnrelateTx(ctx, tx, id, relation, reason) })
}

// openLink locks the ends of a relationship that is about to end.
func (rl *relations) openLink(ctx context.Context, tx *db.Tx, self *relationship.End, l *relationship.Row) (*relationship.Relationship, *Row, error) {
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
	if err := lock(ctx, tx, locked...); err != nil {
		return nil, nil, err
	}
	row, err := findByNID(ctx, tx, ws, self.NID)
	if err != nil {
		return nil, nil, err
	}
	return pl, row, rl.mayChange(ctx, tx, row)
}

// checkGroupRelation keeps groups in their organisations: an active group has a
// parent, and an organisation an active group.
func checkGroupRelation(ctx context.Context, tx *db.Tx, p *relationship.Relationship) error {
	from, to := p.Ends()
	if !p.ToGroup() || Status(to.Status) == StatusDeactivated || from.DomainType != "organisation" {
		return nil
	}
	return checkLastGroup(ctx, tx, from, to.NID)
}

// checkLastGroup refuses to take an active group from an organisation that has
// no other. The caller has locked the organisation.
func checkLastGroup(ctx context.Context, tx *db.Tx, org *relationship.End, group int64) error {
	if Status(org.Status) == StatusDeactivated {
		return nil
	}
	more, err := relationship.HasOtherGroup(ctx, tx, org.NID, group)
	if err != nil || more {
		return err
	}
	return fault.New(fault.Conflict, "ORGANISATION_REQUIRES_GROUP", "An organisation must always have an active membership group, and this is its last one.")
}

// hide removes a relationship that has ended from the records of its ends.
func (rl *relations) hide(ctx context.Context, tx *db.Tx, p *relationship.Relationship, row *Row, reason string) error {
	shown := p.Row.Shown(p.Back)
	next, err := rl.hideAt(ctx, tx, row, shown, reason)
	if err != nil {
		return err
	}
	if next == nil {
		if err := rl.tell(ctx, tx, "relationship.removed", row, shown); err != nil {
			return err
		}
	} else if err := mayPlace(ctx, next.Project); err != nil {
		return err
	}
	rl.noteRelationship(tx, p)
	if !p.Row.Mirror {
		return nil
	}
	far, err := findByNID(ctx, tx, row.Workspace, p.Other.NID)
	if err != nil {
		return err
	}
	if _, err = rl.hideAt(ctx, tx, far, p.Row.Shown(!p.Back), reason); err != nil {
		return err
	}
	return rl.proofs(ctx).Follow(ctx, tx, p)
}

// hideAt removes a relationship from one record and refuses when an active twin
// cannot do without it. It returns nil when the record does not change.
func (rl *relations) hideAt(ctx context.Context, tx *db.Tx, row *Row, gone Relationship, reason string) (*Row, error) {
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
		if project, err = projectOf(ctx, tx, row); err != nil {
			return nil, err
		}
	}
	unseen := slices.Equal(list, e.Relationships) && more == e.MoreRelationships && project == e.Project
	says := verdict.Says(row.DomainType, gone.Role)
	if unseen && !says {
		return nil, rl.stillComplete(ctx, tx, e, row.NID, gone)
	}
	act := related("relationship.removed", gone)
	act.Reason, act.says = reason, says
	return rl.Mutate(ctx, tx, row, act, func(e *Entity) error {
		e.Relationships, e.MoreRelationships, e.Project = list, more, project
		missing, err := rl.missingOf(ctx, tx, e, row.NID)
		if err != nil {
			return err
		}
		return rl.keepsComplete(e.Status, gone, missing)
	})
}

// projectOf finds the project of a twin that has lost the one it had: the one
// of its first remaining relationship to a project.
func projectOf(ctx context.Context, tx *db.Tx, row *Row) (string, error) {
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
