package group

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ScopesOf returns the scopes a caller has from its groups: those of active
// groups of active organisations together, limited to what they are worth in
// the workspace and with the key the caller has signed with. It serves as
// auth.Config.Groups.
func ScopesOf(ctx context.Context, q db.Querier, c web.Caller) ([]string, error) {
	all, err := membershipsOf(ctx, q, c)
	if err != nil {
		return nil, err
	}
	return given(c.Workspace, all), nil
}

// GivenTo returns everything the groups of a DID give, including groups not in
// force now, whatever key it signs with.
func GivenTo(ctx context.Context, q db.Querier, c web.Caller) ([]string, error) {
	all, err := listMemberships(ctx, q, c.Workspace, c.DID)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].InForce = true
	}
	return given(c.Workspace, all), nil
}

// ControlsAs returns the DIDs as which a caller may change twins besides its
// own: those of its groups that are in force and give entities:write, and of
// their organisations. It serves as entity.Config.ControlsAs.
func ControlsAs(ctx context.Context, q db.Querier, c web.Caller) ([]string, error) {
	all, err := membershipsOf(ctx, q, c)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range all {
		as := web.Caller{Workspace: c.Workspace, Scopes: auth.Effective(c.Workspace, m.Scopes)}
		if m.InForce && auth.May(as, "entities:write") {
			out = append(out, m.Group, m.Organisation)
		}
	}
	return tidy(out), nil
}

// membershipsOf returns the groups of a caller, with the scopes they give when
// its DID speaks by the keys the caller comes with. A key nobody has vouched for
// gets none.
func membershipsOf(ctx context.Context, q db.Querier, c web.Caller) ([]Membership, error) {
	all, err := memberships(ctx, q, c.Workspace, c.DID)
	if err != nil || len(all) == 0 {
		return all, err
	}
	for _, key := range c.Signers() {
		v, err := findVoucher(ctx, q, speaker{c.Workspace, c.DID, key})
		if err != nil || !v.counts() {
			return nil, err
		}
		for i := range all {
			all[i].Scopes = auth.Meet(all[i].Scopes, v.scopes)
		}
	}
	return all, nil
}

// Speaking filters the keys of a DID: it leaves out refused ones, and those
// whose vouchers were forgotten.
func Speaking(ctx context.Context, q db.Querier, ws, id string, keys []string) ([]string, error) {
	var out []string
	for _, key := range keys {
		v, err := findVoucher(ctx, q, speaker{ws, id, key})
		if err != nil {
			return nil, err
		}
		if v.speaks() {
			out = append(out, key)
		}
	}
	return out, nil
}

// Of lists the groups of a member, by DID, whatever they give.
func Of(ctx context.Context, q db.Querier, ws, member string) ([]string, error) {
	all, err := listMemberships(ctx, q, ws, member)
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = m.Group
	}
	return out, err
}

// memberships reads the groups of a member and finds out which are in force.
func memberships(ctx context.Context, q db.Querier, ws, member string) ([]Membership, error) {
	all, err := listMemberships(ctx, q, ws, member)
	if err != nil {
		return nil, err
	}
	for i := range all {
		m := &all[i]
		if m.Organisation, m.InForce, err = organisationOf(ctx, q, m.nid); err != nil {
			return nil, err
		}
		m.InForce = m.InForce && m.Status == entity.StatusActive
	}
	return all, nil
}

// organisationOf finds the organisation above a group, "" when none is held
// here, and reports whether it and all groups on the way are active.
func organisationOf(ctx context.Context, q db.Querier, nid int64) (org string, active bool, err error) {
	active = true
	for range maxDepth {
		p, err := findParent(ctx, q, nid)
		if err != nil || p == nil {
			return "", false, err
		}
		active = active && p.status == entity.StatusActive
		if p.kind == organisation {
			return p.did, active, nil
		}
		nid = p.nid
	}
	return "", false, nil
}

// visible filters the groups for a caller with a project restriction.
func visible(c web.Caller, all []Membership) []Membership {
	if len(c.Projects) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(m Membership) bool { return !slices.Contains(c.Projects, m.project) })
}
