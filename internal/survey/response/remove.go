package response

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
)

const (
	dropHistory   = `DELETE FROM response_history WHERE response = $1`
	dropDecisions = `DELETE FROM response_decisions WHERE response = $1`
	dropResponse  = `DELETE FROM responses WHERE nid = $1`
)

// removedTogether is how many responses one transaction removes.
const removedTogether = 20

// RemoveAll removes all responses of a survey, with no event and as if they had
// never been sent, before the survey itself is removed. Counters are not changed,
// and attachments that nobody else uses are dropped: call media.Sweep after it.
func RemoveAll(ctx context.Context, d *db.DB, survey int64) error {
	for {
		n := 0
		err := d.InTx(ctx, func(tx *db.Tx) (err error) {
			n, err = removeSome(ctx, tx, survey)
			return err
		})
		if err != nil || n == 0 {
			return db.Wrap("remove responses", err)
		}
	}
}

// removeSome removes the first responses of a survey and returns how many.
func removeSome(ctx context.Context, tx *db.Tx, survey int64) (int, error) {
	rows, err := tx.Query(ctx, selectAfter, survey, 0, removedTogether)
	list, err := db.Collect(rows, err, "list responses", func(r *Row, row db.Row) error {
		one, err := scan(row)
		if err == nil {
			*r = *one
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	for i := range list {
		r := &list[i]
		if _, err := media.Release(ctx, tx, r.Workspace, r.NID); err != nil {
			return 0, err
		}
		if err := answer.Drop(ctx, tx, r.Survey, r.NID, r.Answers); err != nil {
			return 0, err
		}
		_, err := tx.Exec(ctx, deleteAllFlags, r.NID)
		if err == nil {
			err = flag.DropSettlements(ctx, tx, r.NID)
		}
		if err == nil {
			_, err = tx.Exec(ctx, deleteConflicts, r.NID)
		}
		if err == nil {
			_, err = tx.Exec(ctx, dropDecisions, r.NID)
		}
		if err == nil {
			_, err = tx.Exec(ctx, dropHistory, r.NID)
		}
		if err == nil {
			_, err = tx.Exec(ctx, dropResponse, r.NID)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

const namesAfter = `SELECT nid, response_id FROM responses WHERE survey = $1 AND nid > $2 ORDER BY nid LIMIT $3`

// namesRead is how many ids are read at once.
const namesRead = 1000

// Names lists the ids of all responses of a survey.
func Names(ctx context.Context, q db.Querier, survey int64) ([]string, error) {
	var out []string
	for after := int64(0); ; {
		rows, err := q.Query(ctx, namesAfter, survey, after, namesRead)
		some, err := db.Collect(rows, err, "list responses", func(id *string, row db.Row) error { return row.Scan(&after, id) })
		if err != nil || len(some) == 0 {
			return out, err
		}
		out = append(out, some...)
	}
}
