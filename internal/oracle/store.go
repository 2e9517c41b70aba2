package oracle

import (
	"context"
	"crypto/subtle"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

const (
	insertUsed = `INSERT INTO oracle_used_tokens (hash, until, bound) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING`
	selectUsed = `SELECT bound FROM oracle_used_tokens WHERE hash = $1`
	expireUsed = `DELETE FROM oracle_used_tokens WHERE hash IN (SELECT hash FROM oracle_used_tokens WHERE until < $1 ORDER BY until LIMIT $2)`
)

// spendTicket notes the use of a token. It returns false when another request has
// used it.
func spendTicket(ctx context.Context, tx *db.Tx, g *ucan.Grant, bound []byte) (bool, error) {
	n, err := tx.Exec(ctx, insertUsed, g.Once[:], g.Expires.UnixMilli(), bound)
	if err != nil {
		return false, fmt.Errorf("note the use of a token: %w", err)
	}
	if n == 1 {
		return true, nil
	}
	var by []byte
	if err := tx.QueryRow(ctx, selectUsed, g.Once[:]).Scan(&by); err != nil {
		return false, fmt.Errorf("find the use of a token: %w", err)
	}
	return subtle.ConstantTimeCompare(by, bound) == 1, nil
}
