package response

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// Standing is what a response says about its household to estimates.
type Standing struct {
	Unit
	NID       int64
	Round     int
	Household string
	Stratum   string
	Group     string
}

const selectStandings = `SELECT nid, round, household, stratum, grp, status, vstatus, unfit, typed FROM responses WHERE survey = $1 ORDER BY nid LIMIT $2`

// Standings are the responses of all rounds in the order they came, at most
// limit.
func (s *Service) Standings(ctx context.Context, q db.Querier, o *survey.Open, limit int) ([]Standing, error) {
	rows, err := q.Query(ctx, selectStandings, o.NID, limit)
	return db.Collect(rows, err, "read standings", func(r *Standing, row db.Row) error {
		var unfit int64
		if err := row.Scan(&r.NID, &r.Round, &r.Household, &r.Stratum, &r.Group, &r.Status, &r.VStatus, &unfit, &r.Typed); err != nil {
			return err
		}
		r.Responded, r.Unfit = true, unfit != 0
		return nil
	})
}
