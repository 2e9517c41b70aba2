package auth

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Bootstrap makes the operator's workspace, its owner and an owner key on an
// empty store. ownerKey, when given, is that key's text; otherwise one is made
// and returned, only this once. Later calls return "" and change nothing,
// except that an ownerKey the store has never seen is added as one more owner
// key: earlier ones keep working until they are revoked. A revoked one stays
// revoked. Instances that start together may all call it; one makes the key.
func (s *Service) Bootstrap(ctx context.Context, ownerKey string) (shown string, err error) {
	if ownerKey != "" {
		if err := checkOwnerKey(ownerKey); err != nil {
			return "", err
		}
	}
	text := ownerKey
	if text == "" {
		text = newText()
	}
	step := s.founding(ctx, WorkspaceDraft{ID: OperatorWorkspace, Name: "Default"})
	made, err := inTx(ctx, s.db, func(tx *db.Tx) (bool, error) {
		_, made, err := step(tx, text)
		return made, err
	})
	switch {
	case err != nil:
		return "", err
	case made && ownerKey == "":
		return text, nil
	case made || ownerKey == "":
		return "", nil
	}
	return "", s.adopt(ctx, ownerKey)
}

// adopt makes text an owner key unless the store knows it.
func (s *Service) adopt(ctx context.Context, text string) error {
	ctx, err := s.AsOwner(ctx, OperatorWorkspace)
	if err != nil {
		return err
	}
	c := web.CallerFrom(ctx)
	k := ownerKey(OperatorWorkspace, c.DID, c.DID)
	s.stampKey(&k, text, s.moment())
	_, err = inTx(ctx, s.db, func(tx *db.Tx) (Issued, error) {
		known, err := findHash(ctx, tx, k.hash)
		if err != nil {
			return Issued{}, err
		}
		if known == nil {
			return s.issue(ctx, tx, k, text)
		}
		if known.Workspace != OperatorWorkspace || !slices.Contains(known.Scopes, all) {
			return Issued{}, fault.New(fault.Conflict, "OWNER_KEY_TAKEN", "HEARTH_OWNER_KEY is the text of a key that is not an owner key.")
		}
		return Issued{}, nil
	})
	if db.IsUnique(err) {
		return nil // another instance has adopted it in the same moment
	}
	return err
}
