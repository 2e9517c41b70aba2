package bulk

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// transfer is a stored import, export or migration.
type transfer struct {
	job, ws, kind, file string
	settings, counts    string // JSON
	createdAt           int64
}

const (
	insertTransferText = `INSERT INTO transfers(job, ws, kind, file, settings, counts, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	findTransferText   = `SELECT kind, file, settings, counts, created_at FROM transfers WHERE job = $1 AND ws = $2`
	updateCountsText   = `UPDATE transfers SET counts = $2 WHERE job = $1`
	oldestTransferText = `SELECT job FROM transfers WHERE created_at < $1 ORDER BY created_at LIMIT 1`
	listTransfersText  = `SELECT job, kind, settings FROM transfers WHERE ws = $1 AND job > $2 ORDER BY job LIMIT 50`
	updateSettingsText = `UPDATE transfers SET settings = $2 WHERE job = $1`
	deleteTransferText = `DELETE FROM transfers WHERE job = $1`
)

func insertTransfer(ctx context.Context, tx *db.Tx, t *transfer) error {
	_, err := tx.Exec(ctx, insertTransferText, t.job, t.ws, t.kind, t.file, t.settings, t.counts, t.createdAt)
	return db.Wrap("insert transfer", err)
}

// findTransfer reads a transfer of a workspace; nil without one.
func findTransfer(ctx context.Context, q db.Querier, ws, id string) (*transfer, error) {
	t := &transfer{job: id, ws: ws}
	err := q.QueryRow(ctx, findTransferText, id, ws).Scan(&t.kind, &t.file, &t.settings, &t.counts, &t.createdAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, db.Wrap("find transfer", err)
}

// listTransfers reads some transfers of a workspace after one, without what they
// have come to.
func listTransfers(ctx context.Context, q db.Querier, ws, after string) ([]transfer, error) {
	rows, err := q.Query(ctx, listTransfersText, ws, after)
	return db.Collect(rows, err, "list transfers", func(t *transfer, row db.Row) error {
		t.ws = ws
		return row.Scan(&t.job, &t.kind, &t.settings)
	})
}

func updateCounts(ctx context.Context, tx *db.Tx, id, counts string) error {
	_, err := tx.Exec(ctx, updateCountsText, id, counts)
	return db.Wrap("update transfer", err)
}

const findExternalText = `SELECT e.did FROM entity_externals x JOIN entities e ON e.nid = x.nid WHERE x.ws = $1 AND x.value = $2 AND x.scheme = $3`

// findExternal is the DID of the twin another system has a name for; "" when
// there is none.
func findExternal(ctx context.Context, q db.Querier, ws, scheme, value string) (string, error) {
	var id string
	err := q.QueryRow(ctx, findExternalText, ws, value, scheme).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, db.Wrap("find external id", err)
}
