package response

import (
	"context"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const selectStarting = `SELECT r.response_id, s.survey_id, s.project, r.vstatus FROM responses r JOIN surveys s ON s.nid = r.survey
	WHERE r.ws = $1 AND r.id_key >= $2 AND r.id_key < $3 ORDER BY r.id_key LIMIT $4`

// maxStarting is how many responses are looked at for a caller who sees some
// projects only.
const maxStarting = 200

// Starting finds responses whose id begins with a text, ignoring case; no more
// than limit.
func (s *Service) Starting(ctx context.Context, text string, limit int) ([]api.SearchHit, error) {
	c := web.CallerFrom(ctx)
	if !c.May("responses:read") {
		return nil, nil
	}
	look := limit
	if len(c.Projects) > 0 {
		look = maxStarting
	}
	from, to := db.Prefix(text)
	rows, err := s.db.Query(ctx, selectStarting, c.Workspace, from, to, look)
	var out []api.SearchHit
	err = db.Each(rows, err, "search responses", func(row db.Row) error {
		h, project := api.SearchHit{Kind: "response", Match: "id"}, ""
		err := row.Scan(&h.ID, &h.Survey, &project, &h.Status)
		h.Link = "/v1/responses/" + url.PathEscape(h.ID)
		if len(out) < limit && c.Sees(project) {
			out = append(out, h)
		}
		return err
	})
	return out, err
}
