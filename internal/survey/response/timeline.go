package response

import (
	"context"
	"net/url"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const selectTimeline = `SELECT r.submitted_at, r.nid, r.response_id, r.status, r.vstatus, r.round, r.collector, r.sender, s.survey_id, s.project
	FROM responses r JOIN surveys s ON s.nid = r.survey
	WHERE r.ws = $1 AND r.household = $2 AND NOT EXISTS (SELECT 1 FROM survey_erased x WHERE x.ws = $1 AND x.household = $2) AND (r.submitted_at, r.nid) < ($3, $4) ORDER BY r.submitted_at DESC, r.nid DESC LIMIT $5`

// Timeline returns the interviews with a household, unless it has been erased. Those
// whose household the caller may not know are hidden, as are those of projects outside
// the caller's key.
func (s *Service) Timeline(ctx context.Context, l web.Look) ([]web.Happening, error) {
	c := web.CallerFrom(ctx)
	rows, err := s.db.Query(ctx, selectTimeline, c.Workspace, l.DID, l.Below.At, l.Below.Key, l.Limit)
	return db.Collect(rows, err, "list interviews of a time line", func(h *web.Happening, row db.Row) error {
		var r Row
		project := ""
		err := row.Scan(&h.Mark.At, &h.Mark.Key, &h.ID, &h.Status, &h.Verdict, &h.Round, &r.Collector, &r.Sender, &h.Survey, &project)
		h.Kind, h.Actor, h.Link = "interview", r.Collector, "/v1/responses/"+url.PathEscape(h.ID)
		h.Hidden = !r.Knows(ctx) || !c.Sees(project)
		return err
	})
}
