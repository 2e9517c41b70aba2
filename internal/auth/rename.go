package auth

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// KeyPatch changes the members of a key that can be changed.
type KeyPatch struct {
	Name *string `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"What the key is for." example:"tablet of the Machakos team"`
}

const (
	renameKeySQL = `UPDATE api_keys SET name = $3, revision = $4 WHERE workspace = $1 AND id = $2`
	// A principal for which only keys speak takes the name of its key, and so
	// does a person.
	renameSpeakerSQL = `UPDATE principals SET name = $4 WHERE workspace = $1 AND did = $2 AND kind IN ('service', 'person') AND name = $3`
)

// Rename gives a key another name: the caller's own key, or one the caller could
// revoke. The faults are KEY_DRAFT_INVALID, KEY_NOT_FOUND, and those of If-Match.
func (s *Service) Rename(ctx context.Context, id, ifMatch string, p KeyPatch) (*Key, error) {
	var checks fault.Checks
	if p.Name == nil {
		checks.Require(false, "/name")
	} else {
		checkName(&checks, "/name", *p.Name)
	}
	if err := checks.Err("KEY_DRAFT_INVALID", "The key is not valid."); err != nil {
		return nil, err
	}
	c := web.CallerFrom(ctx)
	return inTx(ctx, s.db, func(tx *db.Tx) (*Key, error) {
		k, err := s.lockOwned(ctx, tx, c, id)
		if err != nil {
			return nil, err
		}
		if err := web.CheckMatch(ifMatch, k.Revision); err != nil {
			return nil, err
		}
		was := k.Name
		k.Name, k.Revision = *p.Name, k.Revision+1
		_, err = tx.Exec(ctx, renameKeySQL, k.Workspace, k.ID, k.Name, k.Revision)
		if err == nil {
			_, err = tx.Exec(ctx, renameSpeakerSQL, k.Workspace, k.Principal, was, k.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("rename key: %w", err)
		}
		return k.at(s.now()), s.record(ctx, tx, "key.updated", k.ID, k.Revision)
	})
}
