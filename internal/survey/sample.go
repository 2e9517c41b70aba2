package survey

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Sampled is a listed household in the form that estimates need.
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

// Sampled returns the households on the list of a campaign in a round, at most
// limit of them, without those that came later. An erased one stays where it was
// drawn.
func (s *Service) Sampled(ctx context.Context, q db.Querier, o *Open, round, limit int) ([]Sampled, error) {
	var out []Sampled
	err := EachSampled(ctx, q, o, Listed{round, limit}, func(h *Sampled) error {
		out = append(out, *h)
		return nil
	})
	return out, err
}

// Listed says which households of a list to read: those of a round, up to a
// limit.
type Listed struct{ Round, Limit int }

// EachSampled passes the households of Sampled to a function one by one. Texts
// that many of them share, such as the name of a stratum, are stored once.
func EachSampled(ctx context.Context, q db.Querier, o *Open, l Listed, visit func(*Sampled) error) error {
	names := map[string]string{}
	same := func(text string) string {
		if kept, ok := names[text]; ok {
			return kept
		}
		names[text] = text
		return text
	}
	var h Sampled
	var group, source, outcome int
	rows, err := q.Query(ctx, selectSampled, o.NID, l.Round, l.Limit)
	return db.Each(rows, err, "read sample", func(row db.Row) error {
		if err := row.Scan(&h.HouseholdID, &h.Stratum, &group, &h.Cluster, &source, &h.Replaces, &outcome); err != nil {
			return err
		}
		h.Stratum, h.Cluster = same(h.Stratum), same(h.Cluster)
		h.Group, h.Source, h.Outcome = groupName(group), sourceName(source), outcomeName(outcome)
		return visit(&h)
	})
}

// Weighed is a household of a sample in one round, with everything another
// program needs to recompute the figures of the survey.
type Weighed struct {
	Sampled
	Response int64      // nid of the response that says most about it; 0 for none
	Class    string     // how it counts
	Weight   float64    // households it represents; 0 when it did not answer
	FPC      [2]float64 // units there are to draw from at each stage; 0 when that is not known
}

// WeighedRound is the sample of a round.
type WeighedRound struct {
	Round int
	Basis string // how the households came to be in it
	Why   string // why there are no weights; "" when there are
	Words string // which households count, and which do not
	Homes []Weighed
}
