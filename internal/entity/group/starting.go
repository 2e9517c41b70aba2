package group

import (
	"context"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Known finds the group member whose DID is a text, for callers who may read the
// groups of others.
func (s *Service) Known(ctx context.Context, text string, _ int) ([]api.SearchHit, error) {
	c := web.CallerFrom(ctx)
	if !did.Valid(text) || !c.May("groups:read") || len(c.Projects) > 0 {
		return nil, nil
	}
	all, err := listMemberships(ctx, s.cfg.DB, c.Workspace, text)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return []api.SearchHit{{Kind: "member", ID: text, Match: "id", Link: "/v1/memberships?member=" + url.QueryEscape(text)}}, nil
}
