package claim

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxJoined is how many claims a twin may have that becomes part of another one.
const maxJoined = 1000

// covered is a claim that covers a twin.
type covered struct {
	claim int64
	kind  string
	period
}

// Joined notes that a twin has become part of another one: what was claimed of it is
// covered there too, and is not claimed again. Faults: CLAIM_OVERLAPS where both were
// claimed for the same days, CLAIM_COVERS_TOO_MUCH.
func (l *Ledger) Joined(ctx context.Context, tx *db.Tx, ws string, edge *relationship.Row) error {
	part, whole, err := partOf(ctx, tx, edge)
	if err != nil || part == 0 {
		return err
	}
	in := period{always, never}
	if edge.Since.Valid {
		in.starts = edge.Since.Int64
	}
	if edge.Until.Valid {
		in.ends = edge.Until.Int64
	}
	rows, err := tx.Query(ctx, selectBelow, part, in.starts, in.ends, maxJoined+1)
	all, err := db.Collect(rows, err, "look what was claimed of a twin", func(c *covered, from db.Row) error {
		return from.Scan(&c.claim, &c.kind, &c.starts, &c.ends)
	})
	if err != nil || len(all) == 0 {
		return err
	}
	if len(all) > maxJoined {
		return fault.New(fault.Conflict, "CLAIM_COVERS_TOO_MUCH", fmt.Sprintf("More than %d claims were made of this twin or of parts of it: it does not become part of another one any more, unless the relationship says since when.", maxJoined))
	}
	upper, err := above(ctx, tx, whole, in)
	if err != nil {
		return err
	}
	upper = append([]int64{whole}, upper...)
	kind := ""
	for _, c := range all {
		if c.kind != kind { // they come by kind: turns are taken in one order
			if _, err := tx.Exec(ctx, takeTurn, ws, c.kind); err != nil {
				return db.Wrap("take turn", err)
			}
			kind = c.kind
		}
		if err := l.extend(ctx, tx, ws, c, upper); err != nil {
			return err
		}
	}
	return nil
}

// partOf says which end of a relationship is part of the other: 0 where none is.
func partOf(ctx context.Context, tx *db.Tx, edge *relationship.Row) (part, whole int64, err error) {
	switch {
	case edge.Dst == 0:
		return 0, 0, nil
	case slices.Contains([]string{"household", "stove", "project", "generatedBy", "partOf"}, edge.Role):
		return edge.Src, edge.Dst, nil
	case !edge.Mirror || edge.Role != relationship.Contains && edge.Role != relationship.Generates:
		return 0, 0, nil
	}
	var domain string
	if err := tx.QueryRow(ctx, selectDomain, edge.Src).Scan(&domain); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, db.Wrap("find domain", err)
	}
	if domain != "project" {
		return 0, 0, nil
	}
	return edge.Dst, edge.Src, nil
}

// extend has a claim cover more twins, unless somebody has claimed the same of them.
func (l *Ledger) extend(ctx context.Context, tx *db.Tx, ws string, c covered, upper []int64) error {
	own, err := one(tx.QueryRow(ctx, selectByNID, ws, c.claim))
	if err != nil || own == nil {
		return err
	}
	for _, node := range upper {
		rows, err := tx.Query(ctx, selectOwn, ws, c.kind, node, c.starts, c.ends, 2)
		err = overlap(ctx, tx, found{own, []int64{own.nid, own.summed}}, rows, err)
		if f := fault.As(err); f != nil {
			return fault.New(fault.Conflict, "CLAIM_OVERLAPS", "The same kind of claim was made of both for the same days. Say since when the one is part of the other, if it was not in those days.").
				With(named(web.CallerFrom(ctx), own, "/target"))
		} else if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, insertCover, ws, c.kind, node, c.ends, c.claim, c.starts, 0); err != nil {
			return db.Wrap("note what a claim covers", err)
		}
	}
	return nil
}
