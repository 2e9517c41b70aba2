package device

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// perStatement is how many readings one statement takes. SQLite looks up a
// numbered parameter among all of its statement, so many parameters cost more
// than many statements. Unused parameters repeat the last reading, which changes
// nothing.
const perStatement = 20

const (
	insertMany = `INSERT INTO device_readings (device, at, temperature, data) VALUES
		($1, $2, $3, $4), ($1, $5, $6, $7), ($1, $8, $9, $10), ($1, $11, $12, $13), ($1, $14, $15, $16), ($1, $17, $18, $19),
		($1, $20, $21, $22), ($1, $23, $24, $25), ($1, $26, $27, $28), ($1, $29, $30, $31), ($1, $32, $33, $34), ($1, $35, $36, $37),
		($1, $38, $39, $40), ($1, $41, $42, $43), ($1, $44, $45, $46), ($1, $47, $48, $49), ($1, $50, $51, $52), ($1, $53, $54, $55),
		($1, $56, $57, $58), ($1, $59, $60, $61)
		ON CONFLICT (device, at) DO NOTHING`
	selectMany = `SELECT at, temperature, data FROM device_readings WHERE device = $1 AND at IN (
		$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`
)

// insertRows stores at most perStatement readings and returns how many were
// new.
func insertRows(ctx context.Context, q db.Querier, device int64, rows []row) (int, error) {
	args := make([]any, 1, 1+3*perStatement)
	args[0] = device
	for i := range perStatement {
		r := rows[min(i, len(rows)-1)]
		args = append(args, r.at, temperature(r.temp), r.data)
	}
	n, err := q.Exec(ctx, insertMany, args...)
	return int(n), db.Wrap("insert readings", err)
}

// temperature returns the value for a column that may be empty.
func temperature(t *float64) any {
	if t == nil {
		return nil
	}
	return *t
}

// findRows reads what is stored for the times of at most perStatement readings.
func findRows(ctx context.Context, q db.Querier, device int64, rows []row) (map[int64]row, error) {
	args := make([]any, 1, 1+perStatement)
	args[0] = device
	for i := range perStatement {
		args = append(args, rows[min(i, len(rows)-1)].at)
	}
	found, err := q.Query(ctx, selectMany, args...)
	return db.Map(found, err, "find readings", func(at *int64, r *row, from db.Row) error {
		err := from.Scan(at, &r.temp, &r.data)
		r.at = *at
		return err
	})
}
