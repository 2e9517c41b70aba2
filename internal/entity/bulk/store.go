package bulk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// wrap says what we were doing.
func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

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
	return wrap("insert transfer", err)
}

// findTransfer reads a transfer of a workspace; nil without one.
func findTransfer(ctx context.Context, q db.Querier, ws, id string) (*transfer, error) {
	t := &transfer{job: id, ws: ws}
	err := q.QueryRow(ctx, findTransferText, id, ws).Scan(&t.kind, &t.file, &t.settings, &t.counts, &t.createdAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, wrap("find transfer", err)
}

// listTransfers reads some transfers of a workspace after one, without what they
// have come to.
func listTransfers(ctx context.Context, q db.Querier, ws, after string) ([]transfer, error) {
	rows, err := q.Query(ctx, listTransfersText, ws, after)
	if err != nil {
		return nil, wrap("list transfers", err)
	}
	defer rows.Close()
	var out []transfer
	for rows.Next() {
		t := transfer{ws: ws}
		if err := rows.Scan(&t.job, &t.kind, &t.settings); err != nil {
			return nil, wrap("list transfers", err)
		}
		out = append(out, t)
	}
	return out, wrap("list transfers", rows.Err())
}

func updateCounts(ctx context.Context, tx *db.Tx, id, counts string) error {
	_, err := tx.Exec(ctx, updateCountsText, id, counts)
	return wrap("update transfer", err)
}

// reportRow is the stored result of one row.
type reportRow struct {
	line int64
	ok   bool
	data string // JSON
}

const (
	insertOneRow   = `INSERT INTO transfer_rows(job, line, ok, data) VALUES ($1, $2, $3, $4)`
	insertTenRows  = insertOneRow + `, ($1, $5, $6, $7), ($1, $8, $9, $10), ($1, $11, $12, $13), ($1, $14, $15, $16), ($1, $17, $18, $19), ($1, $20, $21, $22), ($1, $23, $24, $25), ($1, $26, $27, $28), ($1, $29, $30, $31)`
	findRowText    = `SELECT data FROM transfer_rows WHERE job = $1 AND line = $2`
	updateRowText  = `UPDATE transfer_rows SET ok = $3, data = $4 WHERE job = $1 AND line = $2`
	listRowsText   = `SELECT line, ok, data FROM transfer_rows WHERE job = $1 AND line > $2 ORDER BY line LIMIT $3`
	listRefused    = `SELECT line, ok, data FROM transfer_rows WHERE job = $1 AND line > $2 AND NOT ok ORDER BY line LIMIT $3`
	deleteRowsText = `DELETE FROM transfer_rows WHERE job = $1 AND line IN (SELECT line FROM transfer_rows WHERE job = $1 ORDER BY line LIMIT $2)`
)

// insertRows stores results, ten in a statement.
func insertRows(ctx context.Context, tx *db.Tx, id string, rows []reportRow) error {
	for len(rows) > 0 {
		n, text := 1, insertOneRow
		if len(rows) >= 10 {
			n, text = 10, insertTenRows
		}
		args := make([]any, 0, 1+3*n)
		args = append(args, id)
		for _, r := range rows[:n] {
			args = append(args, r.line, r.ok, r.data)
		}
		if err := execRows(ctx, tx, text == insertTenRows, args); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func execRows(ctx context.Context, tx *db.Tx, ten bool, args []any) error {
	var err error
	if ten {
		_, err = tx.Exec(ctx, insertTenRows, args...)
	} else {
		_, err = tx.Exec(ctx, insertOneRow, args...)
	}
	return wrap("insert report rows", err)
}

// findRow is the stored result of a row.
func findRow(ctx context.Context, q db.Querier, id string, line int64) (string, error) {
	var data string
	err := q.QueryRow(ctx, findRowText, id, line).Scan(&data)
	return data, wrap("find report row", err)
}

func updateRow(ctx context.Context, tx *db.Tx, id string, r reportRow) error {
	_, err := tx.Exec(ctx, updateRowText, id, r.line, r.ok, r.data)
	return wrap("update report row", err)
}

// page asks for rows of a report.
type page struct {
	job     string
	refused bool // only those
	after   int64
	limit   int
}

func listRows(ctx context.Context, q db.Querier, p page) ([]reportRow, error) {
	var rows db.Rows
	var err error
	if p.refused {
		rows, err = q.Query(ctx, listRefused, p.job, p.after, p.limit)
	} else {
		rows, err = q.Query(ctx, listRowsText, p.job, p.after, p.limit)
	}
	if err != nil {
		return nil, wrap("list report rows", err)
	}
	defer rows.Close()
	var out []reportRow
	for rows.Next() {
		var r reportRow
		if err := rows.Scan(&r.line, &r.ok, &r.data); err != nil {
			return nil, wrap("list report rows", err)
		}
		out = append(out, r)
	}
	return out, wrap("list report rows", rows.Err())
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
	return id, wrap("find external id", err)
}
