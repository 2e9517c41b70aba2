package response

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// decision is one step of a verification. It is kept for ever and never changed;
// an erasure takes its words out.
type decision struct {
	NID       int64
	Response  int64
	From, To  string
	Verifier  string
	At        int64 // ms
	Reason    string
	Notes     string
	Imported  bool
	Revision  int64 // of the response that shows it
	RequestID string
	Reviews   int64 // how many have approved with it
	Judged    int64 // the revision it is about; 0 when none was named
}

const (
	addDecision = `INSERT INTO response_decisions (nid, response, from_st, to_st, verifier, at, reason, notes, imported, revision, request, reviews, judged)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
	selectImported = `SELECT count(*) FROM response_decisions WHERE response = $1 AND verifier = $2 AND at = $3 AND imported = 1`
)

// decisionCame reports whether a decision made at a time, in ms, arrived with a
// response.
func decisionCame(ctx context.Context, q db.Querier, response int64, verifier string, at int64) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectImported, response, verifier, at).Scan(&n); err != nil {
		return false, fmt.Errorf("find decision: %w", err)
	}
	return n > 0, nil
}

// insertDecision keeps a decision.
func insertDecision(ctx context.Context, tx *db.Tx, d decision) error {
	imported := 0
	if d.Imported {
		imported = 1
	}
	err := tx.Send(ctx, addDecision, d.NID, d.Response, d.From, d.To, d.Verifier, d.At, d.Reason, d.Notes, imported, d.Revision, d.RequestID, d.Reviews, d.Judged)
	return db.Wrap("insert decision", err)
}
