package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	maxAbove  = 50  // twins that a subject is part of
	maxSummed = 100 // claims that one sums
)

// period is from when to when, in ms, its end excluded.
type period struct{ starts, ends int64 }

// above lists what a twin is part of, or was in a period, nearest first. Nobody makes
// any of them part of something else until tx ends.
func above(ctx context.Context, tx *db.Tx, nid int64, in period) ([]int64, error) {
	out := []int64{nid}
	for i := 0; i < len(out); i++ {
		if tx.Dialect() == db.Postgres {
			if _, err := tx.Exec(ctx, keepNodePostgres, out[i]); err != nil {
				return nil, db.Wrap("keep what a twin is part of", err)
			}
		}
		found, err := parents(ctx, tx, out[i], in)
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		if len(out) > maxAbove {
			return nil, fault.New(fault.Conflict, "CLAIM_COVERS_TOO_MUCH", fmt.Sprintf("What produces the claim is part of more than %d twins: nobody could say what was claimed of them.", maxAbove))
		}
	}
	return out[1:], nil
}

// parents lists what a twin is part of by itself. A relationship that does not say
// since when counts from ever: whoever says it late must not gain by that.
func parents(ctx context.Context, q db.Querier, nid int64, in period) (out []int64, err error) {
	read := func(rows db.Rows, failed error) {
		if err != nil {
			return
		}
		var found []int64
		found, err = db.Collect(rows, failed, "look what a twin is part of", db.Column[int64])
		out = append(out, found...)
	}
	read(q.Query(ctx, selectAbove, nid, in.starts, in.ends, maxAbove+1))
	read(q.Query(ctx, selectAboveThen, nid, in.starts, in.ends, maxAbove+1))
	read(q.Query(ctx, selectAround, nid, in.starts, in.ends, maxAbove+1))
	read(q.Query(ctx, selectAroundThen, nid, in.starts, in.ends, maxAbove+1))
	return out, err
}

// cover refuses a claim of what was claimed already, of its subject, of what that is
// part of, or of a part of it, and notes what this one covers. The claims that it sums
// are not in its way: they become its part. upper is what the subject is part of.
func cover(ctx context.Context, tx *db.Tx, r *row, upper []int64, sums []string) error {
	parts, err := summed(ctx, tx, r, sums)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, selectCovered, r.ws, r.counted(), r.subject, r.starts, r.ends, len(parts)+1)
	if err := overlap(ctx, tx, found{r, parts}, rows, err); err != nil {
		return err
	}
	for _, node := range upper {
		rows, err := tx.Query(ctx, selectOwn, r.ws, r.counted(), node, r.starts, r.ends, len(parts)+1)
		if err := overlap(ctx, tx, found{r, parts}, rows, err); err != nil {
			return err
		}
	}
	for i, node := range append([]int64{r.subject}, upper...) {
		own := 0
		if i == 0 {
			own = 1
		}
		if _, err := tx.Exec(ctx, insertCover, r.ws, r.counted(), node, r.ends, r.nid, r.starts, own); err != nil {
			return db.Wrap("note what a claim covers", err)
		}
	}
	for _, nid := range parts {
		if _, err := tx.Exec(ctx, sumClaim, nid, r.nid); err != nil {
			return db.Wrap("sum claim", err)
		}
	}
	return nil
}

// counted is the kind of a claim for what was counted before: in whatever case
// somebody spells it, it is the same thing.
func (r *row) counted() string { return strings.ToLower(r.kind) }

// found is a claim, and those that are not in its way.
type found struct {
	*row
	parts []int64
}

// overlap refuses a claim in whose period something was claimed: rows are those claims.
func overlap(ctx context.Context, tx *db.Tx, f found, rows db.Rows, err error) error {
	all, err := db.Collect(rows, err, "look for claims of the same", db.Column[int64])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(n int64) bool { return !slices.Contains(f.parts, n) })
	if i < 0 {
		return nil
	}
	other, err := one(tx.QueryRow(ctx, selectByNID, f.ws, all[i]))
	if err != nil || other == nil {
		return err
	}
	return fault.New(fault.Conflict, "CLAIM_OVERLAPS", "The same kind of claim was made of this twin, of what it is part of, or of a part of it, for days of this period.").
		With(named(web.CallerFrom(ctx), other, "/properties/periodStart"))
}

// summed finds the claims that one sums. They are of its kind, within its period, of
// its subject or a part of that, alive, and nobody has made anything of them yet.
func summed(ctx context.Context, tx *db.Tx, r *row, sums []string) ([]int64, error) {
	var c fault.Checks
	var out []int64
	if len(sums) > maxSummed {
		c.Add("/properties/claims", "too_many", fmt.Sprintf("At most %d claims are summed.", maxSummed))
		sums = nil
	}
	total := 0.0
	for i, id := range sums {
		at := fmt.Sprintf("/properties/claims/%d", i)
		found, err := find(ctx, tx, id)
		if fault.KindOf(err) == fault.NotFound {
			c.Add(at, "not_found", "No claim has this DID.")
			continue
		} else if err != nil {
			return nil, err
		}
		part, err := held(ctx, tx, r.ws, found.nid)
		if err != nil {
			return nil, err
		}
		upper, err := above(ctx, tx, part.subject, period{part.starts, part.ends})
		if err != nil {
			return nil, err
		}
		became, err := db.Exists(tx.QueryRow(ctx, selectBecame, part.nid), "look for a credential")
		if err != nil {
			return nil, err
		}
		switch {
		case slices.Contains(out, part.nid):
			c.Add(at, "duplicate", "This claim is listed twice.")
		case part.kind != r.kind || part.unit != r.unit:
			c.Add(at, "mismatch", "A claim of another kind or unit is not summed.")
		case part.starts < r.starts || part.ends > r.ends:
			c.Add(at, "out_of_range", "Its period is not inside that of this claim.")
		case part.subject != r.subject && !slices.Contains(upper, r.subject):
			c.Add(at, "mismatch", "Its subject is no part of the subject of this claim.")
		case part.summed != 0 || became:
			c.Add(at, "taken", "Another claim has summed it, or it has become a credential.")
		case over(part.status) && part.status != Approved:
			c.Add(at, "over", "It was rejected, withdrawn or invalidated.")
		}
		counts := part.amount
		if part.status == Approved {
			counts = part.approved // less than was claimed, where it was approved in part
		}
		out, total = append(out, part.nid), total+counts
	}
	if len(out) > 0 && r.amount > total*(1+1e-9) {
		c.Add("/properties/amount/value", "out_of_range", "The claims it sums come to less.")
	}
	return out, c.Err("CLAIM_NOT_SUMMABLE", "The claim cannot sum these claims.")
}

const selectBecame = `SELECT 1 FROM relationships r JOIN entities e ON e.nid = r.dst WHERE r.src = $1 AND r.role = 'becomes' AND r.removed_at IS NULL AND e.status <> 'deactivated' LIMIT 1`
