package bulk

import (
	"context"
	"database/sql"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
)

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
