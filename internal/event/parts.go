package event

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	// The newest event of each workspace stays, because readers must learn where the
	// log ends.
	newestBefore = `SELECT e.* FROM event_counters AS c CROSS JOIN LATERAL
		(SELECT * FROM events WHERE ws = c.ws AND seq IS NOT NULL ORDER BY seq DESC LIMIT 1) AS e WHERE e.id < $1`
	// An event may have a number above those that were stored later. Numbers must have no
	// gap, so those below the last one that goes go as well.
	deleteBelowPostgres = `DELETE FROM events USING (SELECT c.ws, (SELECT max(seq) FROM events WHERE ws = c.ws AND seq IS NOT NULL AND id < $1) AS last
			FROM (SELECT ws FROM event_counters WHERE ws > $2 ORDER BY ws LIMIT $3) AS c) AS gone
		WHERE events.ws = gone.ws AND events.seq < gone.last AND events.id >= $1`
	selectPageEnd = `SELECT coalesce(max(ws), '') FROM (SELECT ws FROM event_counters WHERE ws > $1 ORDER BY ws LIMIT $2) AS page`
	counterPage   = 500
	// The ids show quarters only if they were advanced in time.
	selectYoungestPostgres = `SELECT coalesce(max(at), 0) FROM (SELECT at FROM events WHERE id < $1 ORDER BY id DESC LIMIT 1000) AS last`
)

// Parts describes the partition of events on PostgreSQL: by quarters of the time at which
// they were stored.
func Parts(d *db.DB) db.Parts {
	return db.Parts{
		DB: d, Table: "events", By: "id", Key: "id", NIDs: true, Months: 3, Sequence: "events_id_seq", Keep: newestBefore,
		Indexes: map[string]string{
			"events_seq": "(ws, seq) WHERE seq IS NOT NULL", "events_fresh": "(ws, id) WHERE seq IS NULL",
			"events_subject": "(subject_key, seq) WHERE seq IS NOT NULL", "events_actor": "(actor_key, seq) WHERE seq IS NOT NULL",
		},
	}
}

// dropParts drops the quarters that ended before a moment, and reports whether there were
// any. It also returns the moment before which events are removed one by one: those from
// before quarters were kept.
func dropParts(ctx context.Context, d *db.DB, before time.Time) (gone bool, single time.Time, err error) {
	p, young := Parts(d), before.UnixMilli()
	end, past, err := p.Until(ctx, db.NIDAt(before))
	if err != nil {
		return false, before, fmt.Errorf("find parts of events: %w", err)
	}
	if past != 0 && past < db.NIDAt(before) {
		before = db.NIDTime(past)
	}
	if end == 0 {
		return false, before, nil
	}
	gone, err = p.Drop(ctx, end, func(q db.Querier) (bool, error) {
		var youngest int64
		if err := q.QueryRow(ctx, selectYoungestPostgres, end).Scan(&youngest); err != nil || youngest >= young {
			return true, err
		}
		return false, closeGaps(ctx, q, end)
	})
	if err != nil {
		err = fmt.Errorf("drop parts of events: %w", err)
	}
	return gone, before, err
}

// closeGaps removes the rows behind a gap once the events before an id are
// gone.
func closeGaps(ctx context.Context, q db.Querier, end int64) error {
	for ws := ""; ; {
		if _, err := q.Exec(ctx, deleteBelowPostgres, end, ws, counterPage); err != nil {
			return err
		}
		if err := q.QueryRow(ctx, selectPageEnd, ws, counterPage).Scan(&ws); err != nil || ws == "" {
			return err
		}
	}
}
