package claim

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectAbout = `SELECT nid, did FROM claims WHERE subject = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	selectBy    = `SELECT e.did FROM relationships r JOIN entities e ON e.nid = r.dst WHERE r.src = $1 AND r.role = 'becomes' AND r.removed_at IS NULL`

	removeClaim       = `DELETE FROM claims WHERE nid = $1`
	removeEvaluations = `DELETE FROM claim_evaluations WHERE claim = $1`
	removeDisputes    = `DELETE FROM claim_disputes WHERE claim = $1`
	removeNode        = `DELETE FROM claim_cover WHERE node = $1`
)

// About lists the DIDs of the claims about a twin, and of their credentials.
func About(ctx context.Context, q db.Querier, nid int64) (out []string, err error) {
	for after := int64(0); ; {
		rows, err := q.Query(ctx, selectAbout, nid, after, chunk)
		some, err := db.Collect(rows, err, "list claims about a twin", func(r *row, from db.Row) error { return from.Scan(&r.nid, &r.did) })
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			rows, err := q.Query(ctx, selectBy, r.nid)
			became, err := db.Collect(rows, err, "find credentials of a claim", db.Column[string])
			if err != nil {
				return nil, err
			}
			out, after = append(append(out, r.did), became...), r.nid
		}
		if len(some) < chunk {
			return out, nil
		}
	}
}

// Remove removes the rows about a claim, and those about what was claimed for a
// twin, as if they had never existed; see entity.Service.Remove.
func Remove(ctx context.Context, tx *db.Tx, nid int64) error {
	_, err := tx.Exec(ctx, removeClaim, nid)
	if err == nil {
		_, err = tx.Exec(ctx, removeEvaluations, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, removeDisputes, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, dropLease, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, dropConsents, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, freeCover, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, removeNode, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, freeSummed, nid)
	}
	return db.Wrap("remove claim", err)
}
