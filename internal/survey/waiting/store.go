package waiting

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// maxCounted is how far it is counted.
const maxCounted = 1000

const countWaiting = `SELECT count(*) FROM (SELECT nid FROM response_conflicts WHERE survey = $1 AND resolved_at = 0 LIMIT $2) AS n`

func count(ctx context.Context, q db.Querier, survey int64) (n int, err error) {
	if err := q.QueryRow(ctx, countWaiting, survey, maxCounted+1).Scan(&n); err != nil {
		return 0, fmt.Errorf("count what waits: %w", err)
	}
	return n, nil
}
