package claim

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxJoined limits how many claims a twin may have when it becomes part of
// another.
const maxJoined = 1000

// covered is a claim that covers a twin.
type covered struct {
	claim int64
	kind  string
	period
}

// Joined notes that a twin has become part of another: what was claimed for it, or for
// something it is or was part of, is covered there too, and cannot be claimed again.
// Faults: CLAIM_OVERLAPS where both were claimed for the same days,
// CLAIM_COVERS_TOO_MUCH.
func (l *Ledger) Joined(ctx context.Context, tx *db.Tx, ws string, edge *relationship.Row) error {
	part, whole, err := partOf(ctx, tx, edge)
	if err != nil || part == 0 {
		return err
	}
	in := spanOf(edge.Since, edge.Until)
	all, err := claimedOf(ctx, tx, node{nid: part, period: in})
	if err != nil || len(all) == 0 {
		return err
	}
	upper, err := above(ctx, tx, true, node{nid: whole, period: in})
	if err != nil {
		return err
	}
	upper = append([]node{{nid: whole, period: in}}, upper...)
	if err := turn(ctx, tx, ws); err != nil {
		return err
	}
	for _, c := range all { // all before the first is noted: a refusal leaves nothing behind
		if err := l.mayExtend(ctx, tx, ws, c, upper); err != nil {
			return err
		}
	}
	for _, c := range all {
		if err := c.extend(ctx, tx, ws, upper); err != nil {
			return err
		}
	}
	return nil
}

// claimedOf lists the claims for a twin, for its parts, and for the whole of what it is
// part of, in its days.
func claimedOf(ctx context.Context, tx *db.Tx, n node) ([]covered, error) {
	upper, err := above(ctx, tx, false, n)
	if err != nil {
		return nil, err
	}
	var all []covered
	for i, at := range append([]node{n}, upper...) {
		own := min(i, 1)
		rows, err := tx.Query(ctx, selectBelow, at.nid, at.starts, at.ends, own, maxJoined+1)
		some, err := db.Collect(rows, err, "look what was claimed of a twin", func(c *covered, from db.Row) error {
			if err := from.Scan(&c.claim, &c.kind, &c.starts, &c.ends); err != nil {
				return err
			}
			c.period = c.within(at.period)
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(all) > maxJoined {
			return nil, fault.New(fault.Conflict, "CLAIM_COVERS_TOO_MUCH", fmt.Sprintf("More than %d claims were made about this twin or parts of it: it can become part of another twin only if the relationship says since when.", maxJoined))
		}
	}
	return all, nil
}

// partOf returns which end of a relationship is part of the other: 0 for
// neither.
func partOf(ctx context.Context, tx *db.Tx, edge *relationship.Row) (part, whole int64, err error) {
	if edge.Dst == 0 || relationship.Binds(edge.Role) { // producing, verifying or implementing makes no part
		return 0, 0, nil
	}
	src, dst := node{nid: edge.Src}, node{nid: edge.Dst}
	if err := src.learn(ctx, tx); err != nil {
		return 0, 0, err
	}
	if err := dst.learn(ctx, tx); err != nil {
		return 0, 0, err
	}
	lower, higher := ranks[src.domain], ranks[dst.domain]
	if src.domain == "" || dst.domain == "" { // one that is being stored: the word decides
		lower, higher = 1, 1
	}
	switch {
	case lower == 0 || higher == 0:
		return 0, 0, nil
	case lower < higher || lower == higher && slices.Contains(upWords, edge.Role):
		return src.nid, dst.nid, nil
	case lower > higher || slices.Contains(downWords, edge.Role):
		return dst.nid, src.nid, nil
	}
	return 0, 0, nil
}

// mayExtend refuses to extend a claim to more twins when the same was already claimed
// for one of them.
func (l *Ledger) mayExtend(ctx context.Context, tx *db.Tx, ws string, c covered, upper []node) error {
	own, err := one(tx.QueryRow(ctx, selectByNID, ws, c.claim))
	if err != nil || own == nil {
		return err
	}
	for _, n := range upper {
		if n.period = n.within(c.period); n.starts >= n.ends || n.nid == own.subject {
			continue
		}
		err = overlap(ctx, tx, found{own, []int64{own.nid, own.summed}}, n, true)
		if f := fault.As(err); f != nil {
			return fault.New(fault.Conflict, "CLAIM_OVERLAPS", "The same kind of claim was made about both twins for the same days. If the one was not part of the other on those days, give since.").
				With(named(web.CallerFrom(ctx), own, "/target"))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// extend makes a claim cover more twins.
func (c covered) extend(ctx context.Context, tx *db.Tx, ws string, upper []node) error {
	for _, n := range upper {
		if n.period = n.within(c.period); n.starts >= n.ends {
			continue
		}
		if _, err := tx.Exec(ctx, insertCover, ws, c.kind, n.nid, n.ends, c.claim, n.starts, 0); err != nil {
			return db.Wrap("note what a claim covers", err)
		}
	}
	return nil
}
