package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	selectLog    = `SELECT revision, at, action, actor, request, reason FROM survey_history WHERE survey = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3`
	selectNewest = `SELECT revision, updated_at, rev_action, rev_actor, rev_request, rev_reason FROM surveys WHERE nid = $1`
	selectPast   = `SELECT body FROM survey_history WHERE survey = $1 AND revision = $2`
)

func findNewest(ctx context.Context, q db.Querier, nid int64) (Revision, error) {
	var one Revision
	err := scanRevision(&one, q.QueryRow(ctx, selectNewest, nid))
	if err != nil {
		return one, fmt.Errorf("read newest revision: %w", err)
	}
	return one, nil
}

func scanRevision(v *Revision, row db.Row) error {
	var at int64
	if err := row.Scan(&v.Revision, &at, &v.Action, &v.Actor, &v.RequestID, &v.Reason); err != nil {
		return err
	}
	v.At = time.UnixMilli(at).UTC()
	return nil
}

// listPast reads revisions before one, newest first.
func listPast(ctx context.Context, q db.Querier, nid, before int64, limit int) ([]Revision, error) {
	rows, err := q.Query(ctx, selectLog, nid, before, limit)
	return db.Collect(rows, err, "list revisions", scanRevision)
}

// findPast reads the record of an earlier revision. The fault is
// REVISION_NOT_FOUND.
func findPast(ctx context.Context, q db.Querier, nid, revision int64) (string, error) {
	var body string
	err := q.QueryRow(ctx, selectPast, nid, revision).Scan(&body)
	return db.Need(body, err, "read revision", fault.New(fault.NotFound, "REVISION_NOT_FOUND", "The survey has no such revision."))
}
