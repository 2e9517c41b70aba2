package claim

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// What people wrote about claims concerns the subjects of the claims: the twin itself,
// and what it had in the period of the claim, such as the stove of a household. The
// period matters because a stove may have belonged to another household before.
const (
	meanwhile   = ` AND (r.since IS NULL OR r.since < c.ends) AND (r.until IS NULL OR r.until > c.starts) AND (r.removed_at IS NULL OR r.removed_at > c.starts)`
	claimsAbout = `SELECT c.nid FROM entities e JOIN claims c ON c.subject = e.nid WHERE e.ws = $1 AND e.did = $2
		UNION SELECT c.nid FROM entities e JOIN relationships r ON r.src = e.nid JOIN entities o ON o.nid = r.dst JOIN claims c ON c.subject = o.nid WHERE e.ws = $1 AND e.did = $2 AND o.domain_type = 'device'` + meanwhile + `
		UNION SELECT c.nid FROM entities e JOIN relationships r ON r.dst = e.nid JOIN entities o ON o.nid = r.src JOIN claims c ON c.subject = o.nid WHERE e.ws = $1 AND e.did = $2 AND o.domain_type = 'device'` + meanwhile
	everBecame = `SELECT dst FROM relationships WHERE src = $1 AND role = 'becomes'`

	blankDisputes = `UPDATE claim_disputes SET reason = '', answer = '', erased = 1 WHERE claim = $1 AND (reason <> '' OR answer <> '')`
	// Texts that the server wrote, and a reason that is only the code of a rule, are not
	// personal.
	blankEvaluations = `UPDATE claim_evaluations SET reason = '', erased = 1 WHERE claim = $1 AND automatic = 0 AND reason <> '' AND reason <> reason_code`
	blankRevision    = `UPDATE entities SET rev_reason = '' WHERE nid = $1 AND rev_reason <> ''`
	blankRevisions   = `UPDATE entity_history SET reason = '' WHERE nid = $1 AND reason <> ''`
)

// Erase removes what people wrote when they decided about claims, disputed them or
// decided disputes, from all claims about an erased person, and from the revisions of
// the claims' twins and of their credentials. Facts, outcomes and hashes stay, so an
// evaluation can still be recomputed with the same result.
func Erase(ctx context.Context, tx *db.Tx, ws, id string) (int64, error) {
	rows, err := tx.Query(ctx, claimsAbout, ws, id)
	all, err := db.Collect(rows, err, "find claims about somebody", db.Column[int64])
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, nid := range all {
		n, err := blankClaim(ctx, tx, nid)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// blankClaim returns how many records it has blanked.
func blankClaim(ctx context.Context, tx *db.Tx, nid int64) (sum int64, err error) {
	rows, err := tx.Query(ctx, everBecame, nid)
	twins, err := db.Collect(rows, err, "find credentials of a claim", db.Column[int64])
	if err != nil {
		return 0, err
	}
	disputes, err := tx.Exec(ctx, blankDisputes, nid)
	var evaluations int64
	if err == nil {
		evaluations, err = tx.Exec(ctx, blankEvaluations, nid)
	}
	sum = disputes + evaluations
	for _, twin := range append(twins, nid) {
		var newest, past int64
		if err == nil {
			newest, err = tx.Exec(ctx, blankRevision, twin)
		}
		if err == nil {
			past, err = tx.Exec(ctx, blankRevisions, twin)
		}
		sum += newest + past
	}
	return sum, db.Wrap("erase what was written about a claim", err)
}
