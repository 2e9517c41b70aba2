package survey

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// History lists the revisions of a campaign before one, newest first; 0
// begins. next is 0 at the end. The fault is SURVEY_NOT_FOUND.
func (s *Service) History(ctx context.Context, id string, before int64, limit int) (items []Revision, next int64, err error) {
	err = s.db.View(ctx, func(q db.Querier) error {
		items = nil
		r, _, err := read(ctx, q, id)
		if err != nil {
			return err
		}
		if before == 0 {
			one, err := findNewest(ctx, q, r.NID)
			if err != nil {
				return err
			}
			items, before = append(items, one), r.Revision
		}
		more, err := listPast(ctx, q, r.NID, before, limit+1-len(items))
		items = append(items, more...)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range items {
		items[i].Link = fmt.Sprintf("/v1/surveys/%s/history/%d", id, items[i].Revision)
	}
	if len(items) > limit {
		items = items[:limit]
		next = items[limit-1].Revision
	}
	return items, next, nil
}

// At reads a campaign as it was at a revision. Faults: SURVEY_NOT_FOUND,
// REVISION_NOT_FOUND.
func (s *Service) At(ctx context.Context, id string, revision int64) (web.Reply[*Survey], error) {
	var body string
	err := s.db.View(ctx, func(q db.Querier) error {
		r, _, err := read(ctx, q, id)
		if err != nil {
			return err
		}
		if body = string(r.Body); revision == r.Revision {
			return nil
		}
		body, err = findPast(ctx, q, r.NID, revision)
		return err
	})
	if err != nil {
		return web.Reply[*Survey]{}, err
	}
	v, err := (&Row{Body: []byte(body)}).Survey()
	if err != nil {
		return web.Reply[*Survey]{}, err
	}
	if v, changed := s.veiled(ctx, v); changed {
		return web.Reply[*Survey]{Value: v}, nil
	}
	return web.Reply[*Survey]{Raw: []byte(body)}, nil
}
