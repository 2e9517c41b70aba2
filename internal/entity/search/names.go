package search

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Names returns the names of the twins among some DIDs, as far as the caller of
// ctx sees them: none without entities:read.
func (s *Service) Names(ctx context.Context, ids []string) ([]api.Name, error) {
	if !web.CallerFrom(ctx).May("entities:read") {
		return nil, nil
	}
	var out []api.Name
	err := s.eachBrief(ctx, s.cfg.DB, ids, func(r *entity.Row, withheld bool) error {
		out = append(out, api.Name{DID: r.DID, Kind: "twin", Type: r.Type, Name: r.Name, Withheld: withheld})
		return nil
	})
	return out, err
}

// eachBrief passes summaries of those twins among ids that the caller of ctx sees
// to visit, without the names it may not read; withheld marks those.
func (s *Service) eachBrief(ctx context.Context, q db.Querier, ids []string, visit func(r *entity.Row, withheld bool) error) error {
	c, sight := web.CallerFrom(ctx), s.mask.See(ctx)
	for some := range slices.Chunk(ids, db.Chunk) {
		rows, err := briefs(ctx, q, c.Workspace, some)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if !visible(r.Project, c.Projects) {
				continue
			}
			name := r.Name
			if r.Name, err = sight.Name(ctx, q, r.Protocol, name); err != nil {
				return err
			}
			if err := visit(r, r.Name != name); err != nil {
				return err
			}
		}
	}
	return nil
}
