package auth

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// leaveOwner refuses the end of the last lasting key of a workspace. The caller
// has locked its keys.
func leaveOwner(ctx context.Context, q db.Querier, k *Key) error {
	if !k.lasting() {
		return nil
	}
	other, err := hasLasting(ctx, q, k.Workspace, k.ID, "")
	if err != nil || other {
		return err
	}
	return lastOwner()
}

const codeLast = "LAST_OWNER"

func lastOwner() error {
	return fault.New(fault.Conflict, codeLast,
		"This is the last key with the scope * and no expiry, project or network limit: without it nobody could make another. "+
			"Make another one with the role owner first, or end it on the server's machine: hearth keys revoke --force.")
}

// MayForget reports whether the caller may have a principal forgotten, which
// ends its keys and what its groups give it: that takes keys:write and the right
// to revoke each working key, and everything the groups give. Faults:
// SCOPE_MISSING, RESTRICTION_EXCEEDED, and LAST_OWNER when no lasting key would
// be left.
func (s *Service) MayForget(ctx context.Context, q db.Querier, workspace, principal string) error {
	const pointer = "/subject"
	c := web.CallerFrom(ctx)
	given, err := s.cfg.Given(ctx, q, web.Caller{Workspace: workspace, DID: principal})
	if err != nil {
		return fmt.Errorf("find scopes of groups: %w", err)
	}
	if err := CheckGrant(c, pointer, given); err != nil {
		return mayNotForget(err)
	}
	ids, err := listOwned(ctx, q, workspace, principal)
	if err != nil {
		return err
	}
	lasting := false
	for _, id := range ids {
		k, err := findKey(ctx, q, workspace, id)
		if err != nil {
			return err
		}
		if st := k.at(s.now()).Status; st == Revoked || st == Expired {
			continue
		}
		if !May(c, "keys:write") {
			return fault.New(fault.Forbidden, codeScope, "This principal has API keys, which an erasure revokes. That needs the scope keys:write, which you do not have.")
		}
		if err := s.decides(ctx, q, c, k, pointer); err != nil {
			return mayNotForget(err)
		}
		lasting = lasting || k.lasting()
	}
	if !lasting {
		return nil
	}
	other, err := hasLasting(ctx, q, workspace, "", principal)
	if err != nil || other {
		return err
	}
	return lastOwner()
}

// mayNotForget explains, for scopes that a caller lacks, why they are needed.
func mayNotForget(err error) error {
	f := fault.As(err)
	if f == nil || f.Code != codeScope {
		return err
	}
	return fault.New(fault.Forbidden, codeScope, "This DID has rights. Only a caller who has all of these rights may erase it.").With(f.Fields...)
}

// Forget removes a person from the keys of a workspace, in the transaction that
// erases their data: keys that speak for the person stop working and lose their
// names. It returns how many there were. The faults are those of MayForget.
func (s *Service) Forget(ctx context.Context, tx *db.Tx, workspace, principal string) (int64, error) {
	if err := lockKeys(ctx, tx, workspace); err != nil {
		return 0, err
	}
	if err := s.MayForget(ctx, tx, workspace, principal); err != nil {
		return 0, err
	}
	ids, err := listOwned(ctx, tx, workspace, principal)
	if err != nil {
		return 0, err
	}
	now := s.moment()
	for _, id := range ids {
		k, err := lockKey(ctx, tx, workspace, id)
		if err != nil {
			return 0, err
		}
		ended := k.RevokedAt.IsZero()
		if ended {
			k.RevokedAt = now
		}
		k.Revision++
		if err := s.Invites().changeKey(ctx, tx, k); err != nil {
			return 0, err
		}
		if err := endSessions(ctx, tx, workspace, id); err != nil {
			return 0, err
		}
		if !ended {
			continue
		}
		if err := s.record(ctx, tx, "key.revoked", k.ID, k.Revision); err != nil {
			return 0, err
		}
	}
	if _, err := tx.Exec(ctx, forgetInvitesSQL, workspace, principal); err != nil {
		return 0, fmt.Errorf("forget invitations: %w", err)
	}
	return int64(len(ids)), unname(ctx, tx, workspace, principal)
}
