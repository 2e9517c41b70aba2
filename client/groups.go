package client

import (
	"context"
	"iter"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Groups are the membership groups of organisations. They are twins too.
type Groups struct{ c *Client }

// Group is a membership group.
type Group struct {
	DID      string   `json:"did"`
	Name     string   `json:"name"`
	PartOf   string   `json:"partOf"` // DID of the organisation or group it is part of
	Scopes   []string `json:"scopes"` // what its members may do
	Status   string   `json:"status"`
	Members  int64    `json:"members"`
	Revision int64    `json:"revision"`
}

// GroupDraft is the type of package api.
type GroupDraft = api.GroupDraft

// Member is a member of a group.
type Member struct {
	Group   string    `json:"group"`  // DID
	Member  string    `json:"member"` // DID
	Keys    []string  `json:"keys"`   // did:keys of the member that the group admits
	AddedAt time.Time `json:"addedAt,omitzero"`
	AddedBy string    `json:"addedBy,omitzero"`
}

// Membership is a group of a member and the scopes it gives.
type Membership struct {
	Group        string    `json:"group"`
	Name         string    `json:"name"`
	Organisation string    `json:"organisation,omitzero"`
	Status       string    `json:"status"`
	Scopes       []string  `json:"scopes"`
	InForce      bool      `json:"inForce"` // the group and all it is part of are active
	AddedAt      time.Time `json:"addedAt"`
	AddedBy      string    `json:"addedBy"`
}

// Memberships are the groups of a member and the scopes they give together.
type Memberships struct {
	Member string       `json:"member"`
	Groups []Membership `json:"groups"`
	Scopes []string     `json:"scopes"` // those of a key with the role member
}

// Create makes a group in an organisation or a group. Codes: GROUP_INVALID,
// NOT_AN_ORGANISATION, NOT_CONTROLLER, SCOPE_MISSING.
func (g Groups) Create(ctx context.Context, in string, d GroupDraft, opts ...Option) (*Group, error) {
	return do[Group](ctx, g.c, post(entityPath(in)+"/groups", d), opts)
}

// Page reads one page of the groups of an organisation.
func (g Groups) Page(ctx context.Context, in string, q PageQuery, opts ...Option) (*Page[Group], error) {
	return page[Group](ctx, g.c, entityPath(in)+"/groups", q.values(), opts)
}

// List walks over the groups of an organisation. An error ends it.
func (g Groups) List(ctx context.Context, in string, q PageQuery, opts ...Option) iter.Seq2[Group, error] {
	return pages[Group](ctx, g.c, entityPath(in)+"/groups", q.values(), opts)
}

// MemberPage reads one page of the members of a group.
func (g Groups) MemberPage(ctx context.Context, group string, q PageQuery, opts ...Option) (*Page[Member], error) {
	return page[Member](ctx, g.c, entityPath(group)+"/members", q.values(), opts)
}

// Members walks over the members of a group. An error ends it.
func (g Groups) Members(ctx context.Context, group string, q PageQuery, opts ...Option) iter.Seq2[Member, error] {
	return pages[Member](ctx, g.c, entityPath(group)+"/members", q.values(), opts)
}

func memberPath(group, member string) string {
	return entityPath(group) + "/members/" + url.PathEscape(member)
}

// Add makes a DID a member of a group, with its scopes from the next request
// on. Adding it again changes nothing. Codes: NOT_A_GROUP, NOT_CONTROLLER,
// SCOPE_MISSING, GROUP_CLOSED, GROUP_FULL, and KEYS_UNCONFIRMED when AddWith
// has to say which keys of the DID are to be admitted.
func (g Groups) Add(ctx context.Context, group, member string, opts ...Option) (*Member, error) {
	return do[Member](ctx, g.c, put(memberPath(group, member), nil), opts)
}

// AddWith is Add with the did:keys of the member that the group admits, and no
// others: keys that the member has shown to the caller. The code
// MEMBER_KEYS_INVALID means that one of them does not speak for the DID.
func (g Groups) AddWith(ctx context.Context, group, member string, keys []string, opts ...Option) (*Member, error) {
	return do[Member](ctx, g.c, put(memberPath(group, member), map[string][]string{"keys": keys}), opts)
}

// Remove takes a DID out of a group.
func (g Groups) Remove(ctx context.Context, group, member string, opts ...Option) (*Member, error) {
	return do[Member](ctx, g.c, remove(memberPath(group, member)), opts)
}

// Memberships reads the groups of a member and the scopes they give; "" is the
// caller.
func (g Groups) Memberships(ctx context.Context, member string, opts ...Option) (*Memberships, error) {
	v := url.Values{}
	set(v, "member", member)
	return do[Memberships](ctx, g.c, get("/v1/memberships", v), opts)
}
