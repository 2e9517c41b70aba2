package decision

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	insertDecision = `INSERT INTO response_decisions (nid, response, from_st, to_st, verifier, at, reason, notes, imported, revision, request, reviews, judged)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
	selectImported = `SELECT count(*) FROM response_decisions WHERE response = $1 AND verifier = $2 AND at = $3 AND imported = 1`
)

// Came tells whether a decision that somebody made at a time, in ms, came with a
// response.
func Came(ctx context.Context, q db.Querier, response int64, verifier string, at int64) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectImported, response, verifier, at).Scan(&n); err != nil {
		return false, fmt.Errorf("find decision: %w", err)
	}
	return n > 0, nil
}

// Add keeps a decision.
func Add(ctx context.Context, tx *db.Tx, d Decision) error {
	imported := 0
	if d.Imported {
		imported = 1
	}
	_, err := tx.Exec(ctx, insertDecision, d.NID, d.Response, d.From, d.To, d.Verifier, d.At, d.Reason, d.Notes, imported, d.Revision, d.RequestID, d.Reviews, d.Judged)
	if err != nil {
		return fmt.Errorf("insert decision: %w", err)
	}
	return nil
}
