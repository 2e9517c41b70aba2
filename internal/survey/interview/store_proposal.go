package interview

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	proposalColumns = `nid, ws, survey, response_id, household, list, action, twin, base, trunk, branch, at, status, conflict, revision, decided_at, decided_by, reason, sealed`
	// A decided proposal stays; an open one takes the current content of the
	// interview.
	upsertProposal = `INSERT INTO twin_proposals (nid, ws, survey, response_id, household, list, action, twin, base, trunk, branch, at, status, sealed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'open', $13) ON CONFLICT (ws, response_id, action) DO NOTHING`
	selectProposals      = `SELECT ` + proposalColumns + ` FROM twin_proposals WHERE ws = $1 AND response_id = $2`
	selectProposal       = `SELECT ` + proposalColumns + ` FROM twin_proposals WHERE nid = $1 AND survey = $2`
	selectProposalPage   = `SELECT ` + proposalColumns + ` FROM twin_proposals WHERE survey = $1 AND status = $2 AND nid > $3 ORDER BY nid LIMIT $4`
	selectBranch         = `SELECT ` + proposalColumns + ` FROM twin_proposals WHERE ws = $1 AND twin = $2 AND branch = $3 AND action = 'update' AND (base < $4 OR base = $4 AND nid < $5) ORDER BY base DESC, nid DESC LIMIT 20`
	rewriteProposal      = `UPDATE twin_proposals SET twin = $2, sealed = $3, base = $4, trunk = $5, branch = $6, status = 'open' WHERE nid = $1 AND status IN ('open', 'withdrawn')`
	withdrawProposal     = `UPDATE twin_proposals SET status = 'withdrawn' WHERE nid = $1 AND status = 'open'`
	decideProposal       = `UPDATE twin_proposals SET status = $2, conflict = $3, revision = $4, decided_at = $5, decided_by = $6, reason = $7, sealed = $8 WHERE nid = $1 AND status = 'open' AND sealed = $9`
	deleteProposals      = `DELETE FROM twin_proposals WHERE ws = $1 AND response_id = $2`
	deleteProposalsAbout = `DELETE FROM twin_proposals WHERE ws = $1 AND (household = $2 OR twin = $2)`
)

func scanProposal(r db.Row) (*proposal, error) {
	var p proposal
	err := r.Scan(&p.nid, &p.ws, &p.survey, &p.responseID, &p.household, &p.list, &p.action, &p.twin, &p.base, &p.trunk, &p.branch, &p.at,
		&p.status, &p.conflict, &p.revision, &p.decidedAt, &p.decidedBy, &p.reason, &p.sealed)
	return &p, err
}

func collectProposals(rows db.Rows, err error) ([]*proposal, error) {
	return db.Collect(rows, err, "list proposals", func(p **proposal, from db.Row) (err error) {
		*p, err = scanProposal(from)
		return err
	})
}

// findProposal reads a proposal of a survey. The fault is PROPOSAL_NOT_FOUND.
func findProposal(ctx context.Context, q db.Querier, survey, nid int64) (*proposal, error) {
	p, err := scanProposal(q.QueryRow(ctx, selectProposal, nid, survey))
	return db.Need(p, err, "find proposal", noProposal())
}

func insertProposal(ctx context.Context, tx *db.Tx, p *proposal) error {
	_, err := tx.Exec(ctx, upsertProposal, p.nid, p.ws, p.survey, p.responseID, p.household, p.list, p.action, p.twin, p.base, p.trunk, p.branch, p.at, p.sealed)
	return db.Wrap("insert proposal", err)
}

// proposalsOf are the proposals of a response.
func proposalsOf(ctx context.Context, q db.Querier, ws, responseID string) ([]*proposal, error) {
	return collectProposals(q.Query(ctx, selectProposals, ws, responseID))
}

// before are those of the branch of p that the device has made before it, the newest
// first. They may have come after it.
func (p *proposal) before(ctx context.Context, q db.Querier) ([]*proposal, error) {
	if p.branch == "" {
		return nil, nil
	}
	return collectProposals(q.Query(ctx, selectBranch, p.ws, p.twin, p.branch, p.base, p.nid))
}

// decide stores a decision; false when somebody else has decided, or the proposal
// has changed.
func (p *proposal) decide(ctx context.Context, tx *db.Tx) (bool, error) {
	n, err := tx.Exec(ctx, decideProposal, p.nid, p.status, p.conflict, p.revision, p.decidedAt, p.decidedBy, p.reason, p.sealed, p.was)
	return n > 0, db.Wrap("decide proposal", err)
}
