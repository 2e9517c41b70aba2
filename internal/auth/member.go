package auth

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxChain limits how many speakers a key can be bound to. Each is a membership
// given to a key that the one before made.
const maxChain = 16

// bind makes a key depend on the groups its rights come from: those of its
// maker, and of whoever made the maker's key. A member key depends on the
// groups of its principal anyway.
func bind(k *Key, through []string) error {
	k.BoundTo = slices.DeleteFunc(tidy(through), func(id string) bool { return k.byGroups() && id == k.Principal })
	if len(k.BoundTo) > maxChain {
		return fault.New(fault.Conflict, "KEY_CHAIN_TOO_LONG", "This key would depend on the groups of too many others. Have an owner make it.")
	}
	return nil
}

// through are the speakers whose groups give a key its rights.
func (k *Key) through() []string {
	if k.byGroups() {
		return append(slices.Clip(k.BoundTo), k.Principal)
	}
	return k.BoundTo
}

// rights computes the present rights of keys and principals.
type rights struct {
	groups func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
	now    func() time.Time
}

// moment is the present time in its stored form.
func (r rights) moment() time.Time { return r.now().UTC().Truncate(time.Millisecond) }

// of returns the present scopes of a key: its own, or those that the groups of
// its principal give, limited to those of the groups of each speaker it is
// bound to.
func (r rights) of(ctx context.Context, q db.Querier, k *Key) ([]string, error) {
	scopes := k.Scopes
	for i, id := range slices.Backward(k.through()) {
		given, err := r.groups(ctx, q, web.Speaking(k.Workspace, id))
		if err != nil {
			return nil, fmt.Errorf("find scopes of groups: %w", err)
		}
		if i == len(k.BoundTo) { // its own principal: the word member is not a scope
			scopes = given
			continue
		}
		scopes = Meet(scopes, given)
	}
	return scopes, nil
}

// Meet returns the scopes that both lists give.
func Meet(a, b []string) []string {
	within := func(list, outer []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !web.Caller{Scopes: outer}.May(s) })
	}
	return tidy(slices.Concat(within(a, b), within(b, a)))
}

// asMember reports whether c may hold a member key of a principal: all its groups
// give, now and later. That takes an owner, or the principal itself with such a
// key; a key of hers that is allowed less must not grow by making one.
func asMember(ctx context.Context, tx *db.Tx, c web.Caller, principal string) error {
	if grants(c, all) {
		return nil
	}
	if c.Key != "" && c.DID == principal {
		maker, err := findKey(ctx, tx, c.Workspace, c.Key)
		if err != nil || maker.byGroups() {
			return err
		}
	}
	return fault.New(fault.Forbidden, codeScope, "This needs an owner key, or a key with the role member of the same principal.").
		With(fault.Field{Pointer: "/principal", Code: "scope_missing", Detail: "The groups of this principal may give more than your key has."})
}

// Minted reports whether a DID was made for the owner of a workspace or for a
// key, in any workspace.
func (s *Service) Minted(ctx context.Context, q db.Querier, id string) (bool, error) {
	return isMinted(ctx, q, id)
}

// RightsOf are the scopes a principal has now, by its keys and its groups.
func (r rights) RightsOf(ctx context.Context, q db.Querier, workspace, principal string) ([]string, error) {
	scopes, err := r.groups(ctx, q, web.Caller{Workspace: workspace, DID: principal})
	if err != nil {
		return nil, fmt.Errorf("find scopes of groups: %w", err)
	}
	err = r.eachKey(ctx, q, workspace, principal, func(k *Key) error {
		own, err := r.of(ctx, q, k)
		if len(k.Projects) == 0 {
			scopes = append(scopes, own...)
		}
		return err
	})
	return Effective(workspace, tidy(scopes)), err
}

// eachKey calls fn with each key of a principal that works now.
func (r rights) eachKey(ctx context.Context, q db.Querier, workspace, principal string, fn func(*Key) error) error {
	ids, err := listOwned(ctx, q, workspace, principal)
	if err != nil {
		return err
	}
	now := r.moment()
	for _, id := range ids {
		k, err := findKey(ctx, q, workspace, id)
		if err != nil {
			return err
		}
		if status := k.at(now).Status; status != Active && status != Rotated {
			continue
		}
		if err := fn(k); err != nil {
			return err
		}
	}
	return nil
}

// MadeBy lists the principals, other than itself, for which a principal has
// made keys; limit at most.
func MadeBy(ctx context.Context, q db.Querier, workspace, maker string, limit int) ([]string, error) {
	rows, err := q.Query(ctx, selectMadeBy, workspace, maker, limit)
	return db.Collect(rows, err, "list principals of keys", db.Column[string])
}

// MakersOf lists who has made keys for a principal.
func MakersOf(ctx context.Context, q db.Querier, workspace, principal string) ([]string, error) {
	rows, err := q.Query(ctx, selectMakersOf, workspace, principal)
	return db.Collect(rows, err, "list makers of keys", db.Column[string])
}

// HeldBy gives the scopes of the keys that speak for a principal and work now,
// and reports whether there is one. What groups give a key with the role member
// is not among them.
func (r rights) HeldBy(ctx context.Context, q db.Querier, workspace, principal string) (scopes []string, holds bool, err error) {
	err = r.eachKey(ctx, q, workspace, principal, func(k *Key) error {
		holds = true
		if !k.byGroups() {
			scopes = append(scopes, k.Scopes...)
		}
		return nil
	})
	return scopes, holds, err
}
