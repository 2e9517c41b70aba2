package survey

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// postgresShards is how many rows a counter is spread over on PostgreSQL, where
// each is locked until its transaction ends.
const postgresShards = 16

const (
	addCounts = `INSERT INTO survey_counts (survey, round, stratum, grp, shard, listed, contacted, refused, unreachable, completed, partial, verified, rejected, flagged)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (survey, round, stratum, grp, shard) DO UPDATE SET
			listed = survey_counts.listed + excluded.listed, contacted = survey_counts.contacted + excluded.contacted,
			refused = survey_counts.refused + excluded.refused, unreachable = survey_counts.unreachable + excluded.unreachable,
			completed = survey_counts.completed + excluded.completed, partial = survey_counts.partial + excluded.partial,
			verified = survey_counts.verified + excluded.verified, rejected = survey_counts.rejected + excluded.rejected,
			flagged = survey_counts.flagged + excluded.flagged`
	// addCompleted is for what is counted most, a response: half the work.
	addCompleted = `UPDATE survey_counts SET completed = completed + $6 WHERE survey = $1 AND round = $2 AND stratum = $3 AND grp = $4 AND shard = $5`
	selectCounts = `SELECT stratum, grp, CAST(sum(listed) AS BIGINT), CAST(sum(contacted) AS BIGINT), CAST(sum(refused) AS BIGINT), CAST(sum(unreachable) AS BIGINT),
			CAST(sum(completed) AS BIGINT), CAST(sum(partial) AS BIGINT), CAST(sum(verified) AS BIGINT), CAST(sum(rejected) AS BIGINT), CAST(sum(flagged) AS BIGINT)
		FROM survey_counts WHERE survey = $1 AND round = $2 GROUP BY stratum, grp ORDER BY stratum, grp`
)

// Delta is what a change adds to the counters of a campaign; what it takes away
// is negative. Stratum and Group are those of the household as it is listed,
// "" when it is not.
type Delta struct {
	Round          int // from 1
	Stratum, Group string

	Completed, Partial              int // responses
	Verified, Rejected, Flagged     int // of them
	Contacted, Refused, Unreachable int // households, by their outcome

	// Household, when it is listed: a response of it makes its outcome
	// completed, in the same call.
	Household *Household

	listed int
}

func (d *Delta) zero() bool { return d.Completed == 0 && d.only() }

// only tells that nothing but complete responses is counted.
func (d *Delta) only() bool {
	return d.Partial == 0 && d.Verified == 0 && d.Rejected == 0 && d.Flagged == 0 &&
		d.Contacted == 0 && d.Refused == 0 && d.Unreachable == 0 && d.listed == 0
}

// add takes in what another counts in the same place.
func (d *Delta) add(o Delta) {
	d.Completed, d.Partial, d.Verified = d.Completed+o.Completed, d.Partial+o.Partial, d.Verified+o.Verified
	d.Rejected, d.Flagged, d.listed = d.Rejected+o.Rejected, d.Flagged+o.Flagged, d.listed+o.listed
	d.Contacted, d.Refused, d.Unreachable = d.Contacted+o.Contacted, d.Refused+o.Refused, d.Unreachable+o.Unreachable
}

func comparePlaces(a, b Delta) int {
	return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Stratum, b.Stratum), cmp.Compare(groupCode(a.Group), groupCode(b.Group)))
}

// Count adds to the counters of a campaign in the transaction of what is
// counted. It is one statement for each place (round, stratum and group), and
// one more for a Household. Call it once in a transaction, and last: on
// PostgreSQL the rows stay locked until its end, and one call takes them in
// one order.
func (s *Service) Count(ctx context.Context, tx *db.Tx, o *Open, deltas ...Delta) error {
	if len(deltas) == 1 { // a response: nothing to gather
		if err := s.complete(ctx, tx, o, &deltas[0]); err != nil {
			return err
		}
		return s.count(ctx, tx, o.NID, s.shard(), &deltas[0])
	}
	all := slices.Clone(deltas)
	slices.SortFunc(all, func(a, b Delta) int { return cmp.Or(compareHomes(a.Household, b.Household), comparePlaces(a, b)) })
	for i := range all {
		if err := s.complete(ctx, tx, o, &all[i]); err != nil {
			return err
		}
	}
	return s.countAll(ctx, tx, o.NID, all)
}

func compareHomes(a, b *Household) int {
	id := func(h *Household) string {
		if h == nil {
			return ""
		}
		return h.HouseholdID
	}
	return cmp.Compare(id(a), id(b))
}

// countAll adds many deltas, each place once and in one order.
func (s *Service) countAll(ctx context.Context, tx *db.Tx, survey int64, all []Delta) error {
	slices.SortStableFunc(all, comparePlaces)
	shard := s.shard()
	for i := 0; i < len(all); {
		sum := all[i]
		for i++; i < len(all) && comparePlaces(sum, all[i]) == 0; i++ {
			sum.add(all[i])
		}
		if err := s.count(ctx, tx, survey, shard, &sum); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) shard() int {
	if s.shards == 1 {
		return 0
	}
	return rand.IntN(s.shards)
}

func (s *Service) count(ctx context.Context, tx *db.Tx, survey int64, shard int, d *Delta) error {
	if d.zero() {
		return nil
	}
	if d.Completed != 0 && d.only() {
		n, err := tx.Exec(ctx, addCompleted, survey, d.Round, d.Stratum, groupCode(d.Group), shard, d.Completed)
		if err != nil {
			return fmt.Errorf("count: %w", err)
		}
		if n > 0 {
			return nil
		}
	}
	_, err := tx.Exec(ctx, addCounts, survey, d.Round, d.Stratum, groupCode(d.Group), shard, d.listed, d.Contacted, d.Refused, d.Unreachable,
		d.Completed, d.Partial, d.Verified, d.Rejected, d.Flagged)
	if err != nil {
		return fmt.Errorf("count: %w", err)
	}
	return nil
}

// cell is the sums of one stratum and group.
type cell struct {
	stratum, group string
	listed, contacted, refused, unreachable,
	completed, partial, verified, rejected, flagged int64
}

// cells reads the counters of a round; round 0 has listed.
func cells(ctx context.Context, q db.Querier, survey int64, round int) ([]cell, error) {
	rows, err := q.Query(ctx, selectCounts, survey, round)
	if err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	defer rows.Close()
	var out []cell
	for rows.Next() {
		var c cell
		var group int
		if err := rows.Scan(&c.stratum, &group, &c.listed, &c.contacted, &c.refused, &c.unreachable, &c.completed, &c.partial, &c.verified,
			&c.rejected, &c.flagged); err != nil {
			return nil, fmt.Errorf("read counters: %w", err)
		}
		c.group = groupName(group)
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	return out, nil
}
