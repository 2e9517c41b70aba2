package response

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
)

const (
	selectFlagged = `SELECT ws, response_id, round, stratum, grp, status, vstatus, flags, revision, updated_at FROM responses WHERE nid = $1 AND survey = $2`

	selectFlaggedForUpdatePostgres = `SELECT ws, response_id, round, stratum, grp, status, vstatus, flags, revision, updated_at
		FROM responses WHERE nid = $1 AND survey = $2 FOR UPDATE`

	updateFlags = `UPDATE responses SET flags = $2 WHERE nid = $1`
)

// lockFlagged reads what flags change of a response, and keeps others from
// changing it; nil when it is gone.
func (s *Service) lockFlagged(ctx context.Context, tx *db.Tx, o *survey.Open, nid int64) (*Row, error) {
	r := &Row{NID: nid, Survey: o.NID}
	var row db.Row
	if s.db.Dialect() == db.Postgres {
		row = tx.QueryRow(ctx, selectFlaggedForUpdatePostgres, nid, o.NID)
	} else {
		row = tx.QueryRow(ctx, selectFlagged, nid, o.NID)
	}
	err := row.Scan(&r.Workspace, &r.ResponseID, &r.Round, &r.Stratum, &r.Group, &r.Status, &r.VStatus, &r.Flags, &r.Revision, &r.UpdatedAt)
	return db.Found(r, err, "find flagged response")
}

const (
	// Earlier revisions keep who, when and why, and no content.
	blankHistory   = `UPDATE response_history SET body = $2, answers = '{}', masked = '', sealed = NULL WHERE response = $1`
	deleteAllFlags = `DELETE FROM response_flags WHERE response = $1`
	// Contents that clashed with it go too.
	deleteConflicts = `DELETE FROM response_conflicts WHERE response = $1`
)

// wipe removes the content from everything beside the response itself.
func wipe(ctx context.Context, tx *db.Tx, r *Row) error {
	if _, err := tx.Exec(ctx, blankHistory, r.NID, string(r.Body)); err != nil {
		return fmt.Errorf("blank history of response: %w", err)
	}
	if _, err := tx.Exec(ctx, deleteAllFlags, r.NID); err != nil {
		return fmt.Errorf("remove flags: %w", err)
	}
	if err := flag.DropSettlements(ctx, tx, r.NID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, deleteConflicts, r.NID); err != nil {
		return fmt.Errorf("remove conflicts: %w", err)
	}
	_, err := media.Release(ctx, tx, r.Workspace, r.NID)
	return err
}

// The columns of an earlier revision, in the order scanPast reads them.
const (
	selectPast = `SELECT revision, at, action, actor, request, reason, status, vstatus, verifier, verified_at, reviews, body, answers, masked, sealed, imported_by
		FROM response_history WHERE response = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3`
	selectPastAt = `SELECT revision, at, action, actor, request, reason, status, vstatus, verifier, verified_at, reviews, body, answers, masked, sealed, imported_by
		FROM response_history WHERE response = $1 AND at <= $2 ORDER BY revision DESC LIMIT 1`
)

// scanPast reads an earlier revision of r. What checks found then is not kept.
func scanPast(row db.Row, r *Row) (*Row, error) {
	p := *r
	var body, answers, masked string
	p.Masked, p.Sealed, p.Flags, p.Files = nil, nil, 0, 0
	err := row.Scan(&p.Revision, &p.UpdatedAt, &p.Action, &p.Actor, &p.RequestID, &p.Reason, &p.Status, &p.VStatus, &p.Verifier, &p.VerifiedAt, &p.Reviews,
		&body, &answers, &masked, &p.Sealed, &p.ImportedBy)
	if err != nil {
		return nil, err
	}
	p.Body, p.Answers = []byte(body), []byte(answers)
	if masked != "" {
		p.Masked = []byte(masked)
	}
	return &p, nil
}

// past lists revisions of r before one, newest first.
func past(ctx context.Context, q db.Querier, r *Row, before int64, limit int) ([]*Row, error) {
	rows, err := q.Query(ctx, selectPast, r.NID, before, limit)
	return db.Collect(rows, err, "list revisions", func(p **Row, row db.Row) (err error) {
		*p, err = scanPast(row, r)
		return err
	})
}
