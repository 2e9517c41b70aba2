package entity

import (
	"context"
	"errors"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// mayConfirm reports whether the caller may say that a DID that is not held here
// is what a role needs. Nobody can check it, so it takes every scope.
func mayConfirm(ctx context.Context) bool {
	return auth.CheckGrant(web.CallerFrom(ctx), "", []string{"*"}) == nil
}

// ConfirmTx notes that the target of a relationship, which is not held here, is
// what it should be: from now on it fills required roles. The caller need not
// control the twin, and changes nothing it says; the route asks for every
// scope. A relationship that is confirmed already, or whose target is held
// here, does not change. Faults: ENTITY_NOT_FOUND, RELATIONSHIP_NOT_FOUND,
// ENTITY_DEACTIVATED.
func (rl *relations) ConfirmTx(ctx context.Context, tx *db.Tx, id, relation string) (*Relationship, error) {
	ws := web.CallerFrom(ctx).Workspace
	self, err := visibleEnd(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if self == nil {
		return nil, notFound()
	}
	self.Crowded = false // its record may change: lock it alone
	if err := lock(ctx, tx, self); err != nil {
		return nil, err
	}
	l, err := relationship.Find(ctx, tx, ws, relationship.ParseID(relation))
	if err != nil {
		return nil, err
	}
	if l == nil || l.Src != self.NID && !(l.Mirror && l.Dst == self.NID) {
		return nil, relationNotFound()
	}
	row, err := findByNID(ctx, tx, ws, self.NID)
	if err != nil {
		return nil, err
	}
	if row.Status == StatusDeactivated {
		return nil, deactivated()
	}
	if _, err := relationship.Confirm(ctx, tx, ws, l.NID); err != nil || !l.Unconfirmed {
		shown := l.Shown(l.Src != self.NID)
		return &shown, err
	}
	l.Unconfirmed = false
	shown := l.Shown(false)
	return &shown, rl.showConfirmed(ctx, tx, row, shown)
}

// showConfirmed shows a confirmed relationship in the record. There is an event
// even when the record has no room for it.
func (rl *relations) showConfirmed(ctx context.Context, tx *db.Tx, row *Row, shown Relationship) error {
	_, err := rl.Mutate(ctx, tx, row, related("relationship.confirmed", shown), func(e *Entity) error {
		i := slices.IndexFunc(e.Relationships, func(r Relationship) bool { return r.ID == shown.ID })
		if i >= 0 {
			e.Relationships[i] = shown
			return nil
		}
		missing, err := rl.missingOf(ctx, tx, e, row.NID)
		if err == nil && slices.Equal(missing, e.MissingRelationships) {
			err = errUnchanged
		}
		return err
	})
	if errors.Is(err, errUnchanged) {
		return rl.tell(ctx, tx, "relationship.confirmed", row, shown)
	}
	return err
}

// Confirm is ConfirmTx in a transaction of its own.
func (rl *relations) Confirm(ctx context.Context, id, relation string) (web.Reply[*Relationship], error) {
	if err := rl.warm(ctx, id); err != nil {
		return web.Reply[*Relationship]{}, err
	}
	return once.Do(ctx, rl.idem, func(tx *db.Tx) (web.Reply[*Relationship], error) {
		r, err := rl.ConfirmTx(ctx, tx, id, relation)
		return web.Reply[*Relationship]{Value: r}, err
	})
}
