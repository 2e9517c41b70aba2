package vault

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectErased = `SELECT count(*) FROM survey_erased WHERE ws = $1 AND household = $2`
	insertErased = `INSERT INTO survey_erased (ws, household) VALUES ($1, $2) ON CONFLICT (ws, household) DO NOTHING`
	// Many households are asked for as a JSON array: $2.
	selectAmongSQLite = `SELECT h.value FROM json_each($2) AS h
		WHERE EXISTS (SELECT 1 FROM survey_erased e WHERE e.ws = $1 AND e.household = h.value)`
	selectAmongPostgres = `SELECT household FROM survey_erased WHERE ws = $1 AND household = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb)))`
	// The locks of PostgreSQL that end with the transaction.
	guardPostgres = `SELECT pg_advisory_xact_lock_shared(k) FROM unnest($1::bigint[]) AS k`
	beginPostgres = `SELECT pg_advisory_xact_lock($1)`
)

// isErased reports whether a household was erased.
func isErased(ctx context.Context, q db.Querier, ws, household string) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectErased, ws, household).Scan(&n); err != nil {
		return false, fmt.Errorf("look for an erasure: %w", err)
	}
	return n > 0, nil
}

// ErasedAmong returns which of ids, a JSON array, a workspace has erased.
func ErasedAmong(ctx context.Context, tx *db.Tx, d db.Dialect, ws, ids string) (map[string]bool, error) {
	if d == db.Postgres {
		return erasedOf(tx.Query(ctx, selectAmongPostgres, ws, ids))
	}
	return erasedOf(tx.Query(ctx, selectAmongSQLite, ws, ids))
}

func erasedOf(rows db.Rows, err error) (map[string]bool, error) {
	return db.Map(rows, err, "look for erasures", func(id *string, erased *bool, row db.Row) error {
		*erased = true
		return row.Scan(id)
	})
}
