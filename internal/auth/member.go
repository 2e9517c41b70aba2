package auth

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// rights are the scopes a key has at this moment: its own, or those that the
// groups of its principal give.
func (s *Service) rights(ctx context.Context, q db.Querier, k *Key) ([]string, error) {
	if !k.byGroups() {
		return k.Scopes, nil
	}
	scopes, err := s.cfg.Groups(ctx, q, k.Workspace, k.Principal)
	if err != nil {
		return nil, fmt.Errorf("find scopes of groups: %w", err)
	}
	return scopes, nil
}

// asMember tells whether c may hold a member key of a principal: all its groups
// give, now and later. That takes an owner, or the principal itself with such a
// key; a key of hers that is allowed less must not grow by making one.
func (s *Service) asMember(ctx context.Context, tx *db.Tx, c web.Caller, principal string) error {
	if grants(c, all) {
		return nil
	}
	if c.Key != "" && c.DID == principal {
		maker, err := findKey(ctx, tx, c.Workspace, c.Key)
		if err != nil || maker.byGroups() {
			return err
		}
	}
	return fault.New(fault.Forbidden, codeScope, "This takes an owner, or a key with the role member of the same principal.").
		With(fault.Field{Pointer: "/principal", Code: "scope_missing", Detail: "The groups of this principal may give more than your key has."})
}

// HeldBy gives the scopes of the keys that speak for a principal and work now,
// and reports whether there is one. What groups give a key with the role member
// is not among them.
func (s *Service) HeldBy(ctx context.Context, q db.Querier, workspace, principal string) (scopes []string, holds bool, err error) {
	ids, err := listOwned(ctx, q, workspace, principal)
	if err != nil {
		return nil, false, err
	}
	now := s.moment()
	for _, id := range ids {
		k, err := findKey(ctx, q, workspace, id)
		if err != nil {
			return nil, false, err
		}
		if status := k.at(now).Status; status != Active && status != Rotated {
			continue
		}
		holds = true
		if !k.byGroups() {
			scopes = append(scopes, k.Scopes...)
		}
	}
	return scopes, holds, nil
}
