package bulk

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const findExternalText = `SELECT e.did FROM entity_externals x JOIN entities e ON e.nid = x.nid WHERE x.ws = $1 AND x.value = $2 AND x.scheme = $3`

// findExternal finds the DID of the twin with an external id; "" when there is
// none.
func findExternal(ctx context.Context, q db.Querier, ws, scheme, value string) (string, error) {
	var id string
	err := q.QueryRow(ctx, findExternalText, ws, value, scheme).Scan(&id)
	return db.Found(id, err, "find external id")
}

const (
	insertResultText = `INSERT INTO batch_results(batch, n, at, data) VALUES ($1, $2, $3, $4) ON CONFLICT (batch, n) DO NOTHING`
	listResultsText  = `SELECT n, data FROM batch_results WHERE batch = $1 ORDER BY n`
	deleteResults    = `DELETE FROM batch_results WHERE (batch, n) IN (SELECT batch, n FROM batch_results WHERE at < $1 ORDER BY at LIMIT $2)`
)

// keptResult is what became of an operation of a batch that has an
// Idempotency-Key: a request that is sent again does what the first one did not
// come to.
type keptResult struct {
	Batch string
	N     int
	At    int64  // ms
	Data  string // JSON
}

// insertKept keeps the result of an operation; false when it has one.
func insertKept(ctx context.Context, tx *db.Tx, r keptResult) (bool, error) {
	count, err := tx.Exec(ctx, insertResultText, r.Batch, r.N, r.At, r.Data)
	return count > 0, db.Wrap("insert result of batch", err)
}

// listKept reads all that is kept of a batch, by the number of the operation.
func listKept(ctx context.Context, q db.Querier, batch string) (map[int]string, error) {
	rows, err := q.Query(ctx, listResultsText, batch)
	return db.Map(rows, err, "list results of batch", func(n *int, data *string, row db.Row) error {
		return row.Scan(n, data)
	})
}

// expireKept removes at most limit results that were kept before a time, and reports
// how many.
func expireKept(ctx context.Context, d *db.DB, before int64, limit int) (int, error) {
	n, err := d.Exec(ctx, deleteResults, before, limit)
	return int(n), db.Wrap("expire results of batches", err)
}
