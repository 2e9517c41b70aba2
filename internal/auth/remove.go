package auth

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	removeKeySQL       = `DELETE FROM api_keys WHERE workspace = $1 AND id = $2`
	removePrincipalSQL = `DELETE FROM principals WHERE workspace = $1 AND did = $2 AND kind <> 'owner'
		AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.workspace = $1 AND k.principal = $2)`
)

// removePage is how many keys are looked at together.
const removePage = 100

// RemoveKeys removes the keys of a workspace that is selects, with no event and as
// if they had never been made, and principals who are left without a key. It
// returns the ids of the keys. Use it for demo data only: real keys are revoked,
// and stay on the list.
func (s *Service) RemoveKeys(ctx context.Context, ws string, is func(Key) bool) ([]string, error) {
	var ids []string
	for after, more := "", true; more; {
		keys, err := listKeys(ctx, s.db, ws, after, removePage)
		if err != nil {
			return nil, err
		}
		more = len(keys) == removePage
		for _, k := range keys {
			after = k.ID
			if !is(k) {
				continue
			}
			if err := s.removeKey(ctx, k); err != nil {
				return nil, err
			}
			ids = append(ids, k.ID)
		}
	}
	return ids, nil
}

// removeKey removes a key, and its principal when it was the last.
func (s *Service) removeKey(ctx context.Context, k Key) error {
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := lockKeys(ctx, tx, k.Workspace); err != nil {
			return err
		}
		if err := leaveOwner(ctx, tx, &k); err != nil && k.RevokedAt.IsZero() {
			return err
		}
		_, err := tx.Exec(ctx, removeKeySQL, k.Workspace, k.ID)
		if err == nil {
			_, err = tx.Exec(ctx, removeInvitesSQL, k.Workspace, k.ID)
		}
		if err == nil {
			_, err = tx.Exec(ctx, removePrincipalSQL, k.Workspace, k.Principal)
		}
		s.RightsChanged(tx)
		return err
	})
	return db.Wrap("remove key", err)
}
