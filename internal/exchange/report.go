package exchange

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Row is the result of one row of an import, or of one twin of a migration.
type Row struct {
	Line int64
	OK   bool
	Data string // JSON
}

// many is how many rows one statement stores. Those that are left over go one
// by one.
const many = 10

// OR IGNORE avoids the journal that SQLite keeps for a statement that could
// fail half way; the row count shows failures.
const (
	insertOne       = `INSERT INTO transfer_rows(job, line, ok, data) VALUES ($1, $2, $3, $4)`
	tenRows         = `INTO transfer_rows(job, line, ok, data) VALUES ($1, $2, $3, $4), ($1, $5, $6, $7), ($1, $8, $9, $10), ($1, $11, $12, $13), ($1, $14, $15, $16), ($1, $17, $18, $19), ($1, $20, $21, $22), ($1, $23, $24, $25), ($1, $26, $27, $28), ($1, $29, $30, $31)`
	insertTen       = `INSERT ` + tenRows
	insertTenSQLite = `INSERT OR IGNORE ` + tenRows
	selectOne       = `SELECT data FROM transfer_rows WHERE job = $1 AND line = $2`
	updateOne       = `UPDATE transfer_rows SET ok = $3, data = $4 WHERE job = $1 AND line = $2`
	selectRows      = `SELECT line, ok, data FROM transfer_rows WHERE job = $1 AND line > $2 ORDER BY line LIMIT $3`
	selectRefused   = `SELECT line, ok, data FROM transfer_rows WHERE job = $1 AND line > $2 AND NOT ok ORDER BY line LIMIT $3`
	deleteSome      = `DELETE FROM transfer_rows WHERE job = $1 AND line IN (SELECT line FROM transfer_rows WHERE job = $1 ORDER BY line LIMIT $2)`
)

// InsertRows stores results of a job.
func InsertRows(ctx context.Context, tx *db.Tx, job string, rows []Row) error {
	for part := range slices.Chunk(rows, many) {
		if err := insertSome(ctx, tx, job, part); err != nil {
			return fmt.Errorf("insert report rows: %w", err)
		}
	}
	return nil
}

// insertSome stores at most as many rows as one statement takes.
func insertSome(ctx context.Context, tx *db.Tx, job string, rows []Row) error {
	if len(rows) < many {
		for _, r := range rows {
			if _, err := tx.Exec(ctx, insertOne, job, r.Line, r.OK, r.Data); err != nil {
				return err
			}
		}
		return nil
	}
	args := append(make([]any, 0, 1+3*many), job)
	for _, r := range rows {
		args = append(args, r.Line, r.OK, r.Data)
	}
	if tx.Dialect() != db.SQLite {
		_, err := tx.Exec(ctx, insertTen, args...)
		return err
	}
	n, err := tx.Exec(ctx, insertTenSQLite, args...)
	if err == nil && n < many {
		err = fmt.Errorf("a line from %d to %d is there already", rows[0].Line, rows[many-1].Line)
	}
	return err
}

// FindRow reads the data of a row.
func FindRow(ctx context.Context, q db.Querier, job string, line int64) (string, error) {
	var data string
	if err := q.QueryRow(ctx, selectOne, job, line).Scan(&data); err != nil {
		return "", fmt.Errorf("find report row: %w", err)
	}
	return data, nil
}

// UpdateRow replaces a row.
func UpdateRow(ctx context.Context, tx *db.Tx, job string, r Row) error {
	_, err := tx.Exec(ctx, updateOne, job, r.Line, r.OK, r.Data)
	return db.Wrap("update report row", err)
}

// removeRows removes at most limit rows of a job and reports how many.
func removeRows(ctx context.Context, d *db.DB, job string, limit int) (int, error) {
	n, err := d.Exec(ctx, deleteSome, job, limit)
	return int(n), db.Wrap("remove report", err)
}

// Refused reads refused rows after a line, in the order of their lines.
func Refused(ctx context.Context, q db.Querier, job string, after int64, limit int) ([]Row, error) {
	return Rows(ctx, q, Page{Job: job, Refused: true, After: after, Limit: limit})
}

// Page asks for rows of a job.
type Page struct {
	Job     string
	Refused bool // only those
	After   int64
	Limit   int
}

// Rows reads rows in the order of their lines.
func Rows(ctx context.Context, q db.Querier, p Page) ([]Row, error) {
	var rows db.Rows
	var err error
	if p.Refused {
		rows, err = q.Query(ctx, selectRefused, p.Job, p.After, p.Limit)
	} else {
		rows, err = q.Query(ctx, selectRows, p.Job, p.After, p.Limit)
	}
	return db.Collect(rows, err, "list report rows", func(r *Row, row db.Row) error {
		return row.Scan(&r.Line, &r.OK, &r.Data)
	})
}
