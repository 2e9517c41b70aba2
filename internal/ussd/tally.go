package ussd

import (
	"context"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	visitsKept = 90 * 24 * time.Hour // that counts of a day are kept
	dayForm    = time.DateOnly
)

// spot is a place in a menu that is counted.
type spot struct {
	pack, node string
	sample     bool // calls of the demo programme, whose counts go with it
}

// counts of one spot.
type counts struct{ visits, refused, dropped int64 }

func (c *counts) add(o counts) {
	c.visits, c.refused, c.dropped = c.visits+o.visits, c.refused+o.refused, c.dropped+o.dropped
}

// tally counts in memory what happens at the nodes of menus, so that a step
// writes nothing more. What was counted since the last flush is lost by a crash.
type tally struct {
	mu sync.Mutex
	at map[spot]*counts
}

func (t *tally) count(s spot, c counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[spot]*counts{}
	}
	known := t.at[s]
	if known == nil {
		known = &counts{}
		t.at[s] = known
	}
	known.add(c)
}

// step counts a screen that was shown.
func (t *tally) step(out *outcome, sample bool) {
	at := spot{out.pack, out.node, sample}
	switch out.result {
	case ResultShown, ResultEnded:
		t.count(at, counts{visits: 1})
	case ResultRefused:
		t.count(at, counts{refused: 1})
	}
}

// take returns the counts and resets them.
func (t *tally) take() map[spot]*counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.at
	t.at = nil
	return all
}

// waiting adds the counts of a pack that are not stored yet.
func (t *tally) waiting(pack string, into map[string]counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s, c := range t.at {
		if s.pack == pack {
			sum := into[s.node]
			sum.add(*c)
			into[s.node] = sum
		}
	}
}

const (
	addVisits = `INSERT INTO ussd_visits (day, pack, node, sample, visits, refused, dropped) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (day, pack, node, sample) DO UPDATE SET visits = ussd_visits.visits + excluded.visits,
		refused = ussd_visits.refused + excluded.refused, dropped = ussd_visits.dropped + excluded.dropped`
	sumVisits    = `SELECT node, visits, refused, dropped FROM ussd_visits WHERE day >= $1 AND pack = $2`
	expireVisits = `DELETE FROM ussd_visits WHERE day < $1`
	dropSamples  = `DELETE FROM ussd_visits WHERE day > '' AND sample = 1`
)

// flush stores the counts, and keeps them for the next time when that fails.
func (t *tally) flush(ctx context.Context, d *db.DB, now time.Time) error {
	all := t.take()
	if len(all) == 0 {
		return nil
	}
	day := now.UTC().Format(dayForm)
	err := d.InTx(ctx, func(tx *db.Tx) error {
		for s, c := range all {
			sample := 0
			if s.sample {
				sample = 1
			}
			if _, err := tx.Exec(ctx, addVisits, day, s.pack, s.node, sample, c.visits, c.refused, c.dropped); err != nil {
				return db.Wrap("store counts of nodes", err)
			}
		}
		return nil
	})
	if err != nil && !db.OutcomeUnknown(err) {
		for s, c := range all {
			t.count(s, *c)
		}
	}
	return err
}

// visitsOf sums the visits of a pack since a day, by node.
func visitsOf(ctx context.Context, q db.Querier, pack string, since time.Time) (map[string]counts, error) {
	rows, err := q.Query(ctx, sumVisits, since.UTC().Format(dayForm), pack)
	type line struct {
		node string
		counts
	}
	list, err := db.Collect(rows, err, "sum counts of nodes", func(l *line, row db.Row) error {
		return row.Scan(&l.node, &l.visits, &l.refused, &l.dropped)
	})
	out := map[string]counts{}
	for _, l := range list {
		sum := out[l.node]
		sum.add(l.counts)
		out[l.node] = sum
	}
	return out, err
}

func dropVisits(ctx context.Context, q db.Querier, before time.Time) error {
	_, err := q.Exec(ctx, expireVisits, before.UTC().Format(dayForm))
	return db.Wrap("expire counts of nodes", err)
}

// ForgetSamples removes the counts of calls of the demo programme. Call Flush
// first.
func ForgetSamples(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, dropSamples)
	return db.Wrap("remove counts of the demo", err)
}
