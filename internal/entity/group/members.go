package group

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// checkNew refuses a text that cannot be a member: it is not a DID, or a did:key
// without a valid key, with which nobody could ever sign.
func checkNew(member string) error {
	if err := checkDID("path/member", member); err != nil {
		return err
	}
	var c fault.Checks
	if _, _, err := did.DID(member).KeyKind(); err != nil && did.DID(member).Method() == "key" {
		c.Add("path/member", "not_a_key", "The value must be the did:key of a key.")
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// Add makes a DID a member of a group, with the keys that speak for it. keys
// are those the caller knows to be the member's; nil admits all keys added by
// principals who have what the group gives. Adding a member again changes only
// the keys. The caller needs the right to change the group and every scope it
// gives. Faults: NOT_A_GROUP, NOT_CONTROLLER, SCOPE_MISSING, KEY_RESTRICTED,
// GROUP_CLOSED, GROUP_FULL, TOO_MANY_GROUPS, KEYS_UNCONFIRMED,
// MEMBER_KEYS_INVALID.
func (s *Service) Add(ctx context.Context, id, member string, keys []string) (*Member, error) {
	if err := checkNew(member); err != nil {
		return nil, err
	}
	published, err := s.publishedKeys(ctx, member)
	if err != nil {
		return nil, err
	}
	var m *Member
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := s.changeable(ctx, tx, id)
		if err != nil {
			return err
		}
		if r.Status == entity.StatusCompleted || r.Status == entity.StatusDeactivated {
			return fault.New(fault.Conflict, "GROUP_CLOSED", "A completed or deactivated group accepts no members.")
		}
		p, err := read(r.Body)
		if err != nil {
			return err
		}
		if err := checkGrant(ctx, "path/did", p.Scopes); err != nil {
			return err
		}
		a := admission{published: published}
		if keys != nil {
			a.confirmed = tidy(keys)
		}
		m, err = s.join(ctx, tx, r, member, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// checkGrant stops callers from giving more than they have, and from giving for
// the whole workspace what they have in some projects.
func checkGrant(ctx context.Context, at string, scopes []string) error {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 && len(scopes) > 0 {
		return fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; a group gives scopes in the whole workspace.")
	}
	return auth.CheckGrant(c, at, scopes)
}

// changeable finds a group whose members the caller may change, and locks it
// until the transaction ends.
func (s *Service) changeable(ctx context.Context, tx *db.Tx, id string) (*entity.Row, error) {
	r, err := s.cfg.Entities.FindForUpdate(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if err := checkGroup(r); err != nil {
		return nil, err
	}
	return r, s.cfg.Entities.MayUpdate(ctx, tx, r)
}

// join stores a member of a group after all checks.
func (s *Service) join(ctx context.Context, tx *db.Tx, r *entity.Row, member string, a admission) (*Member, error) {
	m := &Member{Group: r.DID, Member: member, AddedAt: s.cfg.Now().UTC().Truncate(time.Millisecond), AddedBy: web.CallerFrom(ctx).DID}
	fresh, err := insert(ctx, tx, r.Workspace, r.NID, m)
	if err != nil {
		return nil, err
	}
	if !fresh {
		if _, err := find(ctx, tx, r, m); err != nil {
			return nil, err
		}
		return m, s.admitAgain(ctx, tx, r, m, a)
	}
	switch n, err := bump(ctx, tx, membersOf(r.Workspace, r.DID), 1); {
	case err != nil:
		return nil, err
	case n > maxMembers:
		return nil, fault.New(fault.Conflict, "GROUP_FULL", fmt.Sprintf("A group has at most %d members.", maxMembers))
	}
	switch n, err := bump(ctx, tx, groupsOf(r.Workspace, member), 1); {
	case err != nil:
		return nil, err
	case n > maxGroups:
		return nil, fault.New(fault.Conflict, "TOO_MANY_GROUPS", fmt.Sprintf("A member is in at most %d groups.", maxGroups))
	}
	if err := s.admitKeys(ctx, tx, r, m, a); err != nil {
		return nil, err
	}
	return m, s.announce(ctx, tx, "member.added", r.DID, m)
}

// admitAgain checks the keys of an existing member.
func (s *Service) admitAgain(ctx context.Context, tx *db.Tx, r *entity.Row, m *Member, a admission) error {
	before := m.Keys
	a.again = true
	if err := s.admitKeys(ctx, tx, r, m, a); err != nil || slices.Equal(before, m.Keys) {
		return err
	}
	return s.announce(ctx, tx, "member.keys_changed", r.DID, m)
}

// Remove takes a DID out of a group; it accepts a DID that is not a member. The
// caller needs the right to change the group. Faults: NOT_A_GROUP,
// NOT_CONTROLLER.
func (s *Service) Remove(ctx context.Context, id, member string) (*Member, error) {
	if err := checkDID("path/member", member); err != nil {
		return nil, err
	}
	var m *Member
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := s.changeable(ctx, tx, id)
		if err != nil {
			return err
		}
		m = &Member{Group: r.DID, Member: member}
		if there, err := find(ctx, tx, r, m); err != nil || !there {
			return err
		}
		return s.leave(ctx, tx, r.Workspace, Membership{nid: r.NID, Group: r.DID}, member)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// leave takes a member out of one group. Two concurrent calls count it once.
func (s *Service) leave(ctx context.Context, tx *db.Tx, ws string, g Membership, member string) error {
	gone, err := quit(ctx, tx, ws, g, member)
	if err != nil || !gone {
		return err
	}
	return s.announce(ctx, tx, "member.removed", g.Group, &Member{Member: member})
}

// quit takes a member out of one group without an event. It returns false when it
// was not a member.
func quit(ctx context.Context, tx *db.Tx, ws string, g Membership, member string) (bool, error) {
	gone, err := remove(ctx, tx, ws, member, g.nid)
	if err != nil || !gone {
		return false, err
	}
	if err := unbump(ctx, tx, membersOf(ws, g.Group)); err != nil {
		return false, err
	}
	return true, unbump(ctx, tx, groupsOf(ws, member))
}

// RemoveTwin removes a twin from everything that groups keep, with no event: its
// memberships, its keys and, if it is a group, its members. It is for a twin
// whose record is removed in the same transaction; see entity.Remove.
func (s *Service) RemoveTwin(ctx context.Context, tx *db.Tx, r *entity.Row) error {
	own := Membership{nid: r.NID, Group: r.DID}
	for r.DomainType == "group" {
		some, err := listMembers(ctx, tx, r.NID, "", membersRead)
		if err != nil {
			return err
		}
		for _, m := range some {
			if _, err := quit(ctx, tx, r.Workspace, own, m.Member); err != nil {
				return err
			}
		}
		if len(some) < membersRead {
			break
		}
	}
	groups, err := listMemberships(ctx, tx, r.Workspace, r.DID)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if _, err := quit(ctx, tx, r.Workspace, g, r.DID); err != nil {
			return err
		}
	}
	s.cfg.Changed(tx)
	return dropKeys(ctx, tx, r.Workspace, r.DID)
}

// membersRead is how many members are read at once.
const membersRead = 100

// Forget takes a DID out of all its groups and forgets its keys, in the
// transaction that erases its data, and returns how many groups there were.
func (s *Service) Forget(ctx context.Context, tx *db.Tx, ws, member string) (int64, error) {
	all, err := listMemberships(ctx, tx, ws, member)
	if err != nil {
		return 0, err
	}
	order.Sort(all, func(a, b Membership) int { return strings.Compare(a.Group, b.Group) }) // one order: no deadlock
	for _, m := range all {
		if err := s.leave(ctx, tx, ws, m, member); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), dropKeys(ctx, tx, ws, member)
}

// announce appends the event about a change of members and of admitted keys.
func (s *Service) announce(ctx context.Context, tx *db.Tx, typ, group string, m *Member) error {
	s.cfg.Changed(tx)
	data := map[string]any{"member": m.Member}
	if len(m.Keys) > 0 {
		data["keys"] = m.Keys
	}
	return s.cfg.Events.Append(ctx, tx, event.Event{Type: typ, Subject: group, Data: data})
}

// In lists the DIDs of the groups that an organisation or a group contains.
func (s *Service) In(ctx context.Context, r *entity.Row) ([]string, error) {
	var out []string
	for after := ""; ; after = out[len(out)-1] {
		some, err := listGroups(ctx, s.db, r.NID, after, membersRead)
		if err != nil {
			return nil, err
		}
		for _, g := range some {
			out = append(out, g.DID)
		}
		if len(some) < membersRead {
			return out, nil
		}
	}
}
