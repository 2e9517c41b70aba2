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

// maxSummed limits how many claims one claim sums.
const maxSummed = 100

// cover refuses a claim for what is claimed already: for its subject, for what that is
// part of, or for a part of it. It records what this one covers. Claims that it sums
// do not conflict: they become part of it. upper is what the subject is part of.
func cover(ctx context.Context, tx *db.Tx, r *row, upper []node, sums []string) error {
	parts, err := summed(ctx, tx, r, sums)
	if err != nil {
		return err
	}
	self := node{nid: r.subject, period: period{r.starts, r.ends}}
	if err := overlap(ctx, tx, found{r, parts}, self, false); err != nil {
		return err
	}
	for _, n := range upper {
		if err := overlap(ctx, tx, found{r, parts}, n, true); err != nil {
			return err
		}
	}
	for i, n := range append([]node{self}, upper...) {
		own := 0
		if i == 0 {
			own = 1
		}
		if _, err := tx.Exec(ctx, insertCover, r.ws, r.counted(), n.nid, n.ends, r.nid, n.starts, own); err != nil {
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

// anyKind is the kind of a claim that states none: it conflicts with every kind.
const anyKind = "*"

// counted is the kind used to detect double claims: letter case makes no
// difference.
func (r *row) counted() string {
	if strings.EqualFold(r.kind, "Claim") {
		return anyKind
	}
	return strings.ToLower(r.kind)
}

// found is a claim, and those it does not conflict with.
type found struct {
	*row
	parts []int64
}

// overlap refuses a claim if the same was claimed in its period for a twin or for a part
// of it; with own, only claims for the twin as a whole count.
func overlap(ctx context.Context, tx *db.Tx, f found, n node, own bool) error {
	least := 0
	if own {
		least = 1
	}
	kinds := []string{f.counted(), anyKind}
	if kinds[0] == anyKind {
		kinds = []string{""} // whatever it is
	}
	for _, kind := range kinds {
		var rows db.Rows
		var err error
		if kind == "" {
			rows, err = tx.Query(ctx, selectCoveredAny, n.nid, n.starts, n.ends, least, len(f.parts)+1)
		} else {
			rows, err = tx.Query(ctx, selectCovered, f.ws, kind, n.nid, n.starts, n.ends, least, len(f.parts)+1)
		}
		all, err := db.Collect(rows, err, "look for claims of the same", db.Column[int64])
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(n int64) bool { return !slices.Contains(f.parts, n) })
		if i < 0 {
			continue
		}
		other, err := one(tx.QueryRow(ctx, selectByNID, f.ws, all[i]))
		if err != nil || other == nil {
			return err
		}
		return fault.New(fault.Conflict, "CLAIM_OVERLAPS", "The same kind of claim exists for days of this period, about this twin, about something it is part of, or about a part of it.").
			With(named(web.CallerFrom(ctx), other, "/properties/periodStart"))
	}
	return nil
}

// summed finds the claims that a claim sums. They must be of its kind, within its
// period, of its subject or a part of it, not ended, and not yet summed or issued.
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
		upper, err := above(ctx, tx, true, node{nid: part.subject, period: period{part.starts, part.ends}})
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
			c.Add(at, "mismatch", "Its kind or unit differs from that of this claim.")
		case part.starts < r.starts || part.ends > r.ends:
			c.Add(at, "out_of_range", "Its period is not inside that of this claim.")
		case part.subject != r.subject && !slices.ContainsFunc(upper, func(n node) bool { return n.nid == r.subject }):
			c.Add(at, "mismatch", "Its subject is not part of the subject of this claim.")
		case part.summed != 0 || became:
			c.Add(at, "taken", "Another claim has summed it, or it has become a credential.")
		case part.status == Disputed:
			return nil, disputed().With(fault.Field{Pointer: at, Code: "disputed", Detail: "It is disputed and cannot be summed before the dispute is decided."})
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
		c.Add("/properties/amount/value", "out_of_range", "The amount is more than the sum of the claims it lists.")
	}
	return out, c.Err("CLAIM_NOT_SUMMABLE", "The claim cannot sum these claims.")
}

const selectBecame = `SELECT 1 FROM relationships r JOIN entities e ON e.nid = r.dst WHERE r.src = $1 AND r.role = 'becomes' AND r.removed_at IS NULL AND e.status <> 'deactivated' LIMIT 1`
