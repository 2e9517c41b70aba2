package claim

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	maxAbove = 50  // twins that a subject is part of
	maxBelow = 100 // parts of a subject that are looked at
)

// What is part of what follows from the types of twins, not from the name of the
// relationship or which end made it: a device is part of the asset, the household and the
// project it is related to, a household of its project. Between two twins of one type the
// word decides.
//
// The statements read the other end of relationships of a twin: $2 and $3 are a period,
// $4 is how many, $5 the rank of the twin. The index leaves out what the twin produces,
// which grows with every claim.
const (
	rank = `CASE e.domain_type WHEN 'project' THEN 4 WHEN 'household' THEN 3 WHEN 'asset' THEN 2 WHEN 'device' THEN 1 ELSE 0 END`
	upBy = `('stove', 'device', 'asset', 'household', 'project', 'generatedBy', 'partOf', 'installedIn', 'installedAt', 'locatedIn', 'attachedTo', 'monitors')`
	inBy = `('hasPart', 'contains', 'generates')`

	lasts  = ` AND r.removed_at IS NULL AND (r.until IS NULL OR r.until > $2) AND (r.since IS NULL OR r.since < $3)`
	lasted = ` AND r.removed_at IS NOT NULL AND r.removed_at > $2 AND (r.until IS NULL OR r.until > $2) AND (r.since IS NULL OR r.since < $3)`

	outs = `SELECT e.nid, e.domain_type, r.since, r.until, r.removed_at FROM relationships r JOIN entities e ON e.nid = r.dst WHERE r.src = $1`
	ins  = `SELECT e.nid, e.domain_type, r.since, r.until, r.removed_at FROM relationships r JOIN entities e ON e.nid = r.src WHERE r.dst = $1`

	higherOut = ` AND (r.role IN ` + upBy + ` AND ` + rank + ` >= $5 OR ` + rank + ` > $5)`
	higherIn  = ` AND (r.role IN ` + inBy + ` AND ` + rank + ` >= $5 OR ` + rank + ` > $5)`
	lowerOut  = ` AND ` + rank + ` > 0 AND (r.role IN ` + inBy + ` AND ` + rank + ` <= $5 OR ` + rank + ` < $5)`
	lowerIn   = ` AND ` + rank + ` > 0 AND (r.role IN ` + upBy + ` AND ` + rank + ` <= $5 OR ` + rank + ` < $5)`

	selectUp       = outs + ` AND r.role < 'produces'` + lasts + higherOut + ` UNION ALL ` + outs + ` AND r.role > 'produces'` + lasts + higherOut + ` LIMIT $4`
	selectUpThen   = outs + lasted + higherOut + ` LIMIT $4`
	selectUpIn     = ins + lasts + higherIn + ` LIMIT $4`
	selectUpInThen = ins + lasted + higherIn + ` LIMIT $4`

	// Only the word makes a project part of another.
	selectUpNamed = outs + ` AND r.role IN ` + upBy + lasts + ` LIMIT $4`

	selectDown        = ins + lasts + lowerIn + ` LIMIT $4`
	selectDownThen    = ins + lasted + lowerIn + ` LIMIT $4`
	selectDownOut     = outs + ` AND r.role < 'produces'` + lasts + lowerOut + ` UNION ALL ` + outs + ` AND r.role > 'produces'` + lasts + lowerOut + ` LIMIT $4`
	selectDownOutThen = outs + lasted + lowerOut + ` LIMIT $4`
	selectDomain      = `SELECT domain_type FROM entities WHERE nid = $1`
	keepNodePostgres  = `SELECT nid FROM entities WHERE nid = $1 FOR KEY SHARE`
)

// period is a time span in ms, its end excluded.
type period struct{ starts, ends int64 }

// within is the overlap of two periods; it may be empty.
func (p period) within(o period) period {
	return period{max(p.starts, o.starts), min(p.ends, o.ends)}
}

// node is a twin, and the part of a period in which it matters.
type node struct {
	nid    int64
	domain string // "" for one that is not known yet
	period
}

// upWords and downWords are upBy and inBy.
var (
	upWords   = []string{"stove", "device", "asset", "household", "project", "generatedBy", "partOf", "installedIn", "installedAt", "locatedIn", "attachedTo", "monitors"}
	downWords = []string{"hasPart", "contains", "generates"}
)

// ranks orders the types of twins that can contain each other: a higher rank can have
// lower ones as parts. Other types have no claims.
var ranks = map[string]int{"device": 1, "asset": 2, "household": 3, "project": 4}

// above lists what twins are part of, or were in their periods, nearest first, and each
// with the days in which it was. A relationship without a start counts from the beginning
// of time, so that stating it late brings no advantage. With keep nobody makes any of
// them part of something else until tx ends.
func above(ctx context.Context, tx *db.Tx, keep bool, from ...node) ([]node, error) {
	w := walk{all: slices.Clone(from)}
	for n := w.next(); n != nil; n = w.next() {
		if keep && tx.Dialect() == db.Postgres {
			if _, err := tx.Exec(ctx, keepNodePostgres, n.nid); err != nil {
				return nil, db.Wrap("keep what a twin is part of", err)
			}
		}
		found, err := n.up(ctx, tx)
		if err != nil {
			return nil, err
		}
		w.add(found)
		if len(w.all)-len(from) > maxAbove {
			return nil, fault.New(fault.Conflict, "CLAIM_COVERS_TOO_MUCH", fmt.Sprintf("The subject of the claim is part of more than %d twins, more than can be checked for overlapping claims.", maxAbove))
		}
	}
	return w.all[len(from):], nil
}

// beside lists what a twin and its parts are part of: a part of two twins, at once or one
// after the other, is not counted in both. The parts of a project are too many to look
// at: they find it from below. Nothing below is locked: two transactions that did so from
// both ends would deadlock.
func beside(ctx context.Context, tx *db.Tx, self node) ([]node, error) {
	if err := self.learn(ctx, tx); err != nil {
		return nil, err
	}
	if _, err := above(ctx, tx, true, self); err != nil {
		return nil, err
	}
	w := walk{all: []node{self}}
	if self.domain != "project" {
		for n := w.next(); n != nil && len(w.all) < maxBelow; n = w.next() {
			found, err := n.down(ctx, tx)
			if err != nil {
				return nil, err
			}
			w.add(found)
		}
	}
	return above(ctx, tx, false, w.all...)
}

// walk is a set of twins of which some were looked at.
type walk struct {
	all  []node
	seen int
}

// next is the next twin that was not looked at; nil when all were.
func (w *walk) next() *node {
	if w.seen == len(w.all) {
		return nil
	}
	w.seen++
	n := w.all[w.seen-1]
	return &n
}

// add adds twins. A twin that was in the set for fewer days is looked at again.
func (w *walk) add(found []node) {
	for _, n := range found {
		i := slices.IndexFunc(w.all, func(o node) bool { return o.nid == n.nid })
		if i < 0 {
			w.all = append(w.all, n)
			continue
		}
		o := &w.all[i]
		if n.starts < o.starts || n.ends > o.ends {
			o.starts, o.ends = min(o.starts, n.starts), max(o.ends, n.ends)
			w.seen = min(w.seen, i)
		}
	}
}

// learn reads what kind of twin a node is. A twin that is just being stored is
// not known yet.
func (n *node) learn(ctx context.Context, q db.Querier) error {
	if n.domain != "" {
		return nil
	}
	err := q.QueryRow(ctx, selectDomain, n.nid).Scan(&n.domain)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return db.Wrap("find domain", err)
}

// up reads what a twin is directly part of.
func (n *node) up(ctx context.Context, q db.Querier) (out []node, err error) {
	if err := n.learn(ctx, q); err != nil {
		return nil, err
	}
	r := reader{of: n}
	if n.domain == "project" { // it leads to everything that is part of it
		r.read(q.Query(ctx, selectUpNamed, n.nid, n.starts, n.ends, maxAbove+1))
		return r.out, r.err
	}
	r.read(q.Query(ctx, selectUp, n.nid, n.starts, n.ends, maxAbove+1, ranks[n.domain]))
	r.read(q.Query(ctx, selectUpThen, n.nid, n.starts, n.ends, maxAbove+1, ranks[n.domain]))
	r.read(q.Query(ctx, selectUpIn, n.nid, n.starts, n.ends, maxAbove+1, ranks[n.domain]))
	r.read(q.Query(ctx, selectUpInThen, n.nid, n.starts, n.ends, maxAbove+1, ranks[n.domain]))
	return r.out, r.err
}

// down reads the parts of a twin.
func (n *node) down(ctx context.Context, q db.Querier) (out []node, err error) {
	if err := n.learn(ctx, q); err != nil {
		return nil, err
	}
	r := reader{of: n}
	r.read(q.Query(ctx, selectDown, n.nid, n.starts, n.ends, maxBelow, ranks[n.domain]))
	r.read(q.Query(ctx, selectDownThen, n.nid, n.starts, n.ends, maxBelow, ranks[n.domain]))
	r.read(q.Query(ctx, selectDownOut, n.nid, n.starts, n.ends, maxBelow, ranks[n.domain]))
	r.read(q.Query(ctx, selectDownOutThen, n.nid, n.starts, n.ends, maxBelow, ranks[n.domain]))
	return r.out, r.err
}

// reader gathers the twins around one.
type reader struct {
	of  *node
	out []node
	err error
}

// read adds the twins of a statement, each with the days it shares with the
// first.
func (r *reader) read(rows db.Rows, failed error) {
	if r.err != nil {
		return
	}
	var some []node
	some, r.err = db.Collect(rows, failed, "look what twins are part of", func(n *node, from db.Row) error {
		var since, until, removed sql.NullInt64
		err := from.Scan(&n.nid, &n.domain, &since, &until, &removed)
		n.period = r.of.within(spanOf(since, until)).within(spanOf(sql.NullInt64{}, removed))
		return err
	})
	for _, n := range some {
		if n.starts < n.ends {
			r.out = append(r.out, n)
		}
	}
}

// spanOf makes a period of two moments that may be missing.
func spanOf(since, until sql.NullInt64) period {
	p := period{always, never}
	if since.Valid {
		p.starts = since.Int64
	}
	if until.Valid {
		p.ends = until.Int64
	}
	return p
}
