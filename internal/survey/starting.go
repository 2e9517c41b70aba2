package survey

import (
	"context"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	selectByID = `SELECT nid, ws, survey_id, project, status, revision, body FROM surveys
		WHERE ws = $1 AND id_key >= $2 AND id_key < $3 ORDER BY id_key LIMIT $4`
	selectByName = `SELECT nid, ws, survey_id, project, status, revision, body FROM surveys
		WHERE ws = $1 AND name_key >= $2 AND name_key < $3 ORDER BY name_key LIMIT $4`
)

// maxStarting is how many campaigns are looked at for a caller who sees some
// projects only.
const maxStarting = 200

// Starting finds campaigns whose id or name begins with a text, ignoring case;
// no more than limit.
func (s *Service) Starting(ctx context.Context, text string, limit int) ([]api.SearchHit, error) {
	c := web.CallerFrom(ctx)
	if !c.May("surveys:read") {
		return nil, nil
	}
	look := limit
	if len(c.Projects) > 0 {
		look = maxStarting
	}
	from, to := db.Prefix(text)
	byID, err := list(s.db.Query(ctx, selectByID, c.Workspace, from, to, look))
	if err != nil {
		return nil, err
	}
	byName, err := list(s.db.Query(ctx, selectByName, c.Workspace, from, to, look))
	if err != nil {
		return nil, err
	}
	var out []api.SearchHit
	seen := map[int64]bool{}
	for i, r := range append(byID, byName...) {
		if len(out) == limit || seen[r.NID] || !c.Sees(r.Project) {
			continue
		}
		seen[r.NID] = true
		v, err := r.Survey()
		if err != nil {
			return nil, err
		}
		match := "id"
		if i >= len(byID) {
			match = "name"
		}
		out = append(out, api.SearchHit{
			Kind: "survey", ID: r.SurveyID, Name: v.Name, Status: string(r.Status), Match: match, Link: "/v1/surveys/" + url.PathEscape(r.SurveyID),
		})
	}
	return out, nil
}
