package device

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

// maxTies limits how many relationships of a role say where a device was. A
// device that was moved more often is where the first of them say.
const maxTies = 500

// always are the bounds, in ms, of a time without bounds.
const (
	always = math.MinInt64
	ever   = math.MaxInt64
)

// placement is a time in which a device was in one household, on one stove; ""
// is none. from is included, to is not.
type placement struct {
	household, stove string
	from, to         int64
}

// within cuts the time of a placement to a range; false when nothing is left.
func (p placement) within(from, to int64) (placement, bool) {
	p.from, p.to = max(p.from, from), min(p.to, to)
	return p, p.from < p.to
}

// tie is a relationship of a device to a household or a stove, current or not.
type tie struct {
	nid          int64
	role, target string
	since, until sql.NullInt64
	added        int64
	removed      sql.NullInt64
}

const (
	selectTies = `SELECT nid, role, dst_did, since, until, added_at, removed_at FROM relationships
		WHERE src = $1 AND role = $2 AND removed_at IS NULL ORDER BY dst_did LIMIT $3`
	selectPastTies = `SELECT nid, role, dst_did, since, until, added_at, removed_at FROM relationships
		WHERE src = $1 AND removed_at IS NOT NULL AND role = $2 LIMIT $3`
)

// ties lists the relationships of a role that a device has and had.
func ties(ctx context.Context, q db.Querier, device int64, role string) ([]tie, error) {
	now, err := scanTies(q.Query(ctx, selectTies, device, role, maxTies))
	if err != nil {
		return nil, err
	}
	past, err := scanTies(q.Query(ctx, selectPastTies, device, role, maxTies))
	return append(now, past...), err
}

func scanTies(rows db.Rows, err error) ([]tie, error) {
	return db.Collect(rows, err, "list ties", func(t *tie, row db.Row) error {
		return row.Scan(&t.nid, &t.role, &t.target, &t.since, &t.until, &t.added, &t.removed)
	})
}

// stay is the time a device belongs to a target.
type stay struct {
	nid      int64
	target   string
	from, to int64
}

// stays turns the ties of one role into times. A tie holds from its since on,
// and until its until or its removal, whichever is first. A tie without a since
// holds from when it was added; the first of all holds for the time before,
// too: what a logger has recorded belongs to the household it is registered
// for.
func stays(ties []tie) []stay {
	var out []stay
	first := int64(ever)
	for _, t := range ties {
		first = min(first, t.nid)
	}
	for _, t := range ties {
		s := stay{nid: t.nid, target: t.target, from: t.added, to: ever}
		switch {
		case t.since.Valid:
			s.from = t.since.Int64
		case t.nid == first:
			s.from = always
		}
		if t.until.Valid {
			s.to = t.until.Int64
		}
		if t.removed.Valid {
			s.to = min(s.to, t.removed.Int64)
		}
		if s.from < s.to {
			out = append(out, s)
		}
	}
	return out
}

// targetAt is the target of stays at a moment: of several, the one that began
// last.
func targetAt(all []stay, at int64) string {
	var best *stay
	for i := range all {
		s := &all[i]
		if at < s.from || at >= s.to {
			continue
		}
		if best == nil || s.from > best.from || s.from == best.from && s.nid > best.nid {
			best = s
		}
	}
	if best == nil {
		return ""
	}
	return best.target
}

// placements combines where a device was, oldest first. They follow each other
// without a gap; neighbours differ.
func placements(households, stoves []stay) []placement {
	cuts := []int64{always}
	for _, s := range slices.Concat(households, stoves) {
		cuts = append(cuts, s.from, s.to)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(append(cuts, ever))
	var out []placement
	for i, from := range cuts[:len(cuts)-1] {
		p := placement{household: targetAt(households, from), stove: targetAt(stoves, from), from: from, to: cuts[i+1]}
		if n := len(out); n > 0 && out[n-1].household == p.household && out[n-1].stove == p.stove {
			out[n-1].to = p.to
			continue
		}
		out = append(out, p)
	}
	return out
}

// placementsOf reads where a device was at which time.
func placementsOf(ctx context.Context, q db.Querier, device int64) ([]placement, error) {
	homes, err := ties(ctx, q, device, householdRole)
	if err != nil {
		return nil, err
	}
	stoves, err := ties(ctx, q, device, stoveRole)
	if err != nil {
		return nil, err
	}
	return placements(stays(homes), stays(stoves)), nil
}

// target is the current target of a role: of several relationships the one that
// began last. One without a since began when it was added.
func target(e *entity.Entity, role string, now time.Time) string {
	var best *entity.Relationship
	for i := range e.Relationships {
		r := &e.Relationships[i]
		if r.Role != role || r.Source == "derived" || !relationship.Holds(r.Since, r.Until, now) {
			continue
		}
		if best == nil || r.Since.IsZero() || r.Since.After(best.Since) {
			best = r
		}
	}
	if best == nil {
		return ""
	}
	return best.Target
}
