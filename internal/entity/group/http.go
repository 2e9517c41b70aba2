package group

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds groups and their members to a.
func (s *Service) Routes(a *web.API) {
	const tag = "groups"
	web.Post(a, "/v1/entities/{did}/groups", s.serveCreate, web.Doc{
		Summary: "Make a membership group", Status: http.StatusCreated, Scope: "groups:write", Tag: tag, Once: true,
		Description: "The path names an organisation, or a group that will contain the new one. The group is a twin; the controllers of what contains it control it. " +
			"Its members have its scopes, which you must have yourself. Its name must differ from that of every other group there that is in use.",
		Example: Draft{Name: "collectors", Scopes: []string{"entities:read"}},
		Codes:   []string{"GROUP_INVALID", "ENTITY_NOT_FOUND", "NOT_AN_ORGANISATION", "NOT_CONTROLLER", "SCOPE_MISSING", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/entities/{did}/groups", s.serveList, web.Doc{
		Summary: "List the membership groups of an organisation", Scope: "groups:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND", "NOT_AN_ORGANISATION"},
		Description: "The list includes deactivated groups, which no longer give anything: see status.",
	})
	web.Get(a, "/v1/entities/{did}/members", s.serveMembers, web.Doc{
		Summary: "List the members of a group", Scope: "groups:read", Tag: tag, Codes: []string{"ENTITY_NOT_FOUND", "NOT_A_GROUP"},
	})
	web.Put(a, "/v1/entities/{did}/members/{member}", s.serveAdd, web.Doc{
		Summary: "Add a member to a group", Scope: "groups:write", Tag: tag,
		Description: "A member is any DID: of a person, a device, a service. It has the scopes of the group from its next request on, with a key of the role member. " +
			"You must control the group and have all its scopes. Adding a member again changes nothing but the keys. " +
			"A membership is given to keys: the answer lists the did:keys of the member that have what the group gives. " +
			"A key that was added by somebody who had, or now has, fewer scopes than the member will have is refused with 409 until you repeat the request with keys, which you get from the member. " +
			"No other key speaks for the member then, in any group; so this takes every scope the member has. " +
			"A key that is added to the DID later has at most the scopes of the key that signed for it, or of whoever added it.",
		Example: Confirmation{}, Codes: []string{"ENTITY_NOT_FOUND", "NOT_A_GROUP", "NOT_CONTROLLER", "SCOPE_MISSING", "KEY_RESTRICTED", "GROUP_CLOSED", "GROUP_FULL", "TOO_MANY_GROUPS", "KEYS_UNCONFIRMED", "MEMBER_KEYS_INVALID", "PRINCIPAL_PROTECTED"},
	})
	web.Delete(a, "/v1/entities/{did}/members/{member}", s.serveRemove, web.Doc{
		Summary: "Remove a member from a group", Scope: "groups:write", Tag: tag,
		Description: "It loses the scopes of the group with its next request. Keys it has made with these scopes end with them; its did:keys and the members it has added stay. Removing a DID that is not a member changes nothing.",
		Codes:       []string{"ENTITY_NOT_FOUND", "NOT_A_GROUP", "NOT_CONTROLLER"},
	})
	web.Get(a, "/v1/memberships", s.serveOf, web.Doc{
		Summary: "List the groups of a member and the scopes they give", Scope: web.Signed, Tag: tag,
		Description: "Your own with any key, so that you can learn what you may do; those of others with the scope groups:read. A member is in at most 100 groups.",
		Codes:       []string{"SCOPE_MISSING"},
	})
}

type one struct {
	DID string `path:"did" doc:"DID of the organisation or group."`
}

type pair struct {
	DID    string `path:"did" doc:"DID of the group."`
	Member string `path:"member" doc:"DID of the member."`
}

func (s *Service) serveCreate(ctx context.Context, in *struct {
	one
	Body Draft
},
) (web.Reply[Group], error) {
	return s.Create(ctx, in.DID, in.Body)
}

func (s *Service) serveAdd(ctx context.Context, in *struct {
	pair
	Body *Confirmation
},
) (*Member, error) {
	var keys []string
	if in.Body != nil {
		keys = in.Body.Keys
	}
	return s.Add(ctx, in.DID, in.Member, keys)
}

func (s *Service) serveRemove(ctx context.Context, in *pair) (*Member, error) {
	return s.Remove(ctx, in.DID, in.Member)
}

type listIn struct {
	one
	web.Paging
}

func (s *Service) serveList(ctx context.Context, in *listIn) (web.Reply[web.Page[Group]], error) {
	return page(ctx, s, in, s.List, func(g Group) string { return g.DID })
}

func (s *Service) serveMembers(ctx context.Context, in *listIn) (web.Reply[web.Page[Member]], error) {
	return page(ctx, s, in, s.Members, func(m Member) string { return m.Member })
}

// lister returns the part of a list after an item.
type lister[T any] func(ctx context.Context, in, after string, limit int) ([]T, bool, error)

// page answers a request for a part of a list.
func page[T any](ctx context.Context, s *Service, in *listIn, list lister[T], name func(T) string) (web.Reply[web.Page[T]], error) {
	var after string
	return web.List(ctx, s.cfg.Cursors, in.Paging, &after, func(limit int) ([]T, string, error) {
		items, more, err := list(ctx, in.DID, after, limit)
		if !more {
			return items, "", err
		}
		return items, name(items[len(items)-1]), err
	})
}

func (s *Service) serveOf(ctx context.Context, in *struct {
	Member string `query:"member" doc:"DID of the member; you yourself by default."`
},
) (Memberships, error) {
	return s.Of(ctx, in.Member)
}
