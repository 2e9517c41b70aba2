package proposal

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	columns = `nid, ws, survey, response_id, household, list, action, twin, base, trunk, branch, at, status, conflict, revision, decided_at, decided_by, reason, sealed`
	// A decided proposal stays; an open one takes the current content of the
	// interview.
	upsertProposal = `INSERT INTO twin_proposals (nid, ws, survey, response_id, household, list, action, twin, base, trunk, branch, at, status, sealed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'open', $13) ON CONFLICT (ws, response_id, action) DO NOTHING`
	selectOf         = `SELECT ` + columns + ` FROM twin_proposals WHERE ws = $1 AND response_id = $2`
	selectOne        = `SELECT ` + columns + ` FROM twin_proposals WHERE nid = $1 AND survey = $2`
	selectPage       = `SELECT ` + columns + ` FROM twin_proposals WHERE survey = $1 AND status = $2 AND nid > $3 ORDER BY nid LIMIT $4`
	selectBranch     = `SELECT ` + columns + ` FROM twin_proposals WHERE ws = $1 AND twin = $2 AND branch = $3 AND action = 'update' AND (base < $4 OR base = $4 AND nid < $5) ORDER BY base DESC, nid DESC LIMIT 20`
	rewriteProposal  = `UPDATE twin_proposals SET twin = $2, sealed = $3, base = $4, trunk = $5, branch = $6, status = 'open' WHERE nid = $1 AND status IN ('open', 'withdrawn')`
	withdrawProposal = `UPDATE twin_proposals SET status = 'withdrawn' WHERE nid = $1 AND status = 'open'`
	decideProposal   = `UPDATE twin_proposals SET status = $2, conflict = $3, revision = $4, decided_at = $5, decided_by = $6, reason = $7, sealed = $8 WHERE nid = $1 AND status = 'open' AND sealed = $9`
	deleteOf         = `DELETE FROM twin_proposals WHERE ws = $1 AND response_id = $2`
	deletePerson     = `DELETE FROM twin_proposals WHERE ws = $1 AND (household = $2 OR twin = $2)`
)

func scan(r db.Row) (*row, error) {
	var p row
	err := r.Scan(&p.nid, &p.ws, &p.survey, &p.responseID, &p.household, &p.list, &p.action, &p.twin, &p.base, &p.trunk, &p.branch, &p.at,
		&p.status, &p.conflict, &p.revision, &p.decidedAt, &p.decidedBy, &p.reason, &p.sealed)
	return &p, err
}

func rowsOf(rows db.Rows, err error) ([]*row, error) {
	return db.Collect(rows, err, "list proposals", func(p **row, from db.Row) (err error) {
		*p, err = scan(from)
		return err
	})
}

// find reads a proposal of a survey. The fault is PROPOSAL_NOT_FOUND.
func find(ctx context.Context, q db.Querier, survey, nid int64) (*row, error) {
	p, err := scan(q.QueryRow(ctx, selectOne, nid, survey))
	return db.Need(p, err, "find proposal", notFound())
}

func insert(ctx context.Context, tx *db.Tx, p *row) error {
	_, err := tx.Exec(ctx, upsertProposal, p.nid, p.ws, p.survey, p.responseID, p.household, p.list, p.action, p.twin, p.base, p.trunk, p.branch, p.at, p.sealed)
	return db.Wrap("insert proposal", err)
}

// of are the proposals of a response.
func of(ctx context.Context, q db.Querier, ws, responseID string) ([]*row, error) {
	return rowsOf(q.Query(ctx, selectOf, ws, responseID))
}

// before are those of the branch of p that the device has made before it, the newest
// first. They may have come after it.
func (p *row) before(ctx context.Context, q db.Querier) ([]*row, error) {
	if p.branch == "" {
		return nil, nil
	}
	return rowsOf(q.Query(ctx, selectBranch, p.ws, p.twin, p.branch, p.base, p.nid))
}

// decide stores a decision; false when somebody else has decided, or the proposal
// has changed.
func (p *row) decide(ctx context.Context, tx *db.Tx) (bool, error) {
	n, err := tx.Exec(ctx, decideProposal, p.nid, p.status, p.conflict, p.revision, p.decidedAt, p.decidedBy, p.reason, p.sealed, p.was)
	return n > 0, db.Wrap("decide proposal", err)
}
