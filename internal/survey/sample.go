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
	Outcome     string // in the round
}

const selectSampled = `SELECT h.household, h.stratum, h.grp, h.cluster, h.source, h.replaces, CASE WHEN h.outcome_round = $2 THEN h.outcome ELSE coalesce(o.outcome, 0) END
	FROM survey_households h LEFT JOIN survey_outcomes o ON o.survey = h.survey AND o.round = $2 AND o.household = h.household
	WHERE h.survey = $1 AND h.since <= $2 ORDER BY h.household LIMIT $3`

// Sampled are the households of the list of a campaign in a round, at most limit
// of them: those that came later are not among them. An erased one stays where it
// was drawn.
func (s *Service) Sampled(ctx context.Context, q db.Querier, o *Open, round, limit int) ([]Sampled, error) {
	rows, err := q.Query(ctx, selectSampled, o.NID, round, limit)
	return db.Collect(rows, err, "read sample", func(h *Sampled, row db.Row) error {
		var group, source, outcome int
		if err := row.Scan(&h.HouseholdID, &h.Stratum, &group, &h.Cluster, &source, &h.Replaces, &outcome); err != nil {
			return err
		}
		h.Group, h.Source, h.Outcome = groupName(group), sourceName(source), outcomeName(outcome)
		return nil
	})
}
