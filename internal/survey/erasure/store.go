package erasure

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectErased = `SELECT count(*) FROM (SELECT 1 FROM erasures WHERE ws = $1 AND subject = $2 LIMIT 1) AS n`
	// Many households are asked for as a JSON array: $2.
	selectAmongSQLite = `SELECT h.value FROM json_each($2) AS h
		WHERE EXISTS (SELECT 1 FROM erasures e WHERE e.ws = $1 AND e.subject = h.value)`
	selectAmongPostgres = `SELECT DISTINCT subject FROM erasures WHERE ws = $1 AND subject = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb)))`
	blankLists          = `UPDATE survey_households SET lat = NULL, lon = NULL, attributes = '` + Mark + `', area = '', collector = '', rev = rev + 1, updated_at = $3
		WHERE household = $2 AND attributes <> '` + Mark + `' AND EXISTS (SELECT 1 FROM surveys s WHERE s.nid = survey_households.survey AND s.ws = $1)`
)

// find tells whether there is a certificate for a household.
func find(ctx context.Context, q db.Querier, ws, household string) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectErased, ws, household).Scan(&n); err != nil {
		return false, fmt.Errorf("look for an erasure: %w", err)
	}
	return n > 0, nil
}

// Among tells which of ids, a JSON array, a workspace has erased.
func Among(ctx context.Context, tx *db.Tx, d db.Dialect, ws, ids string) (map[string]bool, error) {
	if d == db.Postgres {
		return set(tx.Query(ctx, selectAmongPostgres, ws, ids))
	}
	return set(tx.Query(ctx, selectAmongSQLite, ws, ids))
}

func set(rows db.Rows, err error) (map[string]bool, error) {
	if err != nil {
		return nil, fmt.Errorf("look for erasures: %w", err)
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for erasures: %w", err)
		}
		out[id] = true
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for erasures: %w", err)
	}
	return out, nil
}
