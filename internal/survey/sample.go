package survey

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Sampled is a household of a list as estimates need it.
type Sampled struct {
	HouseholdID string
	Stratum     string
	Group       string
	Cluster     string
	Source      string
	Replaces    string
	Outcome     string // in the round, as far as it is the one that was noted last
}

const selectSampled = `SELECT household, stratum, grp, cluster, source, replaces, outcome, outcome_round FROM survey_households WHERE survey = $1 ORDER BY household LIMIT $2`

// Sampled are the households of the list of a campaign, at most limit of them.
// An erased one stays where it was drawn.
func (s *Service) Sampled(ctx context.Context, q db.Querier, o *Open, round, limit int) ([]Sampled, error) {
	rows, err := q.Query(ctx, selectSampled, o.NID, limit)
	return db.Collect(rows, err, "read sample", func(h *Sampled, row db.Row) error {
		var group, source, outcome, in int
		if err := row.Scan(&h.HouseholdID, &h.Stratum, &group, &h.Cluster, &source, &h.Replaces, &outcome, &in); err != nil {
			return err
		}
		h.Group, h.Source = groupName(group), sourceName(source)
		if in == round {
			h.Outcome = outcomeName(outcome)
		}
		return nil
	})
}
