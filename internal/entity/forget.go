package entity

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ForgetRelationship ends a relationship between twins held here because one of them is
// erased, whoever controls them. It returns false when the relationship has ended
// already, and when it stays because an active twin cannot do without it or because the
// caller's key does not cover that twin.
func (rl *relations) ForgetRelationship(ctx context.Context, l *relationship.Row) (bool, error) {
	if err := rl.warm(ctx, l.SrcDID, l.DstDID); err != nil {
		return false, err
	}
	ended := false
	err := rl.db.InTx(ctx, func(tx *db.Tx) (err error) {
		ended, err = rl.forgetRelationship(ctx, tx, l)
		return err
	})
	switch fault.CodeOf(err) {
	case "MISSING_RELATIONSHIPS", "KEY_RESTRICTED":
		return false, nil
	}
	return ended && err == nil, err
}

func (rl *relations) forgetRelationship(ctx context.Context, tx *db.Tx, l *relationship.Row) (bool, error) {
	caller := web.CallerFrom(ctx)
	self, err := relationship.EndByNID(ctx, tx, caller.Workspace, l.Src)
	if err != nil || self == nil {
		return false, err
	}
	pl, row, err := rl.openLink(ctx, tx, self, l)
	if pl == nil { // otherwise it asks who controls the twin, which does not matter here
		return false, err
	}
	ended, err := relationship.Finish(ctx, tx, caller.Workspace, l.NID, relationship.Removal{At: rl.now().UnixMilli(), By: caller.DID})
	if err != nil || !ended {
		return false, err
	}
	if err := rl.hide(ctx, tx, pl, row, ""); err != nil {
		return false, err
	}
	return true, rl.keepsParent(ctx, tx, pl)
}
