package response

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey/rule"
)

const (
	insertFlag = `INSERT INTO response_flags (response, rule, question, survey, source, at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (response, rule, question) DO NOTHING`
	deleteFlags = `DELETE FROM response_flags WHERE response = $1 AND source = $2`
	selectFlags = `SELECT data FROM response_flags WHERE response = $1 ORDER BY rule, question LIMIT 200`
)

// addFlags stores what checks have found and tells how many were new.
func addFlags(ctx context.Context, tx *db.Tx, r *Row, source string, flags []rule.Flag) (int64, error) {
	var added int64
	for _, f := range flags {
		data, err := json.Marshal(f)
		if err != nil {
			return 0, fmt.Errorf("encode flag: %w", err)
		}
		n, err := tx.Exec(ctx, insertFlag, r.NID, f.Rule, f.Question, r.Survey, source, r.UpdatedAt, string(data))
		if err != nil {
			return 0, fmt.Errorf("insert flag: %w", err)
		}
		added += n
	}
	return added, nil
}

func removeFlags(ctx context.Context, tx *db.Tx, nid int64, source string) error {
	if _, err := tx.Exec(ctx, deleteFlags, nid, source); err != nil {
		return fmt.Errorf("remove flags: %w", err)
	}
	return nil
}

func listFlags(ctx context.Context, q db.Querier, nid int64) ([]rule.Flag, error) {
	rows, err := q.Query(ctx, selectFlags, nid)
	if err != nil {
		return nil, fmt.Errorf("list flags: %w", err)
	}
	defer rows.Close()
	var out []rule.Flag
	for rows.Next() {
		var data string
		var f rule.Flag
		if err := rows.Scan(&data); err != nil {
			return nil, fmt.Errorf("list flags: %w", err)
		}
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			return nil, fmt.Errorf("read flag: %w", err)
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

const insertDecision = `INSERT INTO response_decisions (nid, response, from_st, to_st, verifier, at, reason, notes, imported, revision, request, reviews)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

// Decision is one step of a verification, as it is kept for ever.
type Decision struct {
	NID       int64
	Response  int64
	From, To  string
	Verifier  string
	At        int64 // ms
	Reason    string
	Notes     string
	Imported  bool
	Revision  int64 // of the response that was looked at
	RequestID string
	Reviews   int64 // how many have approved with it
}

const selectImported = `SELECT count(*) FROM response_decisions WHERE response = $1 AND verifier = $2 AND at = $3 AND imported = 1`

// isDecided tells whether a decision of somebody came with a response.
func isDecided(ctx context.Context, q db.Querier, response int64, verifier string, at int64) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectImported, response, verifier, at).Scan(&n); err != nil {
		return false, fmt.Errorf("find decision: %w", err)
	}
	return n > 0, nil
}

// AddDecision keeps a decision.
func AddDecision(ctx context.Context, tx *db.Tx, d Decision) error {
	imported := 0
	if d.Imported {
		imported = 1
	}
	_, err := tx.Exec(ctx, insertDecision, d.NID, d.Response, d.From, d.To, d.Verifier, d.At, d.Reason, d.Notes, imported, d.Revision, d.RequestID, d.Reviews)
	if err != nil {
		return fmt.Errorf("insert decision: %w", err)
	}
	return nil
}
